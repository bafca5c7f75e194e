"""Which running tasks deserve one more attempt? None of them."""

from controlplane.compiled import kernel
from controlplane.model.columns import Record, Records
from controlplane.model.reasons import Reason
from controlplane.policies.redundancy.theory.plan import plain_plan
from controlplane.policies.row import Kind, Row
from controlplane.policies.seen import Seen


@kernel
def none(seen: Seen, settings: Record, answer: Records) -> None:
    """No copies at all."""
    answer["reason"][:] = Reason.NO_SPECULATOR


ROW = Row(
    name="none",
    kind=Kind.SPECULATOR,
    kernel=none,
    about="No copies.",
    plan=lambda system, _load, _choices: plain_plan(system),
)
