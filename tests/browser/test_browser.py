"""Does the page work in a real browser: with scripts and without, light and dark, wide and narrow?"""

import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
import uvicorn
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from controlplane.api.formats import job_path
from tests.browser.conftest import HOSTILE_ID, HOSTILE_NAME, Clock, jobs, make_app, through
from tests.browser.scripted_driver import ScriptedDriver

pytestmark = pytest.mark.browser

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
JOIN = job_path("spark:app-1", "join")
PAGES = (
    "/",
    JOIN,
    "/audit",
    "/decisions",
    "/decisions?action=launch_copy",
    "/report",
    "/promises",
    job_path("spark:app-1", HOSTILE_ID),
)


@dataclass(frozen=True, slots=True)
class Plane:
    """A served control plane and the driver that plays on it."""

    address: str
    driver: ScriptedDriver


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    """A real server on loopback, in control mode, in the middle of the script."""
    clock = Clock()
    app = make_app(tmp_path_factory.mktemp("browser"), clock, engine={"mode": "control"})
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", access_log=False))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    address = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    with httpx2.Client(base_url=address) as client:
        driver = ScriptedDriver(through(client.post), clock.advance, jobs(), application="app-1")
        driver.run_into_race("join")
        client.put("/api/v1/mode", json={"mode": "control", "reason": "as it was"}).raise_for_status()
        yield Plane(address, driver)
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's Chromium."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert path, "Chromium is not installed"
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser: Browser, plane: Plane) -> Iterator[Callable[..., Page]]:
    """Opens a path in a fresh context; at the end, nothing may have failed or gone anywhere else."""
    contexts: list[BrowserContext] = []
    troubles: list[str] = []

    def check_request(request) -> None:
        if not request.url.startswith(plane.address):
            troubles.append(f"request to {request.url}")

    def open_path(path: str, script: str = "", **options: object) -> Page:
        context = browser.new_context(base_url=plane.address, **options)
        contexts.append(context)
        context.add_init_script(script)
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
        page.on("dialog", lambda dialog: troubles.append(f"dialog: {dialog.message}"))
        page.on("request", check_request)
        assert page.goto(path).ok
        return page

    yield open_path
    for context in contexts:
        context.close()
    assert troubles == []


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no-scripts"])
@pytest.mark.parametrize("path", PAGES)
def test_every_page_loads_with_and_without_scripts(open_page, path: str, scripts: bool) -> None:
    """No error on the console, no request to anywhere else, no dialog from a hostile name."""
    page = open_page(path, java_script_enabled=scripts)
    expect(page.locator("main h1")).to_be_visible()


def test_the_report_is_found_from_the_overview_and_looks_further_back(open_page) -> None:
    """What copies were worth is one click away, and so is another time."""
    page = open_page("/")
    page.get_by_role("link", name="What copies are worth").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("What copies are worth")
    summary = page.locator(".summary")
    expect(summary).to_contain_text(re.compile(r"Control mode has ordered \d+ cop(y|ies): [1-9]\d* won"))
    expect(summary).to_contain_text("(estimate)")
    page.get_by_role("link", name="7d").click()
    expect(page.get_by_role("link", name="7d")).to_have_attribute("aria-current", "page")
    expect(page.locator("main")).to_contain_text("Over the last 7d")


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("path", PAGES)
def test_nothing_is_wider_than_the_window(open_page, path: str, width: int) -> None:
    """Reading needs no sideways scrolling, on a phone neither."""
    page = open_page(path, viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_timeline_draws_a_race(open_page) -> None:
    """A winning copy beside the original that was killed for it, both visible and inside the drawing."""
    page = open_page(JOIN)
    original = page.locator("a.bar.killed").first
    copy = page.get_by_label(re.compile(r"copy on .*, won after")).first
    drawing = page.locator(".split .timeline").bounding_box()
    for bar in (original, copy):
        box = bar.locator("rect").bounding_box()
        assert box["width"] > 1
        assert drawing["x"] <= box["x"]
        assert box["x"] + box["width"] <= drawing["x"] + drawing["width"]
    assert copy.locator("use[href='#sign-won']").count() == 1
    assert original.locator("use[href='#sign-killed']").count() == 1


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no-scripts"])
def test_a_bar_opens_its_explanation(open_page, scripts: bool) -> None:
    """By a click, as a plain link or swapped in place; the address can be sent to somebody."""
    page = open_page(JOIN, java_script_enabled=scripts)
    page.get_by_label(re.compile(r"copy on .*, won after")).last.click()
    why = page.locator("#why")
    expect(why).to_contain_text("The copy won and saved about")
    assert "attempt=" in page.url
    page.goto(page.url)
    expect(page.locator("#why")).to_contain_text("The copy won and saved about")


def test_going_back_shows_the_explanation_before(open_page) -> None:
    """Swapping in place keeps the browser's history."""
    page = open_page(JOIN)
    before = page.locator("#why h3").first.inner_text()
    page.get_by_label(re.compile("Task 0, original")).first.click()
    expect(page.locator("#why h3").first).to_contain_text("Task 0, original")
    page.go_back()
    expect(page.locator("#why h3").first).to_have_text(before)


def test_a_bar_is_reached_and_opened_by_keyboard(open_page) -> None:
    """Without a mouse: focus, Enter, and the explanation is there."""
    page = open_page(JOIN)
    page.get_by_label(re.compile("Task 0, original")).first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#why h3").first).to_contain_text("Task 0, original")


def test_hostile_names_are_shown_as_they_are(open_page) -> None:
    """A job may be called anything; the browser shows it and runs nothing."""
    page = open_page(job_path("spark:app-1", HOSTILE_ID))
    expect(page.locator("h1")).to_have_text(HOSTILE_NAME)


@pytest.mark.parametrize("path", ["/", JOIN, "/audit", "/decisions"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_readable_in_light_and_dark(open_page, scheme: str, path: str) -> None:
    """Every text has a contrast of at least 4.5 to 1 against what it stands on (WCAG 2.2, AA)."""
    page = open_page(path, color_scheme=scheme)
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", background)[:3])) < 300) == (scheme == "dark")
    assert page.evaluate(LOW_CONTRAST) == []


def test_the_mode_form_works_without_scripts(open_page, plane: Plane) -> None:
    """The kill switch, and the way back."""
    page = open_page("/", java_script_enabled=False)
    for mode, headline in (("off", "Switched off"), ("control", "Steering")):
        page.locator("details.mode summary").click()
        page.locator("select[name=mode]").select_option(mode)
        page.locator("input[name=reason]").fill(f"test of {mode}")
        page.get_by_role("button", name="Set mode").click()
        expect(page.locator("h1")).to_contain_text(headline)
    entries = httpx2.get(f"{plane.address}/api/v1/audit").json()["items"]
    assert [entry["reason"] for entry in entries[:2]] == ["test of control", "test of off"]


def test_filters_work_without_scripts(open_page) -> None:
    """A plain form with the chosen values kept."""
    page = open_page("/decisions", java_script_enabled=False)
    page.locator("select[name=action]").select_option("launch_copy")
    page.get_by_role("button", name="Filter").click()
    assert "action=launch_copy" in page.url
    expect(page.locator("select[name=action]")).to_have_value("launch_copy")
    assert set(page.locator("td.whole a").all_inner_texts()) == {"launch copy"}


def test_the_page_follows_the_cluster_until_it_is_paused(open_page, plane: Plane) -> None:
    """Live refresh swaps the content in place; a pause is a pause."""
    page = open_page("/")
    attempts = page.locator(".figures dd").first
    expect(attempts).to_be_visible()
    page.evaluate("document.body.dataset.kept = 'yes'")
    age = page.locator("td[data-label=Age]").first
    before = age.inner_text()
    plane.driver.run(plane.driver.now_s + 1.0)
    expect(age).not_to_have_text(before, timeout=10_000)
    assert page.evaluate("document.body.dataset.kept") == "yes"
    page.locator("#live").click()
    expect(page.locator("#live")).to_have_attribute("aria-pressed", "true")
    paused = age.inner_text()
    plane.driver.run(plane.driver.now_s + 1.0)
    page.wait_for_timeout(2500)
    assert age.inner_text() == paused


def test_a_recorded_decision_refreshes_the_page_at_once(open_page, plane: Plane) -> None:
    """By an event: the clock that asks every two seconds is taken away."""
    page = open_page("/decisions", script="window.setInterval = () => 0")
    newest = page.locator("td.whole a").first
    before = newest.get_attribute("href")
    page.evaluate("document.body.dataset.kept = 'yes'")
    plane.driver.run(plane.driver.now_s + 5.0)
    expect(newest).not_to_have_attribute("href", before, timeout=10_000)
    assert page.evaluate("document.body.dataset.kept") == "yes"


def test_a_page_that_lost_its_server_says_so(browser: Browser, plane: Plane) -> None:
    """Old numbers must not look live."""
    context = browser.new_context(base_url=plane.address)
    page = context.new_page()
    page.goto("/")
    page.route("**/*", lambda route: route.abort())
    expect(page.locator("#live")).to_contain_text("Not reachable", timeout=10_000)
    context.close()


LOW_CONTRAST = (Path(__file__).parent / "low_contrast.js").read_text()
"""An expression: texts whose contrast is too low."""
