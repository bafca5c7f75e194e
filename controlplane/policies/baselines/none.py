"""Which running tasks deserve one more attempt? None of them."""

from controlplane.compiled import kernel
from controlplane.model.columns import Record
from controlplane.model.reasons import Reason
from controlplane.policies.interfaces import Records
from controlplane.policies.row import Kind, Row


@kernel
def none(tasks: Records, finished: Records, settings: Record, answer: Records) -> None:
    """No copies at all."""
    answer["reason"][:] = Reason.NO_SPECULATOR


ROW = Row(
    name="none",
    kind=Kind.SPECULATOR,
    kernel=none,
    about="No copies.",
)
