"""Does REST tell what is live, page by page, and does every error name its field?"""

import re
from urllib.parse import urlencode

import pytest

from controlplane.api.meanings import ALWAYS
from controlplane.api.paths import segment
from tests.plane import attached, ended, message, running, started, while_another_reports, working

pytestmark = pytest.mark.unit

SOURCE = "spark:app-1"


@pytest.fixture
def busy(plane):
    """A control plane that watches one job of four tasks."""
    plane.reply(message(1, working(), full=True))
    return plane


def requested(count, **more):
    return {"type": "resource_requested", "request": 1, "count": count, "job": "job-1", **more}


def items(plane, path):
    response = plane.client.get(f"/api/v1/{path}")
    assert response.status_code == 200, response.text
    return response.json()["items"]


def rest_routes(plane):
    """Method and path of every REST operation, with ids of things that need not exist."""
    for path, operations in plane.client.get("/api/v1/openapi.json").json()["paths"].items():
        if path.startswith("/api/"):
            filled = re.sub(r"{\w+}", "1", path)
            yield from ((method, filled) for method in operations)


def test_an_unknown_parameter_is_refused_everywhere(busy):
    """A misspelt filter returned everything, and a misspelt `dry_run` changed settings."""
    routes = list(rest_routes(busy))
    assert len(routes) > 30
    for method, path in routes:
        response = busy.client.request(method, f"{path}?nosuch=1")
        assert response.status_code == 422, path
        assert [each["field"] for each in response.json()["errors"]] == ["nosuch"], path


def test_a_misspelt_parameter_is_refused_with_the_nearest_one(busy):
    response = busy.client.get("/api/v1/decisions?reson=unsafe_output&limit=1")
    assert response.json()["detail"] == "reson = 'unsafe_output', want a name that exists, perhaps reason"


def test_pools_and_applications_are_listed(busy):
    (pool,) = items(busy, "pools")
    assert (pool["source"], pool["slots"], pool["running"], pool["policy"]) == (SOURCE, 16, 4, "hopper+ras")
    (application,) = items(busy, "applications")
    assert (application["application"], application["jobs"]) == ("app-1", ["job-1"])
    assert application["capabilities"]["max_copies"] == 4
    assert busy.client.get(f"/api/v1/applications/{SOURCE}").json() == application
    assert busy.client.get(f"/api/v1/pools/{SOURCE}").json() == pool


def test_an_application_says_what_happens_where_nothing_is_decided_for_it(plane):
    """Its user wants to know before switching Grasshopper off whether anything else copies stragglers."""
    for name, speculates in (("app-1", True), ("app-2", False)):
        facts = [attached(name) | {"stock_speculation": speculates}]
        plane.reply(message(1, facts, full=True, source=name))
    assert [each["stock_speculation"] for each in items(plane, "applications")] == [True, False]
    assert plane.client.get("/").text.count("its own speculation takes over") == 1


def test_the_verdicts_of_an_application_outlive_its_stages(plane):
    """Whoever asks what of his program may be copied asks when it has run."""
    export = {"type": "stage_submitted", "job": "job-1", "stage": 2, "stage_attempt": 0, "n_tasks": 1, "kind": "result"}
    plane.reply(message(1, [*working(), export | {"action": "foreach"}, export | {"stage": 3}], full=True))
    plane.reply(message(2, [{"type": "job_ended", "job": "job-1"}]))
    found = items(plane, f"applications/{SOURCE}/verdicts")
    assert [(each["verdict"], each["because"], each["stages"]) for each in found] == [
        ("safe", "shuffle output is kept apart by attempt", 1),
        ("unknown", "unknown sink", 1),
        ("unsafe", "foreach writes where it likes", 1),
    ]
    assert plane.client.get("/api/v1/applications/spark:nobody/verdicts").status_code == 404


def test_jobs_stages_tasks_and_attempts_are_listed(busy):
    (job,) = items(busy, "jobs")
    assert (job["job"], job["name"], job["n_running"]) == ("job-1", "count words", 4)
    (stage,) = items(busy, f"stages?source={SOURCE}&job=job-1")
    assert (stage["n_tasks"], stage["verdict"]) == (4, "safe")
    assert [task["index"] for task in items(busy, "tasks?stage=1")] == [0, 1, 2, 3]
    assert [each["attempt"] for each in items(busy, "attempts")] == [0, 1, 2, 3]
    assert items(busy, "attempts?job=other") == []


def test_a_request_is_for_what_still_waits(plane):
    """Spark asks once for all tasks of a stage and says no more; whoever reads it asks what is missing now."""

    def waiting():
        return [each["count"] for each in items(plane, "requests")]

    slots = working(4)[:-4]
    plane.reply(message(1, [*slots, requested(4, stage=1, stage_attempt=0)], full=True))
    assert waiting() == [4]
    plane.clock.advance(2.0)
    plane.reply(message(2, [started(0), started(1), started(2), started(9, index=2, speculative=True)]))
    assert waiting() == [1]
    plane.clock.advance(2.0)
    plane.reply(message(3, [ended(0), ended(1, outcome="failed"), started(3)]))
    assert waiting() == [1]
    plane.clock.advance(2.0)
    plane.reply(message(4, [started(4, index=1)]))
    assert waiting() == []


def test_a_request_for_no_stage_that_is_known_waits_as_it_came(busy):
    """A host that asks for containers says itself when it needs fewer."""
    busy.reply(message(2, [requested(5)]))
    assert [each["count"] for each in items(busy, "requests")] == [5]
    busy.clock.advance(2.0)
    busy.reply(message(3, [requested(0)]))
    assert items(busy, "requests") == []


def test_grants_and_hosts_are_listed(busy):
    (grant,) = items(busy, "grants")
    assert (grant["job"], grant["speculation_claimed"]) == ("job-1", True)
    assert grant["target"] > 0
    assert [host["host"] for host in items(busy, "hosts")] == [f"host-{n}" for n in range(4)]


def test_lists_are_paged_without_gap_or_repetition(busy):
    seen, cursor = [], None
    while True:
        page = busy.client.get("/api/v1/attempts", params={"limit": 3} | ({"cursor": cursor} if cursor else {})).json()
        seen += [each["attempt"] for each in page["items"]]
        cursor = page["cursor"]
        if cursor is None:
            break
    assert seen == [0, 1, 2, 3]


def test_the_dump_is_the_snapshot(busy):
    dump = busy.client.get("/api/v1/state:dump").json()
    assert dump["schema_version"] == 2
    assert dump["pools"][0]["jobs"][0]["stages"][0]["name"] == ""


def test_an_ended_job_is_told_by_its_history(busy):
    busy.clock.advance(2.0)
    gone = [ended(n, host=n, duration_ms=2000) for n in range(4)]
    busy.reply(message(2, [*gone, {"type": "job_ended", "job": "job-1"}]))
    history = busy.client.get(f"/api/v1/jobs/{SOURCE}/job-1/history").json()
    assert history["outcome"] == "success"
    assert [attempt["outcome"] for attempt in history["attempts"]] == ["success"] * 4


@pytest.mark.parametrize("last", [{"type": "job_ended", "job": "job-1"}, {"type": "driver_detached"}])
def test_who_asks_for_an_ended_job_is_told_where_its_history_is(busy, last):
    """The page still shows it, also once its driver has gone; "no source is attached" sends its reader astray."""
    busy.clock.advance(2.0)
    busy.reply(message(2, [*(ended(n, host=n, duration_ms=2000) for n in range(4)), last]))
    gone = busy.client.get(f"/api/v1/jobs/{SOURCE}/job-1")
    assert (gone.status_code, gone.json()["code"]) == (404, "not_found")
    path = re.search(r"does not run; what is remembered of it: (\S+)", gone.json()["detail"])[1]
    assert busy.client.get(path).json()["job"] == "job-1"


ODD_IDS = [
    "group-a/b c",
    "x/history",
    "x/target",
    "/",
    "a%2Fb",
    "50%",
    "?#&=+;:@",
    "\u65e5\u672c \U0001f997",
    "\u202egnp",
    "a\x00b",
    "'\\",
]


@pytest.mark.parametrize("odd", ODD_IDS, ids=ascii)
def test_any_id_is_addressable_as_one_encoded_segment(tmp_path, odd):
    """A job group is named by its user, a source by its host; neither thinks of our addresses."""
    path = f"{segment(f'spark:{odd}')}/{segment(odd)}"
    source = segment(f"spark:{odd}")
    with running(tmp_path, runtime={"snapshot_age_s": 0.0}) as plane:
        plane.reply(message(1, working(job=odd), full=True, source=odd))
        (job,) = items(plane, "jobs?" + urlencode({"source": f"spark:{odd}", "job": odd}))
        assert plane.client.get(f"/api/v1/jobs/{path}").json() == job
        assert plane.client.get(f"/api/v1/jobs/{path}/history").json()["job"] == odd
        assert plane.client.get(f"/api/v1/pools/{source}").json()["source"] == f"spark:{odd}"
        assert plane.client.get(f"/api/v1/tasks/{source}/1/0/2/why").json()["job"] == odd
        assert plane.client.get(f"/api/v1/attempts/{source}/2/why").json()["job"] == odd
        wish = {"target": 3, "reason": "promised"}
        assert plane.client.put(f"/api/v1/jobs/{path}/target", json=wish).status_code == 200
        assert plane.client.post(f"/api/v1/attempts/{source}/2:kill", json={"reason": "try"}).status_code == 202
        assert plane.client.get(f"/jobs/{path}").status_code == 200


def test_pages_of_a_list_tell_ids_with_slashes_apart(plane):
    """Two pairs of ids that look alike when they are only joined."""
    for source, job in (("a/b", "c"), ("a", "b/c")):
        plane.reply(message(1, working(job=job), full=True, source=source))
    plane.clock.advance(2.0)
    first = plane.client.get("/api/v1/jobs?limit=1").json()
    second = plane.client.get("/api/v1/jobs", params={"limit": 1, "cursor": first["cursor"]}).json()
    assert {first["items"][0]["source"], second["items"][0]["source"]} == {"spark:a/b", "spark:a"}


def test_the_longest_ids_can_be_paged_through(plane):
    longest = "\U0001f997" * 256
    for n in range(2):
        plane.reply(message(1, working(job=longest), full=True, source=longest[:-1] + str(n)))
    plane.clock.advance(2.0)
    first = plane.client.get("/api/v1/jobs?limit=1").json()
    second = plane.client.get("/api/v1/jobs", params={"limit": 1, "cursor": first["cursor"]})
    assert second.json()["items"][0]["source"].endswith("1")
    assert {each["job"] for each in plane.client.get("/api/v1/stages", params={"job": longest}).json()["items"]} == {
        longest
    }


def test_an_address_may_be_encoded_more_than_needed(busy):
    assert busy.client.get("/api/v1/%6Aobs/spark%3aapp-1/%6aob-1").json()["job"] == "job-1"
    assert busy.client.get("/api/v1/state%3Adump").status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "pools/spark:nobody",
        f"jobs/{SOURCE}/nothing",
        "jobs/spark:nobody/job-1",
        f"jobs/{SOURCE}/nothing/history",
        f"attempts/{SOURCE}/99/why",
        f"tasks/{SOURCE}/1/0/99/why",
        "decisions/12345",
        "no/such/path",
    ],
)
def test_what_is_not_there_is_a_problem_document(busy, path):
    response = busy.client.get(f"/api/v1/{path}")
    assert response.status_code == 404
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["code"] == "not_found"


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("decisions?limit=0", "limit"),
        ("decisions?limit=many", "limit"),
        ("decisions?cursor=-1", "cursor"),
        ("decisions?action=dance", "action"),
        ("decisions?reason=because", "reason"),
        ("decisions?outcome=weather", "outcome"),
        ("decisions?stage=-3", "stage"),
        ("decisions/nine", "decision"),
        (f"stages?job={'j' * 257}", "job"),
        (f"attempts/{SOURCE}/-1/why", "attempt"),
        ("jobs?limit=1001", "limit"),
        (f"attempts/{SOURCE}/x/why", "attempt"),
    ],
)
def test_a_bad_parameter_is_named(busy, path, field):
    response = busy.client.get(f"/api/v1/{path}")
    assert response.status_code == 422
    assert response.headers["content-type"] == "application/problem+json"
    assert [each["field"] for each in response.json()["errors"]] == [field]


@pytest.mark.parametrize("body", [b" " * 2**21, iter([b" " * 2**20] * 2)], ids=["stated", "chunked"])
def test_a_body_that_is_too_large_is_refused(busy, body):
    response = busy.client.put("/api/v1/mode", content=body, headers={"content-type": "application/json"})
    assert response.status_code == 413
    assert response.headers["content-type"] == "application/problem+json"


def test_other_methods_are_problem_documents(busy):
    response = busy.client.delete("/api/v1/jobs")
    assert response.status_code == 405
    assert response.headers["content-type"] == "application/problem+json"


def test_only_who_asks_for_tasks_has_them_described(busy, monkeypatch):
    """The first page of an operator who threw the kill switch took a second of every loop's time: 30,000 tasks."""
    monkeypatch.setattr("controlplane.engine.snapshot._task", lambda *_: 1 / 0)
    busy.clock.advance(5.0)
    for path in ("/", "/api/v1/pools", "/api/v1/jobs", "/api/v1/stages", "/api/v1/hosts", "/api/v1/report"):
        assert busy.client.get(path).status_code == 200, path
    assert busy.client.get("/api/v1/tasks").status_code == 500


def test_our_own_faults_are_problem_documents(busy, monkeypatch):
    monkeypatch.setattr("controlplane.engine.scheduler.moment", lambda *_, **_named: 1 / 0)
    busy.clock.advance(5.0)
    response = busy.client.get("/api/v1/jobs")
    assert response.status_code == 500
    assert response.headers["content-type"] == "application/problem+json"
    assert "ZeroDivision" not in response.text


def test_decisions_are_told_with_sentence_inputs_and_filters(busy):
    (grant,) = items(busy, "decisions?action=grant&job=job-1")
    assert grant["reason"] == "allocator"
    assert "its target is 12 of the" in grant["sentence"]
    assert grant["inputs"]["slots"] == 16
    assert busy.client.get(f"/api/v1/decisions/{grant['id']}").json() == grant
    assert "<dt>epoch</dt><dd>7</dd>" in busy.client.get(f"/decisions/{grant['id']}").text
    assert (grant["epoch"], items(busy, "decisions?epoch=6")) == (7, [])
    assert items(busy, "decisions?action=kill_attempt") == []


def test_decisions_are_filtered_by_what_came_of_the_order(plane):
    """A copy is asked for; the host refuses it, and says why."""
    plane.reply(message(1, working(), full=True))
    plane.client.post(f"/api/v1/tasks/{SOURCE}/1/0/2:copy", json={"reason": "try"})
    (waiting,) = items(plane, "decisions?outcome=pending&action=launch_copy")
    (order,) = [order for order in plane.reply(message(2))["orders"] if order["type"] == "launch_copy"]
    refused = {"type": "order_outcome", "order": order["order"], "result": "refused", "reason": "no room"}
    plane.reply(message(3, [refused]))
    assert items(plane, "decisions?outcome=pending&action=launch_copy") == []
    (told,) = items(plane, "decisions?outcome=refused")
    assert (told["id"], told["outcomes"][0]["reason"]) == (waiting["id"], "no room")
    assert f'href="/decisions/{told["id"]}"' in plane.client.get("/decisions?outcome=refused").text
    assert f'href="/decisions/{told["id"]}"' not in plane.client.get("/decisions?outcome=applied").text
    assert plane.client.get("/decisions?outcome=weather").status_code == 200


@pytest.mark.parametrize(
    ("reason", "counted"), [("above_clamp", "above_clamp"), ("in its own words", ""), ("zombie", None)]
)
def test_what_hosts_answer_is_counted_by_its_code(plane, reason, counted):
    """Words of a host's own make no label; an order that came too late is moot, and no failure."""
    plane.reply(message(1, working(), full=True))
    plane.client.post(f"/api/v1/tasks/{SOURCE}/1/0/2:copy", json={"reason": "try"})
    (order,) = [order for order in plane.reply(message(2))["orders"] if order["type"] == "launch_copy"]
    refused = {"type": "order_outcome", "order": order["order"], "result": "refused", "reason": reason}
    plane.reply(message(3, [refused]))
    lines = plane.client.get("/metrics").text.splitlines()
    told = [line for line in lines if line.startswith("grasshopper_orders_not_carried_out_total{")]
    one = f'grasshopper_orders_not_carried_out_total{{answer="{counted}",type="launch_copy"}} 1.0'
    assert told == ([] if counted is None else [one])


@pytest.mark.parametrize("mode", ["control", "shadow"])
def test_a_refusal_has_no_result(tmp_path, mode):
    """There is no order that could be applied, or would be: the same in REST, on the page, and in the document."""
    with running(tmp_path, engine={"mode": mode}, runtime={"snapshot_age_s": 0.0}) as plane:
        plane.reply(message(1, working(), full=True))
        wish = {"host": "nowhere", "reason": "try"}
        (told,) = plane.client.post(f"/api/v1/tasks/{SOURCE}/1/0/2:copy", json=wish).json()["decisions"]
        assert (told["action"], told["result"]) == ("refuse_copy", None)
        page = plane.client.get(f"/decisions/{told['id']}").text
        assert ">no order</span>" in page
        assert "Nothing was ordered." in page
        (grant,) = items(plane, "decisions?action=grant")
        assert grant["result"] == {"control": "pending", "shadow": "shadow"}[mode]
        schemas = plane.client.get("/api/v1/openapi.json").json()["components"]["schemas"]
        assert "null if nothing" in schemas["DecisionView"]["properties"]["result"]["description"]


def test_the_reason_why_a_task_is_not_copied_is_told(busy):
    why = busy.client.get(f"/api/v1/tasks/{SOURCE}/1/0/2/why").json()
    assert not why["copied"]
    assert why["sentence"]
    assert busy.client.get(f"/api/v1/attempts/{SOURCE}/2/why").json() == why


def references(node):
    """The names of schemas that a part of the OpenAPI document refers to."""
    if isinstance(node, dict):
        yield from ([node["$ref"].removeprefix("#/components/schemas/")] if "$ref" in node else [])
        node = list(node.values())
    if isinstance(node, list):
        for each in node:
            yield from references(each)


def test_every_field_of_every_answer_says_what_it_means(busy):
    """Who reads the document has no other place to learn a field's unit from."""
    document = busy.client.get("/api/v1/openapi.json").json()
    schemas, shown = document["components"]["schemas"], set()
    new = set(references([way["responses"] for ways in document["paths"].values() for way in ways.values()]))
    while new:
        shown |= new
        new = {name for each in new for name in references(schemas[each])} - shown
    fields = {(kind, name): field for kind in shown for name, field in schemas[kind].get("properties", {}).items()}
    assert len(fields) > 300
    assert [of for of, field in fields.items() if not field.get("description")] == []
    assert ALWAYS.keys() <= {name for _, name in fields}


def test_every_page_of_a_list_has_100_entries_unless_told(busy):
    document = busy.client.get("/api/v1/openapi.json").json()
    asked = {path: ways["get"].get("parameters", ()) for path, ways in document["paths"].items() if "get" in ways}
    sizes = {path: each["schema"]["default"] for path in asked for each in asked[path] if each["name"] == "limit"}
    assert len(sizes) > 5
    assert set(sizes.values()) == {100}
    paths = [path.format(source=SOURCE) for path in sizes]
    assert {path: busy.client.get(path).status_code for path in paths} == dict.fromkeys(paths, 200)


def test_the_document_lists_the_shims_path_and_every_reference_resolves(busy):
    """A shim without the right token gets 401 or 403; it asks for nothing that may be missing."""
    document = busy.client.get("/api/v1/openapi.json").json()
    answers = document["paths"]["/shim/v1/sync"]["post"]["responses"]
    assert answers.keys() >= {"200", "401", "403", "409", "413", "415", "422", "429", "503"}
    assert "404" not in answers
    assert document["paths"]["/api/v1/events"]["get"]["responses"].keys() >= {"200", "503"}
    assert set(references(document)) <= document["components"]["schemas"].keys()
    assert "/shim/v1/sync" in busy.client.get("/docs").text


def test_probes_and_metrics(busy):
    assert busy.client.get("/livez").text == "ok\n"
    assert busy.client.get("/readyz?verbose").text == "[+]engine ok\n[+]store ok\n"
    metrics = busy.client.get("/metrics").text
    assert 'grasshopper_decisions_total{action="grant",mode="control",reason="allocator"} 1.0' in metrics
    assert 'grasshopper_pool_slots{pool="spark:app-1"} 16.0' in metrics
    assert 'grasshopper_host_slowness{host="host-3"} 1.0' in metrics
    assert "grasshopper_build_info" in metrics


def test_the_time_of_every_report_that_is_applied_is_measured(plane):
    """Whoever watches the service asks how long drivers wait for a reply; a repeat is no work."""
    first = message(1, working(), full=True)
    for report in (first, first, message(2)):
        plane.reply(report)
    assert "grasshopper_sync_duration_seconds_count 2.0" in plane.client.get("/metrics").text


def test_dropped_events_are_counted_once(busy):
    """A shim tells the sum since it attached, with every message."""
    for sequence, dropped in ((2, 5), (3, 5), (4, 7)):
        busy.reply(message(sequence, dropped_events=dropped))
    assert "grasshopper_shim_dropped_events_total 7.0" in busy.client.get("/metrics").text


def test_a_store_that_cannot_record_is_told_and_stops_no_decision(tmp_path):
    """They are taken in shadow only: what operators chose before is not known."""
    with running(tmp_path, store={"url": str(tmp_path / "missing" / "plane.db")}) as plane:
        assert plane.reply(message(1, working(), full=True))["mode"] == "shadow"
        for _ in range(200):
            if "store" in (ready := plane.client.get("/readyz")).text:
                break
        assert ready.status_code == 200
        assert "[!]store: " in ready.text
        assert "grasshopper_store_recording 0.0" in plane.client.get("/metrics").text
        page = plane.client.get("/api/v1/decisions").json()
        assert page["items"]
        assert not page["complete"]


def order_counts(plane):
    """Orders given, orders that have ended by how, and open ones, as Prometheus sees them."""
    given, ended, still_open = 0.0, {}, 0.0
    for line in plane.client.get("/metrics").text.splitlines():
        name, _, value = line.rpartition(" ")
        if name.startswith("grasshopper_orders_total{"):
            given += float(value)
        elif name.startswith("grasshopper_order_outcomes_total{"):
            result = re.search(r'result="(\w+)"', name)[1]
            ended[result] = ended.get(result, 0.0) + float(value)
        elif name == "grasshopper_orders_open":
            still_open = float(value)
    return given, ended, still_open


@pytest.mark.parametrize("end", ["silence", "good-bye", "failure"])
def test_orders_given_are_those_that_have_ended_and_those_that_are_open(tmp_path, monkeypatch, end):
    """Whoever adds them up in Prometheus finds each once, also where no cycle tells of its end."""
    with running(tmp_path, runtime={"forget_after_s": 4.0}) as plane:
        (grant,) = plane.reply(message(1, working(), full=True))["orders"]
        assert order_counts(plane) == (1.0, {}, 1.0)
        plane.clock.advance(2.5)
        told = {"type": "order_outcome", "order": grant["order"], "result": "applied"}
        assert [order["type"] for order in plane.reply(message(2, [told]))["orders"]] == ["container_grant"]
        assert order_counts(plane) == (2.0, {"applied": 1.0}, 1.0)
        if end == "failure":
            monkeypatch.setattr("controlplane.engine.seeing.follow_pools", lambda *_: 1 / 0)
            assert plane.sync(message(3)).status_code == 500
        elif end == "good-bye":
            plane.reply(message(3, [{"type": "driver_detached"}]))
        else:
            while_another_reports(plane, 8)
        assert order_counts(plane) == (2.0, {"applied": 1.0, "moot": 1.0}, 0.0)
