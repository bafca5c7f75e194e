"""Is the index of policies whole, and right about where each runs?"""

import re
from collections import Counter

import pytest

from controlplane.hosts import KINDS
from controlplane.model import apply
from controlplane.model import facts as f
from controlplane.model.errors import BadSetting
from controlplane.policies import registry
from controlplane.policies.registry import FORESEEING, TABLE
from controlplane.policies.row import Kind
from controlplane.simulator.cluster.scenario import ClusterScenario
from controlplane.simulator.masterworker.scenario import MasterWorkerScenario
from tests.docs.policies import INDEX, PAGES, WORLDS

pytestmark = [pytest.mark.unit, pytest.mark.checkout]

ALL = pytest.mark.parametrize("row", [*TABLE, *FORESEEING], ids=lambda row: f"{row.kind}-{row.name}")
LIVE = {
    Kind.ALLOCATOR: registry.allocator,
    Kind.SPECULATOR: registry.speculator,
    Kind.COPY_BUDGET: registry.copy_budget,
}
SIMULATED = {
    Kind.ALLOCATOR: lambda name: ClusterScenario(policy=f"{name}+none"),
    Kind.SPECULATOR: lambda name: ClusterScenario(policy=f"fair+{name}"),
    Kind.COPY_BUDGET: lambda name: ClusterScenario(copy_budget=name),
}


def _takes(world, name):
    """Whether a policy of this name can be asked for there."""
    try:
        world(name)
    except BadSetting:
        return False
    return True


def test_every_page_about_policies_is_in_the_index():
    """Once for each policy of its name: the clairvoyant ones share a page."""
    linked = Counter(re.findall(r"\]\(([\w-]+)\.md\)", INDEX.read_text()))
    assert linked.keys() == {page.stem for page in PAGES.glob("*.md")} - {INDEX.stem}
    assert {name: linked[name] for name in linked if linked[name] > 1} == {"clairvoyant": 2, "unified": 2}


@ALL
def test_policies_run_where_the_index_says_and_nowhere_else(row):
    """Live and in both simulators, as whoever asks for one by name finds out."""
    live, cluster, masterworker = LIVE[row.kind], SIMULATED[row.kind], lambda name: MasterWorkerScenario(policy=name)
    runs = {world: of(row) for world, of in WORLDS.items()}
    assert any(runs[world] for world in runs if world.startswith("live: ")) == _takes(live, row.name)
    assert runs["cluster simulator"] == _takes(cluster, row.name)
    assert runs["master-worker simulator"] == _takes(masterworker, row.name)


def test_a_leaf_queue_reports_nothing_that_could_be_copied():
    """So speculators are said to act on drivers alone."""
    assert f.AttemptStarted in apply._OF_DRIVERS
    assert f.AttemptStarted not in apply._OF_QUEUES
    assert {world for world in WORLDS if world.endswith(" queues")} == {
        f"live: `{name}` queues" for name, kind in KINDS.items() if kind.is_queue
    }
