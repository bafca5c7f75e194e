"""Was a task copied, would it have been, and why? Answered from what runs and from what was decided about it."""

from collections.abc import Sequence

from controlplane.api.views import DecisionView, WhyView, finite
from controlplane.model.decisions import Result
from controlplane.model.reasons import Action
from controlplane.model.snapshot import TaskState

_FATES: dict[Result | None, str] = {
    Result.WON: "was copied, and the copy won",
    Result.APPLIED: "was copied",
    Result.LOST: "was copied, and the copy lost",
    Result.PENDING: "was to be copied, but there is no news of the order yet",
    Result.EXPIRED: "was to be copied, but the order expired",
    Result.REFUSED: "was to be copied, but the host refused",
    Result.MOOT: "was to be copied, but the order came to nothing",
    Result.SHADOW: "would have been copied, but the mode was {mode}",
    None: "would have been copied, but the mode was {mode}",
}
"""What came of a decision to copy, in words, by its result; of several decisions the first result here counts."""
_FURTHEST = list(_FATES)
_COPIED = (Result.WON, Result.APPLIED, Result.LOST)


def why_view(
    task: TaskState | None,
    decisions: Sequence[DecisionView],
    *,
    source: str,
    epoch: int,
    stage: int,
    stage_attempt: int,
    index: int,
    complete: bool,
) -> WhyView:
    """The answer from the task as it runs, None where it does not, and from the decisions about it, newest first.

    At least one of the two is given. Fate and reason are of one decision: to copy it, if there was one, else of the
    present reason, the last refusal, or whatever was decided last.
    A host may copy tasks by itself, of which decisions say nothing.
    """
    launches = [decision for decision in decisions if decision.action == Action.LAUNCH_COPY.label]
    launch = min(launches, key=lambda decision: _FURTHEST.index(decision.result), default=None)
    refusal = next((decision for decision in decisions if decision.action == Action.REFUSE_COPY.label), None)
    basis = launch or task or refusal or decisions[0]
    return WhyView(
        source=source,
        epoch=epoch,
        job=task.job if task else decisions[0].job,
        stage=stage,
        stage_attempt=stage_attempt,
        index=index,
        copied=launch is not None and launch.result in _COPIED,
        fate=_fate(launch) if launch else "was not copied by Grasshopper",
        reason=basis.reason,
        sentence=basis.sentence,
        since=refusal.sentence if launch and refusal and refusal.id > launch.id else "",
        inputs={name: finite(value) for name, value in basis.inputs.items()},
        decisions=list(decisions),
        complete=complete,
    )


def _fate(launch: DecisionView) -> str:
    because = launch.outcomes[-1].reason if launch.outcomes else ""
    return _FATES[launch.result].format(mode=launch.mode.value) + (f" ({because})" if because else "")
