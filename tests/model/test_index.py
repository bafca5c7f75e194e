"""Does an index know its rows after every change?"""

import pytest

from controlplane.model.index import Index

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("change", "rows"),
    [
        (lambda index: index.__setitem__("c", 5), [3, 1, 5]),
        (lambda index: index.__setitem__("a", 5), [5, 1]),
        (lambda index: index.__delitem__("a"), [1]),
        (lambda index: index.pop("a"), [1]),
        (lambda index: index.pop("z", None), [3, 1]),
    ],
    ids=["new", "other row", "deleted", "popped", "not there"],
)
def test_rows_are_those_of_the_moment_in_order_of_arrival(change, rows):
    """They were asked for before the change, and are kept while nothing changes."""
    index = Index({"a": 3, "b": 1})
    assert index.rows.tolist() == [3, 1]
    assert index.rows is index.rows
    change(index)
    assert (index.rows.tolist(), list(index.values())) == (rows, rows)


def test_a_copy_goes_its_own_way():
    """A snapshot reads it while the engine goes on."""
    index = Index({"a": 3})
    before = index.copy()
    index["b"] = 1
    assert (before.rows.tolist(), index.rows.tolist()) == ([3], [3, 1])


def test_rows_are_read_only():
    """They are shared by all who ask."""
    with pytest.raises(ValueError, match="read-only"):
        Index({"a": 3}).rows[0] = 4
