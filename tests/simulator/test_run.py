"""Are seeds that are none refused by name?"""

import pytest

from controlplane.model.errors import BadSetting
from controlplane.simulator.run import parse_seeds

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("text", ["", "x", "5..1", "1..", "-3", "0..10000000", "1..9000,9001..10001", f"{2**53 + 1}"])
def test_seeds_that_are_none_are_refused(text):
    """Instead of running for a year."""
    with pytest.raises(BadSetting, match="seeds"):
        parse_seeds(text)


def test_the_largest_seed_is_the_largest_number_that_json_holds_exactly():
    """Records are JSON; the next one would be read as another seed."""
    assert parse_seeds(f"{2**53}") == [2**53]


@pytest.mark.parametrize("text", ["1,1", "1..5,3"])
def test_a_seed_that_is_there_twice_is_refused(text):
    """Its run would count twice, and the standard error would come out too small, or as nought."""
    with pytest.raises(BadSetting, match="each once"):
        parse_seeds(text)
