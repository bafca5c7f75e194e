"""Over all recordings: are stragglers found, and healthy tasks left alone?"""

from pathlib import Path

import pytest

from tests.programs.case import score
from tests.programs.replay import replay

pytestmark = pytest.mark.soak

RECORDINGS = sorted((Path(__file__).parent / "recordings").glob("*.xz"))


def test_stragglers_are_found_and_healthy_tasks_left_alone():
    """What is wrong here is wrong for a user's program. Of tasks on a slow host some are missed that soon end."""
    replays = [replay(path) for path in RECORDINGS]
    pairs = [(case, [each.copy for each in wanted]) for case, wanted in replays]
    whole, healthy = score(pairs), score(pair for pair in pairs if pair[0].slowness == "none")
    assert (whole.cases, healthy.cases) == (62, 23)
    assert (whole.recall or 0.0) >= 0.92
    assert (whole.precision or 0.0) >= 0.85
    assert healthy.copies <= healthy.healthy / 200
