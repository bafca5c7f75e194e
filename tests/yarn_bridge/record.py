"""What does a real ResourceManager say? Starts one, lets three applications wait or run, and keeps its answers.

`python -m tests.yarn_bridge.record 3.4.3 3.5.0` writes `recorded/VERSION.json`: every path with its status and body.
Left out is what nobody here reads and what belongs to the machine.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import requests

from tests.yarn_bridge.sleepers import submit
from yarn_bridge.examination import CONF_KEYS
from yarn_bridge.local_yarn import LocalYarn

RECORDED = Path(__file__).with_name("recorded")
QUEUES = {"root.batch": 70, "root.adhoc": 30}
PATHS = (
    "/ws/v1/cluster/info",
    "/ws/v1/cluster/scheduler",
    "/ws/v1/cluster/apps?states=ACCEPTED,RUNNING",
    "/ws/v1/cluster/nodes",
    "/jmx?qry=java.lang:type=Runtime",
    "/stacks",
    *(f"/conf?name={key}" for key in (*CONF_KEYS, "yarn.resourcemanager.cluster-id", "yarn.resourcemanager.address")),
)
LEFT_OUT = {
    "resourceInformations", "capacities", "resources", "queueCapacityVectorInfo", "queueAcls", "resourceSecondsMap",
    "acls",
    "preemptedResourceSecondsMap", "resourceInfo", "health", "SystemProperties", "InputArguments", "timeouts",
    "attributes", "users", "LibraryPath", "resourceUtilization", "allocationTags", "nodeAttributesInfo",
    "leafQueueTemplate", "autoQueueTemplateProperties", "autoQueueParentTemplateProperties",
    "autoQueueLeafTemplateProperties",
}  # fmt: skip


def record(version: str) -> None:
    """One application runs and one waits in `batch`, one runs in `adhoc`."""
    site = {"yarn.cluster.max-application-priority": 10}
    with LocalYarn(version=version, queues=QUEUES, site=site) as yarn:
        for number, (queue, memory_mb) in enumerate([("batch", 2000), ("batch", 2000), ("adhoc", 64)]):
            submit(yarn.rm_url, queue=queue, memory_mb=memory_mb, priority=number)
        time.sleep(8)
        said = {
            path: _kept(requests.get(yarn.rm_url + path, headers={"Accept": "application/json"}, timeout=10))
            for path in PATHS
        }
    RECORDED.mkdir(exist_ok=True)
    (RECORDED / f"{version}.json").write_text(json.dumps(said, indent=1) + "\n")


def _kept(reply: requests.Response) -> dict[str, Any]:
    try:
        body = _small(reply.json())
    except requests.JSONDecodeError:
        body = "\n".join(line for line in reply.text.splitlines() if "Sched" in line and "java.util" not in line)
    return {"status": reply.status_code, "body": body}


def _small(body: Any) -> Any:
    if isinstance(body, dict):
        small = {name: _small(value) for name, value in body.items() if name not in LEFT_OUT}
        if "ClassPath" in small:
            small["ClassPath"] = ":".join(Path(entry).name for entry in small["ClassPath"].split(":")[:2])
        return small
    return [_small(item) for item in body] if isinstance(body, list) else body


if __name__ == "__main__":
    for version in sys.argv[1:]:
        record(version)
