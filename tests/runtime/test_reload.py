"""Does a changed file of settings take effect whole, or not at all?"""

import pytest
from fastapi.testclient import TestClient

from controlplane import main, settings

pytestmark = pytest.mark.unit


@pytest.fixture
def served(tmp_path):
    """A running application and the file that it was started with."""
    file = tmp_path / "plane.yaml"
    file.write_text(f"engine: {{lease_ms: 1000, mode: control}}\nstore: {{url: '{tmp_path}/plane.db'}}\n")
    app = main.build_app(settings.load(file, {"engine": {"order_ttl_ms": 700}}))
    with TestClient(app, base_url="http://127.0.0.1", client=("127.0.0.1", 50000)) as client:
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


def test_what_an_operator_set_goes_before_the_file(served):
    """As after a restart: a file that was changed for something else must not lift a kill switch."""
    client, file = served
    client.put("/api/v1/mode", json={"mode": "off", "reason": "too hot"})
    client.patch("/api/v1/settings", json={"engine": {"lease_ms": 3000}, "reason": "slow network"})
    file.write_text("engine: {lease_ms: 2000, max_copies_per_task: 1, mode: control}\n")
    main.reload(client.app)
    found = engine(client)
    assert (found["lease_ms"], found["max_copies_per_task"], found["mode"]) == (3000, 1, "off")
