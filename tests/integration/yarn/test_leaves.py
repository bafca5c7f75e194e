"""Does each of two leaf queues keep its own caps? One exchange, one pool and one plan's part for each."""

import pytest

from tests.integration.plane_process import Plane, eventually
from tests.integration.yarn.queue import CLUSTER, FULL, PLANE, Application, Queue, yarn_with_plugin

pytestmark = [pytest.mark.integration, pytest.mark.full]
LEAVES = ("root.etl", "root.adhoc")
CAPS = (2, 3)
"""Half of the cluster has room for five executors and a master."""


@pytest.mark.parametrize("version", [FULL["3.4.3"], FULL["3.5.0"]])
def test_each_leaf_follows_its_own_grants(version, tmp_path, monkeypatch) -> None:
    """Swapped between the leaves, neither would come to what the other one may have."""
    with (
        Plane(tmp_path / "plane", **PLANE) as plane,
        yarn_with_plugin(version, tmp_path, plane.address, tmp_path / "switch", queues=LEAVES) as yarn,
    ):
        monkeypatch.setenv("HADOOP_CONF_DIR", str(yarn.conf_dir))
        etl, adhoc = ({"spark.yarn.queue": leaf.rpartition(".")[2]} for leaf in LEAVES)
        with Application(tmp_path / "a", **etl) as a, Application(tmp_path / "b", **adhoc) as b:
            both = Queue(yarn, plane, (a, b))
            for caps in (CAPS, CAPS[::-1]):
                for leaf, application, cap in zip(LEAVES, (a, b), caps, strict=True):
                    fix(plane, leaf, application, cap)
                for application in both.applications:
                    application.work()
                both.settles_at(*caps)
                for application in both.applications:
                    application.rest()
                eventually(lambda: both.held() == (0, 0), about=both.held)


def fix(plane: Plane, leaf: str, application: Application, cap: int) -> None:
    """A target and cap for the only application of a leaf; returns when its ResourceManager has them."""
    source = f"yarn:{CLUSTER}:{leaf}"
    eventually(
        lambda: [job["job"] for job in (plane.pool(source) or {"jobs": []})["jobs"]] == [application.application]
    )
    plane.set_target(source, application.application, cap, cap)
    eventually(
        lambda: [
            one for one in plane.decisions(source, action="grant", outcome="applied")[:1] if one["inputs"]["cap"] == cap
        ]
    )
