"""Does a changed file of settings take effect whole, or not at all?"""

import pytest
import structlog
from fastapi.testclient import TestClient

from controlplane import main, settings

pytestmark = pytest.mark.unit


def serving(file):
    """A client of an application that is started with this file."""
    app = main.build_app(settings.load(file, {"engine": {"order_ttl_ms": 700}}))
    return TestClient(app, base_url="http://127.0.0.1", client=("127.0.0.1", 50000))


@pytest.fixture
def served(tmp_path):
    """A running application and the file that it was started with."""
    file = tmp_path / "plane.yaml"
    file.write_text(f"engine: {{lease_ms: 1000, mode: control}}\nstore: {{url: '{tmp_path}/plane.db'}}\n")
    with serving(file) as client:
        yield client, file


def engine(client):
    return client.get("/api/v1/settings").json()["engine"]


def test_a_changed_file_holds_from_then_on_and_is_audited(served):
    client, file = served
    file.write_text("engine: {lease_ms: 2000, order_ttl_ms: 900, mode: shadow}\n")
    main.reload(client.app)
    found = engine(client)
    assert (found["lease_ms"], found["order_ttl_ms"], found["mode"]) == (2000, 700, "shadow")
    (entry,) = client.get("/api/v1/audit").json()["items"]
    assert (entry["action"], entry["details"]) == ("reload", {"lease_ms": 2000, "mode": "shadow"})


@pytest.mark.parametrize(
    "text", ["engine: {lease_ms: 2000, max_copies_per_task: 99}", "engine: [", "engine: {lease_ms: 2000}\nsever: {}"]
)
def test_a_bad_file_is_refused_whole_and_the_old_one_stays(served, text):
    client, file = served
    before = engine(client)
    file.write_text(text)
    main.reload(client.app)
    assert engine(client) == before
    file.unlink()
    main.reload(client.app)
    assert engine(client) == before


def test_a_file_that_a_changed_setting_does_not_go_with_holds_all_the_same(served):
    """As after a restart: only the setting of a policy that is no longer there is left out, and a limit stays."""
    client, file = served
    wish = {"max_copies_per_task": 0, "allocator_settings": {"fairness_epsilon": 0.3}}
    client.patch("/api/v1/settings", json={"engine": wish, "reason": "too hot"})
    text = f"engine: {{allocator: fair}}\nstore: {{url: '{file.parent}/plane.db'}}\n"
    file.write_text(text)
    main.reload(client.app)
    expected = {"allocator": "fair", "allocator_settings": {}, "max_copies_per_task": 0}
    assert expected.items() <= engine(client).items()
    with structlog.testing.capture_logs() as logs, serving(file) as again:
        found = engine(again)
    assert expected.items() <= found.items()
    told = {entry["event"]: entry.get("names") for entry in logs}
    assert told["changed_settings_restored"] == ["max_copies_per_task"]
    assert told["changed_settings_not_restored"] == ["allocator_settings"]


def test_a_setting_that_is_taken_back_is_the_files_again(served):
    """Also after a restart; what the file says by then counts."""
    client, file = served
    client.patch("/api/v1/settings", json={"engine": {"lease_ms": 3000, "max_copies_per_task": 1}, "reason": "slow"})
    file.write_text(f"engine: {{lease_ms: 2000}}\nstore: {{url: '{file.parent}/plane.db'}}\n")
    main.reload(client.app)
    assert engine(client)["lease_ms"] == 3000
    told = client.patch("/api/v1/settings", json={"engine": {"lease_ms": None}, "reason": "fast again"}).json()
    assert (told["engine"]["lease_ms"], told["engine"]["max_copies_per_task"]) == (2000, 1)
    with serving(file) as again:
        assert (engine(again)["lease_ms"], engine(again)["max_copies_per_task"]) == (2000, 1)
    unknown = client.patch("/api/v1/settings", json={"engine": {"no_such": None}, "reason": "x"})
    assert unknown.status_code == 422


def test_what_an_operator_set_goes_before_the_file(served):
    """As after a restart: a file that was changed for something else must not lift a kill switch."""
    client, file = served
    client.put("/api/v1/mode", json={"mode": "off", "reason": "too hot"})
    client.patch("/api/v1/settings", json={"engine": {"lease_ms": 3000}, "reason": "slow network"})
    file.write_text("engine: {lease_ms: 2000, max_copies_per_task: 1, mode: control}\n")
    main.reload(client.app)
    found = engine(client)
    assert (found["lease_ms"], found["max_copies_per_task"], found["mode"]) == (3000, 1, "off")
