"""Does every page say what it should, to anybody, whatever users call their jobs?"""

import json
import re
from html import unescape
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from controlplane.api.formats import job_path
from controlplane.api.operate import LONGEST_REASON
from tests.browser.conftest import HOSTILE_ID, HOSTILE_NAME, Clock, jobs, local_client, make_app, through
from tests.browser.scripted_driver import ScriptedDriver
from tests.plane import message, running, working

pytestmark = pytest.mark.unit

SOURCE = "spark:app-1"
JOIN = job_path(SOURCE, "join")
REPORT = [
    {
        "contestant": name,
        "title": title,
        "world": "independent",
        "rounds": 1,
        "jobs": 12,
        "mean_job_s": mean_s,
        "mean_job_interval_s": None,
        "median_job_s": mean_s,
        "p95_job_s": 2 * mean_s,
        "copies_launched": 4.0,
        "copies_won": 2.0,
        "losing_core_s": 3.5,
        "load": load,
        "cores": 2,
        "results_equal_stock": True,
    }
    for name, title, mean_s, load in (
        ("stock", "Stock <off>", 20.0, 1.4),
        ("hopper+ras", "Grasshopper hopper+ras", 10.0, 3.1),
    )
]


def links(html: str) -> list[str]:
    """Addresses that a page links to."""
    return [unescape(address) for address in re.findall(r'href="([^"]*)"', html)]


def hosts(html: str) -> list[tuple[str, bool]]:
    """(name, whether it is sick) of every host in the table."""
    (table,) = re.findall(r"<h2>Hosts</h2>.*?</table>", html, re.DOTALL)
    rows = re.findall(r'<td class="name">([^<]*)</td>\s*<td data-label="State">(.*?)</td>', table)
    return sorted((name, "sick" in state) for name, state in rows)


def figure(html: str, name: str) -> str:
    """What one of the figures at the head of the first page says."""
    (told,) = re.findall(rf"<dt>{name}</dt><dd>(.*?)</dd>", html)
    return re.sub(r"<[^>]*>", "", told).strip()


def bars(html: str) -> list[tuple[str, str]]:
    """(address, label) of every attempt on a timeline."""
    found = re.findall(r'<a id="bar-\d+" class="bar [^"]*" href="([^"]*)" aria-label="([^"]*)"', html)
    return [(unescape(address), unescape(label)) for address, label in found]


def test_an_empty_control_plane_says_how_to_attach(fresh: TestClient) -> None:
    """The first thing that people see must tell them what to do next."""
    html = fresh.get("/").text
    assert "No application is attached" in html
    assert "spark.plugins=io.grasshopper.spark.GrasshopperPlugin" in html
    assert "spark.grasshopper.server=http://127.0.0.1" in html


def test_the_overview_shows_jobs_hosts_and_effect(played: TestClient) -> None:
    """Live jobs with their slots, the ended one, the sick host, and what copies brought."""
    html = played.get("/").text
    assert f'href="{JOIN}"' in html
    assert "users by country" in html
    assert "▲ sick" in html
    assert re.search(r"Since the start: \d+ copies, \d+ won, .* saved \(estimate\)", html)


def test_the_report_tells_what_shadow_mode_would_have_saved(tmp_path: Path) -> None:
    """Before anybody says yes: copies, those without an outcome yet, savings and costs by estimate."""
    clock = Clock()
    with local_client(make_app(tmp_path, clock, engine={"mode": "shadow"})) as client:
        ScriptedDriver(through(client.post), clock.advance, jobs(), application="app-1").run(40.0)
        assert 'href="/report"' in client.get("/").text
        html = client.get("/report?since=1h").text
    told = r"would have launched [1-9]\d* copies\. By estimate, (they|the \d+ whose tasks have ended) would have saved"
    assert re.search(told, html)
    assert "In shadow (estimate)" in html
    assert "nightly-report" in html
    assert "not known yet" in html


def test_names_and_ids_of_users_are_only_ever_text(played: TestClient) -> None:
    """Job names are user input; none may become markup, and an odd id must not lose its page."""
    for address in ("/", "/decisions", job_path(SOURCE, HOSTILE_ID)):
        reply = played.get(address)
        assert reply.status_code == 200
        assert "<script>alert" not in reply.text
        assert "<img" not in reply.text
    assert job_path(SOURCE, HOSTILE_ID) in links(played.get("/").text)
    assert HOSTILE_NAME in unescape(played.get(job_path(SOURCE, HOSTILE_ID)).text)


def test_a_filter_value_comes_back_as_text(played: TestClient) -> None:
    """A query is user input as well."""
    html = played.get("/decisions", params={"job": '"><script>alert(1)</script>'}).text
    assert "<script>alert" not in html
    assert "No decision matches" in html


def test_the_timeline_tells_originals_copies_winners_and_kills_apart(played: TestClient) -> None:
    """By shape and words, not by colour alone."""
    html = played.get(JOIN).text
    labels = [label for _, label in bars(html)]
    assert any("original on" in label and "killed" in label for label in labels)
    assert any("copy on" in label and ", won after" in label for label in labels)
    assert any("(sick)" in label for label in labels)
    for sign in ("won", "killed", "running", "sick"):
        assert html.count(f'<use href="#sign-{sign}"') > 1
    assert 'class="copy"' in html


def test_a_job_of_many_tasks_is_drawn_in_part_at_first(tmp_path: Path) -> None:
    """A hundred fit on a page that is quick to load; a link shows the others."""
    with running(tmp_path) as plane:
        plane.reply(message(1, working(110), full=True))
        page = job_path(SOURCE, "job-1")
        html = plane.client.get(page).text
        assert len(bars(html)) == 100
        assert "10 tasks not drawn" in html
        (more,) = [link for link in links(html) if link.startswith("?rows=")]
        assert len(bars(plane.client.get(page + more).text)) == 110


def test_a_winning_copy_explains_itself_behind_a_plain_link(played: TestClient) -> None:
    """Why: the decision's sentence, its inputs, what else there was, and what came of it."""
    address = next(address for address, label in bars(played.get(JOIN).text) if "copy on" in label and "won" in label)
    assert address.endswith("#why")
    why = played.get(JOIN + address).text.partition('id="why"')[2].partition("</aside>")[0]
    assert "A copy saves" in why
    assert "<dt>t_rem</dt>" in why
    assert "Considered: " in why
    assert "saved about" in why


def test_a_running_original_says_why_it_has_no_copy(played: TestClient) -> None:
    """Why not: the present reason of the task."""
    address = next(
        address for address, label in bars(played.get(JOIN).text) if "original" in label and "running" in label
    )
    why = played.get(JOIN + address).text.partition('id="why"')[2].partition("</aside>")[0]
    assert "Why no " in why
    assert "Why tasks have no copy at the moment" in why


def test_a_job_explains_its_first_race_unasked(played: TestClient) -> None:
    """Whoever opens a job wants to know about its copies."""
    assert "launched by order" in played.get(JOIN).text


def test_an_unsafe_job_is_marked_and_says_why(played: TestClient) -> None:
    """A stage that writes where it likes is never copied, and the page says so."""
    assert ">unsafe</span>" in played.get(job_path(SOURCE, "export")).text
    html = played.get("/decisions", params={"job": "export", "action": "refuse_copy"}).text
    assert "could write its output twice" in html


def test_an_ended_job_stays_readable(played: TestClient) -> None:
    """The question why is often asked afterwards."""
    html = played.get(job_path(SOURCE, "report")).text
    assert "ended: success" in html
    assert len(bars(html)) >= 20


def test_an_ended_application_leaves_its_jobs(tmp_path: Path) -> None:
    """After a demo, or after the night: what ran is still there, and nobody is told to attach a first driver."""
    clock = Clock()
    with local_client(make_app(tmp_path, clock, engine={"mode": "control"})) as client:
        driver = ScriptedDriver(through(client.post), clock.advance, jobs()[:1], application="app-1")
        driver.run(20.0)
        driver.detach()
        html = client.get("/").text
        assert "No application is attached at the moment" in html
        assert "spark.plugins" not in html
        assert job_path(SOURCE, "report") in links(html)


def test_the_hosts_of_what_has_ended_are_told_as_they_last_were(tmp_path: Path) -> None:
    """After a demo with a sick host nobody wants to read that there are none, or that all were well."""
    clock = Clock()
    with local_client(make_app(tmp_path, clock, engine={"mode": "control"})) as client:
        driver = ScriptedDriver(through(client.post), clock.advance, jobs()[:1], application="app-1")
        driver.run(20.0)
        clock.advance(1.0)
        before = client.get("/").text
        driver.detach()
        clock.advance(5.0)
        after = client.get("/").text
        assert hosts(after) == hosts(before) != []
        assert "sick" in figure(before, "Hosts")
        assert re.fullmatch(re.escape(figure(before, "Hosts")) + r", as of [\d.]+ s ago", figure(after, "Hosts"))


def test_a_silent_applications_time_stands_still(tmp_path: Path) -> None:
    """What it does since nobody knows; a driver that was killed must not look like one that works on."""
    clock = Clock()
    with local_client(make_app(tmp_path, clock)) as client:
        ScriptedDriver(through(client.post), clock.advance, jobs()[1:2], application="app-1").run(12.0)
        seen = []
        for _ in range(2):
            clock.advance(15.0)
            overview, job = client.get("/").text, client.get(job_path(SOURCE, "export")).text
            assert "· silent for" in job
            took = re.search(r"<dt>Time until last heard</dt><dd>([^<]+) <", job)[1]
            seen.append((took, bars(job), re.search(r'data-label="Age">([^<]+)<', overview)[1]))
        assert seen[0] == seen[1]


@pytest.mark.parametrize("address", ["/", JOIN, "/decisions", "/decisions/1"])
def test_every_page_explains_its_words(played: TestClient, address: str) -> None:
    """Folded away, and without scripts. It stands outside of what scripts refresh, so that it stays open."""
    footer = played.get(address).text.partition("</main>")[2]
    assert "<details>" in footer
    words = ("attempt", "copy", "source", "pool", "target", "virtual size", "tail index", "PoCD", "shadow", "claim")
    assert tuple(re.findall(r'<dt id="word-[a-z-]+">([^<]+)</dt>', footer)) == words


@pytest.mark.parametrize("address", ["/", JOIN, "/promises", "/decisions/"])
def test_a_word_leads_to_its_meaning(played: TestClient, address: str) -> None:
    """On the same page, where a browser unfolds it."""
    if address == "/decisions/":
        address = next(link for link in links(played.get("/decisions").text) if link.startswith(address))
    html = played.get(address).text
    wanted = [link for link in links(html) if link.startswith("#word-")]
    assert wanted
    assert [link for link in wanted if f'id="{link[1:]}"' not in html] == []


def test_charts_name_their_lines_and_their_units(played: TestClient) -> None:
    """Nobody should have to guess what a dotted line is, or what is counted."""
    overview, job = played.get("/").text, played.get(JOIN).text
    assert re.findall(r"</svg>([^<]+)</li>", overview)[:4] == ["originals", "copies", "target", "virtual size"]
    assert {"original", "copy", "held", "target", "virtual size"} <= set(re.findall(r"</svg>([^<]+)</li>", job))
    assert ">stage/task</text>" in job
    assert re.search(r"<text y=\"10\">\d+ slots</text>", job)
    assert job.count("time since the job began") == 2


def test_a_store_that_cannot_write_is_named(tmp_path: Path) -> None:
    """Deciding goes on without a record, and whoever looks must know that."""
    clock = Clock()
    with local_client(make_app(tmp_path, clock, store={"url": str(tmp_path), "retry_s": 0.01})) as client:
        driver = ScriptedDriver(through(client.post), clock.advance, jobs()[:1], application="app-1")
        driver.run(6.0)
        assert client.app.state.runtime.store.flush() is False
        assert "Decisions are not being recorded" in client.get("/").text


def test_decisions_are_filtered(played: TestClient) -> None:
    """By action, reason and job; what is unknown matches nothing and breaks nothing."""
    html = played.get("/decisions", params={"action": "launch_copy"}).text
    assert "launch copy</a>" in html
    assert "refuse copy</a>" not in html
    assert "No decision matches" in played.get("/decisions", params={"reason": "no_such_reason"}).text


def test_every_decision_is_reached_by_paging(played: TestClient) -> None:
    """Pages neither overlap nor leave gaps."""
    seen: list[str] = []
    address: str | None = "/decisions"
    while address:
        html = played.get(address).text
        assert ('id="live"' in html) == (address == "/decisions"), "only the newest ones change while they are read"
        seen += re.findall(r'href="/decisions/(\d+)"', html)
        address = next((link for link in links(html) if "before=" in link), None)
    assert len(seen) == len(set(seen))
    assert seen == sorted(seen, key=int, reverse=True)
    first = played.get("/api/v1/decisions", params={"limit": 1000}).json()["items"]
    assert len(seen) == len(first)


def test_one_decision_has_a_page_of_its_own(played: TestClient) -> None:
    """A permalink with inputs, outcome and the same as JSON."""
    listing = played.get("/decisions", params={"action": "launch_copy"}).text
    address = re.search(r'href="(/decisions/\d+)"', listing)[1]
    html = played.get(address).text
    assert "What it was made from" in html
    assert f"curl -s http://127.0.0.1/api/v1{address}" in html


@pytest.mark.parametrize("address", ["/decisions/1", "/jobs/spark%3Anone/none", "/demo"])
def test_what_does_not_exist_is_a_page_with_a_way_back(fresh: TestClient, address: str) -> None:
    """Readers get words and a link, and programs the status."""
    reply = fresh.get(address)
    assert reply.status_code == 404
    assert "Back to the overview" in reply.text


def test_the_mode_form_sets_the_mode_and_keeps_the_reason(fresh: TestClient) -> None:
    """The kill switch works without scripts, and says later who used it and why."""
    reply = fresh.post("/mode", data={"mode": "off", "reason": "too many copies"})
    assert reply.status_code == 303
    assert "Switched off" in fresh.get(reply.headers["location"]).text
    entry = fresh.get("/api/v1/audit").json()["items"][0]
    assert entry["reason"] == "too many copies"


@pytest.mark.parametrize("form", [{"mode": "off"}, {"mode": "off", "reason": " "}, {"mode": "on", "reason": "x"}, {}])
def test_a_bad_mode_form_changes_nothing_and_says_so(fresh: TestClient, form: dict[str, str]) -> None:
    """A mode without a reason, or one that does not exist."""
    reply = fresh.post("/mode", data=form)
    assert reply.status_code == 422
    assert "Refused" in reply.text
    assert fresh.get("/api/v1/mode").json()["mode"] == "shadow"


def test_another_site_cannot_press_the_kill_switch(fresh: TestClient) -> None:
    """A web page elsewhere can make a browser post a form; the browser says where it came from."""
    form = {"mode": "off", "reason": "mischief"}
    assert fresh.post("/mode", data=form, headers={"origin": "http://example.com"}).status_code == 403
    assert fresh.get("/api/v1/mode").json()["mode"] == "shadow"


def test_with_tokens_the_page_asks_for_one_and_reading_is_not_operating(tmp_path: Path) -> None:
    """Browsers send the token as a password; a reader's does not change the mode."""
    app = make_app(tmp_path, Clock(), auth={"read_token": "reader-5d1c83fa97", "operate_token": "operator-20b6e94f1"})
    with local_client(app) as client:
        assert client.get("/").status_code == 401
        assert client.get("/", auth=("", "reader-5d1c83fa97")).status_code == 200
        form = {"mode": "off", "reason": "test"}
        assert client.post("/mode", data=form, auth=("", "reader-5d1c83fa97")).status_code == 403
        assert client.post("/mode", data=form, auth=("", "operator-20b6e94f1")).status_code == 303


def test_shadow_mode_orders_nothing_and_calls_its_numbers_estimates(tmp_path: Path) -> None:
    """What would have been is never shown as what was."""
    clock = Clock()
    with local_client(make_app(tmp_path, clock)) as client:
        ScriptedDriver(through(client.post), clock.advance, jobs(), application="app-1").run(40.0)
        html = client.get("/").text
        assert re.search(r"Shadow mode orders nothing\. It would have launched [1-9]\d* cop(y|ies) \(estimate\)", html)
        assert "shadow: not ordered" in html
        assert not any("copy on" in label for _, label in bars(client.get(job_path(SOURCE, "report")).text))


def test_the_demo_page_compares_contestants(tmp_path: Path) -> None:
    """Bars to scale, numbers beside them, and no more said than one round can tell."""
    (tmp_path / "demo.json").write_text(json.dumps(REPORT))
    with local_client(make_app(tmp_path, Clock())) as client:
        html = client.get("/demo").text
        assert "Stock &lt;off&gt;" in html
        assert "One round shows how it works" in html
        assert "load was 1.4 to 3.1 on 2 cores" in html
        assert '<td class="num" data-label="Load">3.1</td>' in html
        assert float(re.search(r'class="mean" [^>]*width="([\d.]+)%"', html)[1]) == pytest.approx(42.0)
        assert float(re.search(r'class="ours" [^>]*width="([\d.]+)%"', html)[1]) == pytest.approx(21.0)
        assert '<a href="/demo"' in client.get("/").text


def test_each_number_of_the_comparison_stands_where_its_axis_says(tmp_path: Path) -> None:
    """What ends the line is the 95th percentile; the bar's number goes with its name."""
    (tmp_path / "demo.json").write_text(json.dumps(REPORT))
    with local_client(make_app(tmp_path, Clock())) as client:
        html = client.get("/demo").text
        assert re.findall(r'<text x="([^"]*)"[^>]*>([^<]*)</text>', html) == [
            ("0", "Stock &lt;off&gt;: mean 20.0 s"),
            ("84.0%", "40.0 s"),
            ("0", "Grasshopper hopper+ras: mean 10.0 s"),
            ("42.0%", "20.0 s"),
        ]


def test_the_demo_page_shows_the_schedules_of_table_1(tmp_path: Path) -> None:
    """Once there is a picture, with a comparison or without; nothing in it may run or load anything."""
    with local_client(make_app(tmp_path, Clock())) as client:
        assert client.get("/demo/table1.svg").status_code == 404
        (tmp_path / "demo-table1.svg").write_text("<svg/>")
        assert 'src="/demo/table1.svg"' in client.get("/demo").text
        picture = client.get("/demo/table1.svg")
        assert (picture.text, picture.headers["content-type"]) == ("<svg/>", "image/svg+xml")
        assert "default-src 'none'" in picture.headers["content-security-policy"]


def test_a_broken_demo_report_is_no_comparison(tmp_path: Path) -> None:
    """A half-written file must not break the page."""
    (tmp_path / "demo.json").write_text('[{"contestant": "stock"')
    with local_client(make_app(tmp_path, Clock())) as client:
        assert client.get("/demo").status_code == 404


def test_pages_allow_nothing_from_elsewhere(played: TestClient) -> None:
    """No script, style or request to other servers, no inline script, and no framing."""
    for address in ("/", JOIN, "/decisions"):
        reply = played.get(address)
        assert "default-src 'none'" in reply.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in reply.headers["content-security-policy"]
        tags = " ".join(re.findall(r"<[a-z][^>]*>", reply.text))
        assert not re.search(r"<script(?! src=\"/static/)|<style|\sstyle=|\son\w+=", tags)
        assert not [link for link in links(reply.text) if link.startswith(("http", "//"))]


def test_assets_come_with_the_package(played: TestClient) -> None:
    """Each one that a page names, with its type; nothing else is served from there."""
    for address in [link for link in links(played.get("/").text) if link.startswith("/static/")]:
        assert played.get(address).status_code == 200
    assert played.get("/static/page.css").headers["content-type"].startswith("text/css")
    assert played.get("/static/" + quote("../pages.py", safe="")).status_code == 404


def test_a_page_before_no_decision_at_all_is_refused(fresh: TestClient) -> None:
    """No database counts that far."""
    assert fresh.get("/decisions", params={"before": 10**30}).status_code == 422


def test_a_reason_without_end_is_refused(fresh: TestClient) -> None:
    """It would be kept for ever, and shown with every look at the audit log; page and REST draw the line alike."""
    long, longer = ({"mode": "off", "reason": "x" * length} for length in (LONGEST_REASON, LONGEST_REASON + 1))
    assert fresh.post("/mode", data=longer).status_code == 422
    assert fresh.put("/api/v1/mode", json=longer).status_code == 422
    assert fresh.get("/api/v1/mode").json()["mode"] == "shadow"
    assert fresh.post("/mode", data=long).status_code == 303
    assert fresh.put("/api/v1/mode", json=long).status_code == 200
    assert f'maxlength="{LONGEST_REASON}"' in fresh.get("/").text
