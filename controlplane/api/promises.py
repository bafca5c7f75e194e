"""How likely were jobs said to keep their deadlines, and did they? Promised probabilities beside what came of them."""

from fastapi import APIRouter, Request
from msgspec import Struct
from starlette.responses import Response

from controlplane.api.answers import answer, shows
from controlplane.api.reads import runtime_of
from controlplane.api.report import Since, duration_s
from controlplane.estimators.calibration import Calibration, calibrate
from controlplane.runtime.live import Runtime
from controlplane.store.rows import EndedPromise

router = APIRouter(prefix="/api/v1")

MOST_JOBS = 100_000
"""Most ended jobs that are compared; the newest are."""
NEWEST = 100
"""Ended jobs that are listed one by one."""


class Promises(Struct, frozen=True, kw_only=True):
    """Jobs with a deadline that have ended since a given time."""

    since_unix_ms: int
    """Start of the period by the wall clock: milliseconds since 1970."""
    jobs: int
    """Jobs with a deadline that have ended."""
    kept: int
    """The jobs among them that kept it."""
    first: Calibration
    """Calibration of the first probability that was known of each job, without further attempts."""
    first_with_copies: Calibration
    """Calibration of the first one with as many attempts as tasks may have: to be compared where a policy copies tasks
    that would miss deadlines."""
    newest: Calibration
    """Calibration of the newest one before its deadline, with the copies that ran or were ordered then."""
    ended: list[EndedPromise]
    """The newest of them one by one, newest first; a hundred at most."""
    complete: bool
    """False while the store cannot be read, or if there are more jobs than are compared."""


@router.get("/promises", **shows(Promises))
async def promises_of(request: Request, since: Since = "7d") -> Response:
    """The probabilities promised to ended jobs with a deadline, and how many of them kept it."""
    return answer(await promises(runtime_of(request), since))


async def promises(runtime: Runtime, since: str) -> Promises:
    """Promises of jobs that have ended from `since` ago, a duration as in `Since`, until now."""
    since_ms = runtime.store.wall_ms() - duration_s(since) * 1000
    found = await runtime.store.promises(since_ms=since_ms, limit=MOST_JOBS)
    ended = found or []
    return Promises(
        since_unix_ms=since_ms,
        jobs=len(ended),
        kept=sum(each.kept for each in ended),
        first=_calibration([(each.first_pocd, each.kept) for each in ended]),
        first_with_copies=_calibration([(each.first_with_copies, each.kept) for each in ended]),
        newest=_calibration([(each.newest_pocd, each.kept) for each in ended]),
        ended=ended[:NEWEST],
        complete=found is not None and len(ended) < MOST_JOBS,
    )


def _calibration(promised: list[tuple[float | None, bool]]) -> Calibration:
    """The calibration of those that are known."""
    known = [(pocd, kept) for pocd, kept in promised if pocd is not None]
    return calibrate([pocd for pocd, _ in known], [kept for _, kept in known])
