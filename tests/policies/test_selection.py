"""Does selecting find what sorting finds?"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.policies.selection import quickselect

pytestmark = pytest.mark.unit


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30), st.data())
def test_it_is_the_value_of_that_rank(values, data):
    """Equal values included: on it hangs who is slow by LATE, and who has room."""
    rank = data.draw(st.integers(0, len(values) - 1))
    assert quickselect(np.array(values, dtype=float), rank) == sorted(values)[rank]
