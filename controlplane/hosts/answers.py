"""Why did a host not carry out an order? The shims' codes, each with its sentence; Java gives no others."""

from controlplane.hosts import KINDS
from controlplane.hosts.kind import HostAnswer

BAD_FIELD = "bad_field"
"""This code is followed by a colon and the field's name."""
NO_SLOT = "no_slot"
"""The next slot that comes free may be just as good."""

ANY_HOSTS: dict[str, HostAnswer] = {
    BAD_FIELD: HostAnswer("the order has a field that the protocol forbids"),
    "above_clamp": HostAnswer("the task has as many copies as the application's copies.max allows"),
    "byte_offset_unsupported": HostAnswer("this host starts copies only at the beginning of their input"),
    "host_has_attempt": HostAnswer("an attempt of the task runs on that host"),
    "last_attempt": HostAnswer("it is the task's last attempt"),
    "late_jobs_kept": HostAnswer("the application's late.job does not allow the end of this job"),
    "lease_ended": HostAnswer("the control plane had been silent for the length of a lease"),
    "mode": HostAnswer("the application's mode, or the job's, forbids it"),
    NO_SLOT: HostAnswer("no slot came free in time"),
    "not_running": HostAnswer("the attempt, or every attempt of the task, had ended", is_moot=True),
    "opted_out": HostAnswer("the job does not allow copies"),
    "other_epoch": HostAnswer("the stage runs in a later attempt", is_moot=True),
    "overdue": HostAnswer("it had expired when it arrived"),
    "shim_error": HostAnswer("the shim failed; the driver's log says how"),
    "stage_ended": HostAnswer("its stage had ended", is_moot=True),
    "task_ended": HostAnswer("its task had ended", is_moot=True),
    "unknown_host": HostAnswer("the application has no executor on that host"),
    "unknown_job": HostAnswer("its job had ended", is_moot=True),
    "unknown_order": HostAnswer("this kind of host does not know such orders"),
    "unknown_stage": HostAnswer("its stage had ended", is_moot=True),
    "unknown_task": HostAnswer("the stage has no such task"),
}
"""Answers that every kind of host may give."""
_ALL = ANY_HOSTS | {code: answer for kind in KINDS.values() for code, answer in kind.answers.items()}
HOST_ANSWERS = dict(sorted(_ALL.items()))


def host_code(reason: str) -> str:
    """The code of a host's answer; empty if it is not one of ours.

    >>> [host_code(reason) for reason in ("no_slot", "bad_field:target", "no word from the host")]
    ['no_slot', 'bad_field', '']
    """
    code = reason.partition(":")[0]
    return code if code in HOST_ANSWERS else ""


def is_moot(reason: str) -> bool:
    """Whether this answer says that the order came too late.

    >>> [is_moot(reason) for reason in ("task_ended", "no_slot", "bad_field:target")]
    [True, False, False]
    """
    return reason in HOST_ANSWERS and HOST_ANSWERS[reason].is_moot


def host_sentence(reason: str) -> str:
    """The sentence for a host's answer; the answer itself if it has no code.

    >>> [host_sentence(reason) for reason in ("task_ended", "bad_field:target", "no word from the host")]
    ['its task had ended', 'the order has a field that the protocol forbids: target', 'no word from the host']
    """
    code = host_code(reason)
    return f"{HOST_ANSWERS[code].sentence}{reason.removeprefix(code).replace(':', ': ')}" if code else reason
