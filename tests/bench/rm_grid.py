"""Does a resource manager's node update cost more with a control plane that is gone, or with more applications?"""

from tests.bench.granting import answering, dead, stopped
from tests.bench.rm_overhead import ALL_ASK, ratio_row, runs

APPLICATIONS = (50, 200, 500)
PLANES = (answering, stopped, dead)


def rows() -> list[dict]:
    """Rows `rm-node-update-N STATE`: as `rm-node-update-500`, one run each, for every number and state."""
    return [
        ratio_row(
            f"rm-node-update-{applications} {plane.__name__}",
            runs(plane, applications=applications, containers=ALL_ASK, first_seed=1, count=1),
        )
        for applications in APPLICATIONS
        for plane in PLANES
    ]
