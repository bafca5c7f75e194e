"""How much may we do for this pool and this job? The lower of what its user and the server allow."""

from controlplane.model.cluster import Cluster, SourceState
from controlplane.model.facts import Mode

_BY_RANK = (Mode.OFF, Mode.SHADOW, Mode.CONTROL)


class Modes:
    """The server's mode everywhere, and modes of single pools. Off everywhere overrules every pool's own."""

    def __init__(self, everywhere: Mode) -> None:
        self.everywhere = everywhere
        self.by_source: dict[str, Mode] = {}

    def set(self, mode: Mode, source: str = "") -> None:
        """Set the mode of one pool, or everywhere where `source` is empty; pools' own modes stay."""
        if source:
            self.by_source[source] = mode
        else:
            self.everywhere = mode

    def of_source(self, source: SourceState) -> Mode:
        """What counts for a pool."""
        server = self.by_source.get(source.name, self.everywhere)
        if self.everywhere is Mode.OFF:
            server = Mode.OFF
        return _BY_RANK[min(server.rank, source.attached.mode.rank)]

    def of_job(self, cluster: Cluster, source: SourceState, job: int) -> Mode:
        """What counts for one job, by its row."""
        return _BY_RANK[min(self.of_source(source).rank, int(cluster.jobs.mode_rank[job]))]
