"""Has every field of the records of policies its meaning beside it?"""

import numpy as np
import pytest

from controlplane.model import finished
from controlplane.policies import answer, seen
from tests.docs.records import records_of

pytestmark = [pytest.mark.unit, pytest.mark.checkout]

RECORDS = [record for module in (seen, finished, answer) for record in records_of(module)]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_every_field_of_a_record_has_a_comment_beside_it(record):
    """The page is made of these; an empty cell would explain nothing."""
    assert record.about
    assert [name for name, meaning in record.fields.items() if not meaning] == []
    assert tuple(record.fields) == record.dtype.names


def test_every_record_that_policies_see_or_answer_is_on_the_page():
    there = {name for module in (seen, answer) for name, kind in vars(module).items() if isinstance(kind, np.dtype)}
    assert {record.name for record in RECORDS} == there
