"""Which kinds of hosts are there? A kind is a file that ends in its `Kind`, and one entry in `KINDS`."""

from controlplane.hosts.kind import Kind
from controlplane.hosts.mapreduce import MAPREDUCE
from controlplane.hosts.spark import SPARK
from controlplane.hosts.yarn import YARN

KINDS = {kind.name: kind for kind in (SPARK, MAPREDUCE, YARN)}


def kind_of(source: str) -> Kind:
    """The kind of host that a source is of, by its name.

    >>> kind_of("yarn:cluster:root.queue").is_queue
    True
    """
    return KINDS[source.partition(":")[0]]


def is_queue(source: str) -> bool:
    """Whether a source is a leaf queue; a source of an unknown kind is not.

    >>> is_queue("yarn:cluster:root.queue"), is_queue("spark:app-1"), is_queue("none")
    (True, False, False)
    """
    kind = KINDS.get(source.partition(":")[0])
    return kind is not None and kind.is_queue


def driver_sources(application: str) -> list[str]:
    """The sources that the driver of an application in a leaf queue may report as.

    >>> driver_sources("application_1_0001")
    ['spark:application_1_0001', 'mapreduce:application_1_0001']
    """
    return [f"{kind.name}:{application}" for kind in KINDS.values() if not kind.is_queue]
