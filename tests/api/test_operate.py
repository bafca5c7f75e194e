"""Does an operator get what was asked for, or nothing and a reason?"""

import itertools
import json
import re

import pytest

from tests.docs.markdown import DOCS
from tests.plane import message, started, working

pytestmark = pytest.mark.unit

SOURCE = "spark:app-1"


@pytest.fixture
def busy(plane):
    """Four tasks on four hosts, the first of which has a copy on the last host."""
    facts = [*working(), started(10, index=0, host=3, speculative=True, attempt_number=1, order=1)]
    plane.reply(message(1, facts, full=True))
    return plane


def orders(plane, sequence, kind):
    return [order for order in plane.reply(message(sequence)).get("orders", []) if order["type"] == kind]


def test_the_kill_switch_kills_copies_and_stops_new_ones(busy):
    response = busy.client.put("/api/v1/mode", json={"mode": "off", "reason": "too hot"})
    told = response.json()
    assert (told["mode"], told["sources"], told["recorded"]) == ("off", {SOURCE: "off"}, True)
    assert [order["attempt"] for order in orders(busy, 2, "kill_attempt")] == [10]
    (entry,) = busy.client.get("/api/v1/audit").json()["items"]
    assert (entry["role"], entry["action"], entry["reason"]) == ("local", "mode", "too hot")


def test_one_source_may_have_a_mode_of_its_own(busy):
    busy.client.put("/api/v1/mode", json={"mode": "shadow", "source": SOURCE, "reason": "look first"})
    told = busy.client.get("/api/v1/mode").json()
    assert (told["mode"], told["sources"]) == ("control", {SOURCE: "shadow"})
    assert [(choice["source"], choice["reason"]) for choice in told["choices"]] == [(SOURCE, "look first")]
    assert busy.reply(message(2))["mode"] == "shadow"
    nobody = {"mode": "off", "source": "spark:nobody", "reason": "?"}
    assert busy.client.put("/api/v1/mode", json=nobody).status_code == 404


def test_a_changed_setting_keeps_the_mode(busy):
    busy.client.put("/api/v1/mode", json={"mode": "shadow", "reason": "look first"})
    wish = {"engine": {"max_copies_per_task": 1}, "reason": "careful"}
    assert busy.client.patch("/api/v1/settings", json=wish).status_code == 200
    assert busy.client.get("/api/v1/mode").json()["mode"] == "shadow"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"mode": "fast", "reason": "x"}, "mode"),
        ({"mode": "off"}, "reason"),
        ({"mode": "off", "reason": ""}, "reason"),
        ({"mode": "off", "reason": " \t\n"}, "reason"),
        ({"mode": "off", "reason": "x", "force": True}, "force"),
    ],
)
def test_a_bad_mode_is_refused_and_named(busy, body, field):
    response = busy.client.put("/api/v1/mode", json=body)
    assert response.status_code == 422
    assert [each["field"] for each in response.json()["errors"]] == [field]
    assert busy.runtime.mode.value == "control"


@pytest.mark.parametrize(
    ("method", "path", "body", "told"),
    [
        ("PUT", "mode", '{"mode": "fast", "reason": "x"}', "mode = 'fast', want 'off', 'shadow' or 'control'"),
        ("PUT", "mode", '{"mode": "off"}', "reason = nothing, want a value"),
        ("PUT", "mode", '{"mode": "off", "reason": "x", "force": null}', "force = None, want a name that exists"),
        ("PUT", "mode", '{"mode": "off", "reason": ""}', "reason = '', want at least 1 character"),
        ("PUT", "mode", '{"mode": "off", "reason": "x", "force": 1}', "force = '...', want a name that exists"),
        ("PUT", "mode", '{"mode": ', "body = '...', want JSON"),
        ("GET", "jobs?limit=many", None, "limit = 'many', want a valid integer"),
        (
            "PATCH",
            "settings",
            '{"engine": {"max_copies_per_task": 99}, "reason": "x"}',
            "engine.max_copies_per_task = 99, want less than or equal to 16",
        ),
        (
            "PATCH",
            "settings",
            '{"engine": {"job_copy_share": true}, "reason": "x"}',
            "engine.job_copy_share = True, want a number",
        ),
        (
            "PUT",
            "jobs/spark:app-1/job-1/target",
            '{"target": 1, "cap": true, "reason": "x"}',
            "cap = True, want a number",
        ),
    ],
)
def test_what_is_wrong_is_one_sentence(busy, method, path, body, told):
    """The field, what was given, and what it wants, whoever found it wrong."""
    headers = {"content-type": "application/json"}
    response = busy.client.request(method, f"/api/v1/{path}", content=body, headers=headers)
    assert response.status_code == 422
    assert response.json()["detail"] == told


@pytest.mark.parametrize(
    ("engine", "field"),
    [
        ({"lease_ms": 1}, "engine.lease_ms"),
        ({"lease_ms": "soon"}, "engine.lease_ms"),
        ({"no_such": 1}, "engine.no_such"),
        ({"mode": "off"}, "engine.mode"),
        ({"losing_share": float("nan")}, "engine.losing_share"),
        ({"lease_ms": True}, "engine.lease_ms"),
        ({"allocator_settings": {"fairness_epsilon": True}}, "engine.allocator_settings.fairness_epsilon"),
        ({"lease_ms": 10**4000}, "engine.lease_ms"),
        ({"allocator_settings": {"\ud800": 1}}, "engine.allocator_settings"),
        ({"allocator_settings": {"fairness_epsilon": float("nan")}}, "engine.allocator_settings.fairness_epsilon"),
        ({"allocator": "magic"}, "engine.allocator"),
        ({"speculator": "magic"}, "engine.speculator"),
        ({"allocator_settings": {"fairness_epsilon": 2.0}}, "engine.allocator_settings.fairness_epsilon"),
        ({"allocator": "fair", "allocator_settings": {"fairness_epsilon": 0.1}}, "engine.allocator_settings"),
    ],
)
def test_settings_are_changed_whole_or_not_at_all(busy, engine, field):
    before = busy.client.get("/api/v1/settings").json()
    wish = {"engine": {"max_copies_per_task": 1} | engine, "reason": "test"}
    headers = {"content-type": "application/json"}
    response = busy.client.patch("/api/v1/settings", content=json.dumps(wish), headers=headers)
    assert response.status_code == 422
    assert len(response.text) < 5000
    assert response.json()["errors"][0]["field"].startswith(field)
    assert busy.client.get("/api/v1/settings").json() == before


@pytest.mark.checkout
def test_the_example_of_the_page_of_settings_takes_a_setting_back(busy):
    """Whoever copies it changes what was changed at run time, and nothing else."""
    before = busy.client.get("/api/v1/settings").json()["engine"]
    body = re.search(r"-d '(.*)'", (DOCS / "settings.md").read_text()).group(1)
    (name,) = json.loads(body)["engine"]
    change = {"engine": {name: before[name] + 1}, "reason": "trial"}
    assert busy.client.patch("/api/v1/settings", json=change).json()["engine"][name] == before[name] + 1
    response = busy.client.patch("/api/v1/settings", content=body, headers={"content-type": "application/json"})
    assert response.json()["engine"] == before


def test_a_dry_run_only_tells(busy):
    wish = {"engine": {"max_copies_per_task": 1}, "reason": "test"}
    response = busy.client.patch("/api/v1/settings?dry_run=true", json=wish)
    assert response.json()["engine"]["max_copies_per_task"] == 1
    assert busy.client.get("/api/v1/settings").json()["engine"]["max_copies_per_task"] == 2
    assert busy.runtime.store.audit_log() == []


def test_a_change_of_what_has_changed_meanwhile_is_refused(busy):
    seen = busy.client.get("/api/v1/settings").headers["etag"]
    wish = {"engine": {"max_copies_per_task": 1}, "reason": "test"}
    assert busy.client.patch("/api/v1/settings", json=wish, headers={"if-match": seen}).status_code == 200
    assert busy.client.patch("/api/v1/settings", json=wish, headers={"if-match": seen}).status_code == 412
    mode = {"mode": "off", "reason": "x"}
    assert busy.client.put("/api/v1/mode", json=mode, headers={"if-match": '"other"'}).status_code == 412


def test_a_fixed_target_holds_under_the_allocator_fixed(busy):
    busy.client.patch("/api/v1/settings", json={"engine": {"allocator": "fixed"}, "reason": "by hand"})
    wish = {"target": 3, "cap": 5, "reason": "promised"}
    assert busy.client.put(f"/api/v1/jobs/{SOURCE}/job-1/target", json=wish).status_code == 200
    (grant,) = busy.client.get("/api/v1/grants").json()["items"]
    assert (grant["target"], grant["cap"]) == (3, 5)
    assert [(order["target"], order["cap"]) for order in orders(busy, 2, "container_grant")][-1:] == [(3, 5)]
    assert busy.client.delete(f"/api/v1/jobs/{SOURCE}/job-1/target?reason=done").status_code == 200
    assert busy.client.put(f"/api/v1/jobs/{SOURCE}/other/target", json=wish).status_code == 404


@pytest.mark.parametrize(("cap", "told"), [(None, ""), (0, ", at most 0"), (5, ", at most 5")])
def test_the_page_of_a_job_tells_its_cap(busy, cap, told):
    """Nothing at all is a cap, too, and the one that people ask about."""
    busy.client.patch("/api/v1/settings", json={"engine": {"allocator": "fixed"}, "reason": "by hand"})
    wish = {"target": 0, "cap": cap, "reason": "promised"}
    assert busy.client.put(f"/api/v1/jobs/{SOURCE}/job-1/target", json=wish).status_code == 200
    assert f"holds 5{told}</small>" in busy.client.get(f"/jobs/{SOURCE}/job-1").text


def test_a_target_beyond_its_own_cap_is_refused(busy):
    """The two cannot both hold."""
    path = f"/api/v1/jobs/{SOURCE}/job-1/target"
    response = busy.client.put(path, json={"target": 5, "cap": 1, "reason": "x"})
    assert response.status_code == 422
    assert response.json()["errors"] == [{"field": "target", "detail": "got 5, want at most the cap (1)"}]


def test_a_change_without_a_word_why_is_refused_everywhere(busy):
    """In the address as in the body; the audit log is for people."""
    for reason in ("", "%20", "%09%20"):
        response = busy.client.delete(f"/api/v1/pools/{SOURCE}/policy?reason={reason}")
        assert [each["field"] for each in response.json()["errors"]] == ["reason"]
    assert busy.client.get("/api/v1/audit").json()["items"] == []


def test_a_pool_may_have_a_policy_of_its_own(busy):
    wish = {"policy": "fair+late", "reason": "compare"}
    assert busy.client.put(f"/api/v1/pools/{SOURCE}/policy", json=wish).status_code == 200
    assert busy.client.get(f"/api/v1/pools/{SOURCE}").json()["policy"] == "fair+late"
    bad = busy.client.put(f"/api/v1/pools/{SOURCE}/policy", json={"policy": "magic", "reason": "x"})
    assert bad.status_code == 422
    assert busy.client.delete(f"/api/v1/pools/{SOURCE}/policy?reason=done").status_code == 200
    assert busy.client.get(f"/api/v1/pools/{SOURCE}").json()["policy"] == "hopper+ras"


JOB, TASK = f"jobs/{SOURCE}/job-1/target", f"tasks/{SOURCE}/1/0/2:copy"


@pytest.mark.parametrize(
    ("method", "path", "wish", "action", "details"),
    [
        ("PUT", "mode", {"mode": "shadow"}, "mode", {"mode": "shadow", "source": ""}),
        ("PUT", "mode", {"mode": "off", "source": SOURCE}, "mode", {"mode": "off", "source": SOURCE}),
        ("PATCH", "settings", {"engine": {"lease_ms": 900}}, "settings", {"lease_ms": 900}),
        ("PUT", f"pools/{SOURCE}/policy", {"policy": "fair+late"}, "policy", {"policy": "fair+late", "source": SOURCE}),
        ("PUT", JOB, {"target": 3, "cap": 5}, "target", {"source": SOURCE, "job": "job-1", "target": 3, "cap": 5}),
        ("POST", f"attempts/{SOURCE}/10:kill", {}, "kill", {"source": SOURCE, "attempt": 10}),
        (
            "POST",
            TASK,
            {"copies": 2, "host": "host-1", "before_waiting": False},
            "copy",
            {"source": SOURCE, "stage": 1, "stage_attempt": 0, "index": 2}
            | {"copies": 2, "host": "host-1", "before_waiting": False},
        ),
    ],
)
def test_a_wish_is_audited_with_everything_that_was_asked(busy, method, path, wish, action, details):
    """Who looks for the cause of something months later has nothing else."""
    busy.client.request(method, f"/api/v1/{path}", json=wish | {"reason": "<so> it goes"})
    (entry,) = busy.client.get("/api/v1/audit").json()["items"]
    assert entry.pop("at_unix_ms") > 0
    assert entry == {"role": "local", "action": action, "reason": "<so> it goes", "details": details}
    page = busy.client.get("/audit").text.partition("</main>")[0]
    told = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page))
    assert told.keys() == {name.replace("_", " ") for name in details}
    assert "&lt;so&gt; it goes" in page


def test_the_page_of_changes_says_where_to_begin(busy):
    assert "Nobody has changed anything yet" in busy.client.get("/audit").text
    assert 'href="/audit"' in busy.client.get("/").text


def test_a_chosen_attempt_is_killed(busy):
    response = busy.client.post(f"/api/v1/attempts/{SOURCE}/10:kill", json={"reason": "try"})
    assert response.status_code == 202
    (told,) = response.json()["decisions"]
    assert (told["action"], told["reason"], told["attempt"]) == ("kill_attempt", "operator", 10)
    assert [order["attempt"] for order in orders(busy, 2, "kill_attempt")] == [10]


def test_an_answer_dates_a_decision_as_the_record_does(busy, monkeypatch):
    """The wall clock goes on, or jumps, between the cycle that decides and the answer."""
    monkeypatch.setattr(busy.runtime.store, "wall_ms", itertools.count(10**12, 1000).__next__)
    (told,) = busy.client.post(f"/api/v1/attempts/{SOURCE}/10:kill", json={"reason": "try"}).json()["decisions"]
    assert busy.client.get(f"/api/v1/decisions/{told['id']}").json()["at_unix_ms"] == told["at_unix_ms"]


def test_a_tasks_last_attempt_is_not_killed(busy):
    (told,) = busy.client.post(f"/api/v1/attempts/{SOURCE}/2:kill", json={"reason": "try"}).json()["decisions"]
    assert told["reason"] == "last_attempt"
    assert orders(busy, 2, "kill_attempt") == []
    assert busy.client.post(f"/api/v1/attempts/{SOURCE}/99:kill", json={"reason": "try"}).status_code == 404


def test_a_chosen_task_is_copied(busy):
    wish = {"copies": 2, "reason": "try"}
    response = busy.client.post(f"/api/v1/tasks/{SOURCE}/1/0/2:copy", json=wish)
    assert response.status_code == 202
    copies = orders(busy, 2, "launch_copy")
    assert [order["index"] for order in copies] == [2, 2]
    assert "host-2" not in {order["host"] for order in copies}
    assert busy.client.post(f"/api/v1/tasks/{SOURCE}/1/0/99:copy", json=wish).status_code == 404
    assert busy.client.post(f"/api/v1/tasks/{SOURCE}/1/0/2:copy", json=wish | {"copies": 99}).status_code == 422
