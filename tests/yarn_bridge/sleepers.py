"""How does a test give a YARN something to do without Spark? Application masters that only sleep, sent over REST."""

import requests


def submit(
    rm_url: str,
    *,
    queue: str = "default",
    memory_mb: int = 64,
    priority: int = 0,
    seconds: int = 600,
    user: str = "dr.who",
    name: str = "",
    tags: tuple[str, ...] = (),
) -> str:
    """Returns the application's id. It never asks for more containers, and stays until it is killed."""
    base, who = f"{rm_url}/ws/v1/cluster/apps", {"user.name": user}
    id = requests.post(f"{base}/new-application", params=who, timeout=10).json()["application-id"]
    wish = {
        "application-id": id,
        "application-name": name or f"sleeper in {queue}",
        "application-tags": {"tag": list(tags)},
        "application-type": "SLEEP",
        "queue": queue,
        "priority": priority,
        "max-app-attempts": 1,
        "resource": {"memory": memory_mb, "vCores": 1},
        "am-container-spec": {"commands": {"command": f"sleep {seconds}"}},
    }
    answer = requests.post(base, params=who, json=wish, timeout=10)
    assert answer.status_code == 202, answer.text
    return id


def kill(rm_url: str, id: str) -> None:
    """Ask for the end of an application."""
    answer = requests.put(f"{rm_url}/ws/v1/cluster/apps/{id}/state", json={"state": "KILLED"}, timeout=10)
    assert answer.ok, answer.text
