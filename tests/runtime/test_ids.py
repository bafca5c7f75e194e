"""Do ids of decisions and orders grow from run to run, and stay such that shims take them?"""

import pytest
import structlog

from controlplane import main, settings
from controlplane.engine.scheduler import IDS_PER_EPOCH, LAST_EPOCH
from controlplane.store.parameters import StoreSettings
from controlplane.store.store import Store
from tests.store.stored import record

pytestmark = pytest.mark.unit

TODAY_S = 1_800_000_000
LARGEST_ID = 2**53


def first_id(folder, clock_s, *, stored=0):
    """The first id of a run that starts at that wall clock on a store with such a decision, and what is logged."""
    url = str(folder / "plane.db")
    if stored:
        store = Store(StoreSettings(url=url))
        store.open()
        store.record([record(stored)], [], now_s=0.0)
        assert store.flush()
        store.close()
    with structlog.testing.capture_logs() as logs:
        app = main.build_app(settings.load(None, {"store": {"url": url}}), plane_epoch=clock_s * 1000)
    return next(app.state.runtime.scheduler._ids), [each for each in logs if each["log_level"] == "error"]


def test_ids_are_larger_than_those_of_the_store_whatever_the_clock(tmp_path):
    """It may have been set back; the newest of the store is the last of its epoch here."""
    newest = (TODAY_S + 9) * IDS_PER_EPOCH + IDS_PER_EPOCH - 1
    assert first_id(tmp_path, TODAY_S, stored=newest) == (newest + 2, [])


def test_a_run_that_begins_a_second_later_leaves_the_one_before_a_million_ids(tmp_path):
    """Of decisions and orders that the store has not heard of: no run makes as many in a second."""
    (first, _), (second, _) = (first_id(tmp_path, TODAY_S + later_s) for later_s in (0, 1))
    assert second - first >= 1_000_000


@pytest.mark.parametrize("clock_s", [main.LATEST_S, LAST_EPOCH + 1, 10**12])
def test_an_absurd_clock_makes_no_ids_that_shims_refuse(tmp_path, clock_s):
    """They would be in the store for ever, and no later id may be smaller."""
    found, logs = first_id(tmp_path, clock_s, stored=TODAY_S * IDS_PER_EPOCH)
    assert TODAY_S * IDS_PER_EPOCH < found < LARGEST_ID // 2
    assert [each["event"] for each in logs] == ["clock_not_believed"]


def test_a_store_whose_ids_are_used_up_is_told_at_the_start(tmp_path):
    """Every order would be refused in silence."""
    _, (told,) = first_id(tmp_path, TODAY_S, stored=LARGEST_ID)
    assert told["event"] == "ids_used_up"
    assert told["store"].endswith("plane.db")


def test_the_last_epoch_fits_the_wire():
    """One more would not."""
    assert (LAST_EPOCH + 1) * IDS_PER_EPOCH <= LARGEST_ID < (LAST_EPOCH + 2) * IDS_PER_EPOCH
