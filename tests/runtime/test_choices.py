"""Does what operators chose outlive a restart, and does nothing lift a kill switch?"""

import sqlite3

import pytest
import structlog

from controlplane.model.facts import Mode
from controlplane.store import database
from tests.plane import message, running, working
from tests.waiting import eventually

pytestmark = pytest.mark.unit


def test_the_kill_switch_and_changed_settings_outlive_a_restart(tmp_path):
    with running(tmp_path) as plane:
        plane.client.put("/api/v1/mode", json={"mode": "off", "reason": "too many copies"})
        wish = {"engine": {"max_copies_per_task": 1}, "reason": "be careful"}
        assert plane.client.patch("/api/v1/settings", json=wish).status_code == 200
    with running(tmp_path) as plane:
        assert plane.client.get("/api/v1/mode").json()["mode"] == "off"
        assert plane.client.get("/api/v1/settings").json()["engine"]["max_copies_per_task"] == 1
        assert [entry["reason"] for entry in plane.client.get("/api/v1/audit").json()["items"]] == [
            "be careful",
            "too many copies",
        ]


def test_what_operators_chose_for_one_source_outlives_a_restart(tmp_path):
    """A mode and a policy, also while the source is away; both with their reasons."""
    source = "spark:app-1"
    with running(tmp_path, runtime={"snapshot_age_s": 0.0}) as plane:
        plane.reply(message(1, working(), full=True))
        plane.client.put("/api/v1/mode", json={"mode": "shadow", "source": source, "reason": "look first"})
        plane.client.put(f"/api/v1/pools/{source}/policy", json={"policy": "fair+late", "reason": "compare"})
    with running(tmp_path, runtime={"snapshot_age_s": 0.0}) as plane:
        (choice,) = plane.client.get("/api/v1/mode").json()["choices"]
        assert (choice["value"], choice["reason"]) == ("shadow", "look first")
        assert plane.reply(message(1, working(), full=True))["mode"] == "shadow"
        assert plane.client.get(f"/api/v1/pools/{source}").json()["policy"] == "fair+late"
        plane.client.delete(f"/api/v1/pools/{source}/policy?reason=done")
        plane.client.put("/api/v1/mode", json={"mode": "control", "source": source, "reason": "go"})
    with running(tmp_path, runtime={"snapshot_age_s": 0.0}) as plane:
        assert plane.reply(message(1, working(), full=True))["mode"] == "control"
        assert plane.client.get(f"/api/v1/pools/{source}").json()["policy"] == "hopper+ras"


def test_a_mode_set_while_the_store_cannot_record_says_so_and_is_written_later(tmp_path):
    """The folder is missing; what the operator wants holds at once all the same."""
    folder = tmp_path / "missing"
    with running(tmp_path, store={"url": str(folder / "plane.db")}) as plane:
        told = plane.client.put("/api/v1/mode", json={"mode": "off", "reason": "too hot"}).json()
        assert (told["mode"], told["recorded"]) == ("off", False)
        wish = {"engine": {"max_copies_per_task": 1}, "reason": "careful"}
        assert plane.client.patch("/api/v1/settings", json=wish).json()["recorded"] is False
        folder.mkdir()
        assert plane.runtime.store.flush()
        eventually(lambda: plane.client.get("/api/v1/mode").json()["recorded"])
    with running(tmp_path, store={"url": str(folder / "plane.db")}) as plane:
        assert plane.client.get("/api/v1/mode").json()["mode"] == "off"
        assert plane.client.get("/api/v1/settings").json()["engine"]["max_copies_per_task"] == 1


@pytest.fixture
def kill_switch(tmp_path, monkeypatch):
    """A folder whose store holds a kill switch, a pool's own mode and a limit; locks are waited for shortly."""
    monkeypatch.setattr(database, "_LOCK_WAIT_S", 0.05)
    with running(tmp_path) as plane:
        plane.reply(message(1, working(), full=True))
        plane.client.put("/api/v1/mode", json={"mode": "off", "reason": "too hot"})
        plane.client.put("/api/v1/mode", json={"mode": "shadow", "source": "spark:app-1", "reason": "look first"})
        plane.client.patch("/api/v1/settings", json={"engine": {"max_copies_per_task": 1}, "reason": "careful"})
    return tmp_path


def choices(plane):
    return {(each["source"], each["value"]) for each in plane.client.get("/api/v1/mode").json()["choices"]}


def test_nothing_goes_beyond_shadow_while_the_kill_switch_cannot_be_read(kill_switch):
    """The file is locked at the start; a choice made meanwhile joins the stored ones, and wipes none."""
    other = sqlite3.connect(kill_switch / "plane.db", isolation_level=None)
    other.execute("PRAGMA locking_mode=EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    with running(kill_switch) as plane:
        assert plane.reply(message(1, working(), full=True))["mode"] == "shadow"
        assert "[!]store: shadow is the most" in plane.client.get("/readyz").text
        wish = {"mode": "control", "source": "spark:app-2", "reason": "go"}
        plane.reply(message(1, working(), full=True, source="app-2"))
        assert plane.client.put("/api/v1/mode", json=wish).json()["recorded"] is False
        assert plane.reply(message(2, source="app-2"))["mode"] == "shadow"
        other.close()
        eventually(lambda: plane.runtime.mode is Mode.OFF)
        assert plane.client.get("/api/v1/settings").json()["engine"]["max_copies_per_task"] == 1
        assert plane.reply(message(2))["mode"] == "off"
        eventually(lambda: plane.client.get("/readyz").text == "ok\n")
        assert plane.client.get("/api/v1/mode").json()["recorded"]
    with running(kill_switch) as plane:
        assert choices(plane) == {("", "off"), ("spark:app-1", "shadow"), ("spark:app-2", "control")}


def test_control_wished_for_while_the_store_cannot_be_read_comes_once_it_can(tmp_path):
    """An operator's newer word counts, but what was chosen for single pools has to be known first."""
    with running(tmp_path, store={"url": str(tmp_path / "missing" / "plane.db")}) as plane:
        told = plane.client.put("/api/v1/mode", json={"mode": "control", "reason": "go"}).json()
        assert (told["mode"], told["recorded"]) == ("shadow", False)
        (tmp_path / "missing").mkdir()
        eventually(lambda: plane.runtime.mode is Mode.CONTROL)


def test_a_kill_switch_is_read_while_somebody_else_writes(kill_switch):
    """A backup holds the lock for writing; reading needs none."""
    other = sqlite3.connect(kill_switch / "plane.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with running(kill_switch) as plane:
        assert plane.runtime.mode is Mode.OFF
    other.close()


def test_a_policy_that_is_gone_stops_no_start(tmp_path):
    """It was chosen with another version; its pool goes by the policy of all."""
    gone = {"what": "policy", "source": "spark:app-1", "value": "magic+ras", "reason": "x", "at_unix_ms": 1}
    with running(tmp_path) as plane:
        plane.runtime.store.save_settings({"choices": [gone]})
    with running(tmp_path) as plane:
        assert plane.reply(message(1, working(), full=True))["claims"]


CHOSEN = {"what": "mode", "source": "", "value": "off", "reason": "too hot", "at_unix_ms": 1}


LATER = {**CHOSEN, "source": "spark:app-2", "value": "control"}


@pytest.mark.parametrize(
    "strange",
    [
        {**CHOSEN, "source": "spark:app-1", "value": "observe"},
        {**CHOSEN, "source": "spark:app-1", "what": "target"},
        {**CHOSEN, "source": "spark:app-1", "reason": None},
        None,
    ],
)
@pytest.mark.parametrize("comes_first", [True, False])
def test_a_choice_that_is_not_understood_lifts_no_kill_switch(tmp_path, strange, comes_first):
    """Another version has left it. The others hold, and the next choice wipes neither it nor them."""
    with running(tmp_path) as plane:
        plane.runtime.store.save_settings({"choices": [strange, CHOSEN] if comes_first else [CHOSEN, strange]})
    with running(tmp_path) as plane:
        assert plane.reply(message(1, working(), full=True))["mode"] == "off"
        wish = {"mode": "shadow", "source": "spark:app-1", "reason": "look"}
        plane.client.put("/api/v1/mode", json=wish)
        stored = plane.runtime.store.settings["choices"]
        assert (strange in stored, CHOSEN in stored) == (True, True)


@pytest.mark.parametrize("stored", [[{**CHOSEN, "value": "halt"}, LATER], None, {"mode": "off"}, "text"])
def test_what_may_be_a_kill_switch_allows_shadow_until_a_mode_is_chosen(tmp_path, stored):
    """Nor does a pool's own mode go beyond it; an operator's word for everybody puts all right for good."""
    with running(tmp_path) as plane:
        plane.runtime.store.save_settings({"choices": stored})
    with running(tmp_path) as plane:
        told = [plane.reply(message(1, working(), full=True, source=name))["mode"] for name in ("app-1", "app-2")]
        assert told == ["shadow", "shadow"]
        assert "not understood" in plane.client.get("/readyz").text
        plane.client.put("/api/v1/mode", json={"mode": "control", "source": "spark:app-2", "reason": "go"})
        assert plane.reply(message(2, source="app-2"))["mode"] == "shadow"
    with running(tmp_path) as plane:
        assert plane.runtime.mode is Mode.SHADOW
        assert plane.client.put("/api/v1/mode", json={"mode": "control", "reason": "go"}).json()["mode"] == "control"
        assert plane.reply(message(1, working(), full=True, source="app-2"))["mode"] == "control"
        assert plane.client.get("/readyz").text == "ok\n"
    with running(tmp_path) as plane:
        assert plane.runtime.mode is Mode.CONTROL
        assert choices(plane) == {("", "control"), ("spark:app-2", "control")}


@pytest.mark.parametrize("what", ["audit", "save_settings"])
def test_the_kill_switch_works_where_it_cannot_be_noted(plane, what, monkeypatch):
    """Who asked for it is worth less than that it is off."""
    plane.reply(message(1, working(), full=True))

    def fail(*_, **__):
        raise RuntimeError("a defect")

    monkeypatch.setattr(plane.runtime.store, what, fail)
    told = plane.client.put("/api/v1/mode", json={"mode": "off", "reason": "too hot"})
    assert told.status_code == 500
    assert plane.runtime.mode is Mode.OFF
    assert plane.reply(message(2))["mode"] == "off"
    plane.client.put("/api/v1/mode", json={"mode": "control", "reason": "go"})
    plane.client.put("/api/v1/mode", json={"mode": "off", "source": "spark:app-1", "reason": "too hot"})
    assert plane.reply(message(3))["mode"] == "off"
    assert plane.runtime.mode is Mode.CONTROL


def test_a_kill_switch_of_one_source_outlives_a_thousand_policies_of_others(plane, monkeypatch):
    """Drivers come and go; the oldest choice went, whatever it was, and nobody was told."""
    monkeypatch.setattr("controlplane.runtime.choices.MOST_CHOICES", 2)
    known = plane.runtime.choices
    with structlog.testing.capture_logs() as logs:
        known.make("mode", "yarn:c:prod", "off", reason="too hot", role="operate")
        for name in ("a", "b"):
            known.make("policy", f"spark:{name}", "fair+late", reason="try", role="operate")
    assert [(choice.source, choice.value) for choice in known] == [("yarn:c:prod", "off"), ("spark:b", "fair+late")]
    (said,) = [entry for entry in logs if entry["event"] == "choice_forgotten"]
    assert (said["source"], said["policy"]) == ("spark:a", "fair+late")


def test_a_policy_holds_where_it_cannot_be_noted(plane, monkeypatch):
    """As a mode does; it came into force with the next choice of somebody else."""
    plane.reply(message(1, working(), full=True))
    monkeypatch.setattr(plane.runtime.store, "save_settings", lambda *_: 1 / 0)
    answer = plane.client.put("/api/v1/pools/spark:app-1/policy", json={"policy": "fair+late", "reason": "try"})
    assert answer.status_code == 500
    assert plane.runtime.scheduler.steering.policy_name("spark:app-1") == "fair+late"
