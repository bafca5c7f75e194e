"""Is the committed schema the one that the code follows?"""

from pathlib import Path

import pytest

from controlplane.wire import schema

pytestmark = [pytest.mark.unit, pytest.mark.checkout]

COMMITTED = Path(__file__).parents[2] / "docs" / "shim-protocol.schema.json"


def test_the_committed_schema_is_the_one_of_the_code():
    """Regenerate it by `python -m controlplane.wire.schema > docs/shim-protocol.schema.json`."""
    assert COMMITTED.read_text() == schema.text()
