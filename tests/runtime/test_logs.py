"""Can what others have sent do anything to who reads the log?"""

import re

import pytest
import structlog

from controlplane import main, settings
from controlplane.runtime.complaints import COMPLAIN_EVERY_S, Complaints
from tests.plane import Clock

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("kind", ["console", "json"])
def test_control_characters_of_callers_reach_no_terminal(kind, capsys):
    """Escapes move the cursor and hide lines; a line break makes a line that we never wrote."""
    before = structlog.get_config()
    try:
        main.set_up_logs(settings.load(None, {"log": {"format": kind}}))
        structlog.get_logger().warning("bad_fact", source="spark:\x1b[2J\x9b1m\r\nforged [info] all is well")
    finally:
        structlog.configure(**before)
    (line,) = capsys.readouterr().err.splitlines()
    assert "forged" in line
    assert re.sub(r"\x1b\[\d+m", "", line).isprintable(), "but for our own colours"


def test_of_many_complaints_one_is_logged_and_the_rest_counted():
    """Callers decide how often they are refused."""
    clock = Clock()
    complaints = Complaints(clock)
    with structlog.testing.capture_logs() as logs:
        for _ in range(1000):
            complaints.warn("token_refused", client="10.0.0.9")
        complaints.warn("sync_refused")
        clock.advance(COMPLAIN_EVERY_S)
        complaints.warn("token_refused", client="10.0.0.9")
    assert [(each["event"], each["left_out"]) for each in logs] == [
        ("token_refused", 0),
        ("sync_refused", 0),
        ("token_refused", 999),
    ]
