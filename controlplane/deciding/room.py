"""How many copies does a job have room for? Rules of one job, for both the engine's cycle and a simulator's slots.

`free` is the rest of the job's target: less what runs, and less what is ordered.
"""

from controlplane.compiled import rule
from controlplane.model.reasons import Reason

ORIGINALS_WAIT, NO_SLOT_IN_TARGET = int(Reason.ORIGINALS_WAIT), int(Reason.NO_SLOT_IN_TARGET)


@rule
def free_for_copies(free: int, target: int, originals: int, copies: int) -> int:
    """Free slots that copies may take: all, unless originals have a share of their own (`originals`, else -1).

    `copies` run or are ordered.

    >>> [free_for_copies(3, target=7, originals=share, copies=1) for share in (-1, 4, 6)]
    [3, 2, 0]
    """
    return free if originals < 0 else min(free, target - originals - copies)


@rule
def starting_originals(waiting: int, originals: int, held: int) -> int:
    """How many waiting originals want a slot now; one beyond their share waits for another original's end.

    >>> [starting_originals(waiting=3, originals=share, held=4) for share in (-1, 5, 4)]
    [3, 1, 0]
    """
    return waiting if originals < 0 else min(max(originals - held, 0), waiting)


@rule
def spare_room(free: int, waiting: int, before_waiting: bool) -> int:
    """Copies that could start now: none while originals wait, unless copies go before them.

    >>> spare_room(2, waiting=0, before_waiting=False), spare_room(2, waiting=1, before_waiting=False)
    (2, 0)
    """
    return 0 if waiting > 0 and not before_waiting else max(free, 0)


@rule
def copy_room(free: int, waiting: int, ordered: int, before_waiting: bool) -> int:
    """Copies that may be ordered: those that could start now, or one that goes before waiting originals.

    That one is queued for the next slot that comes free, if none is free and nothing is ordered.

    >>> copy_room(0, waiting=1, ordered=0, before_waiting=True), copy_room(0, waiting=1, ordered=1, before_waiting=True)
    (1, 0)
    """
    is_queued = waiting > 0 and before_waiting and free == 0 and ordered == 0
    return 1 if is_queued else spare_room(free, waiting, before_waiting)


@rule
def lent_room(room: int, idle: int, cap: int, held: int) -> int:
    """Room for copies of a job whose speculator shares the pool's idle slots out: its own, or all idle ones in its cap.

    `cap` is -1 for none; the job has `held` attempts, ordered ones included.  Units: slots.

    >>> [lent_room(room, idle=2, cap=cap, held=3) for room, cap in ((0, -1), (0, 4), (0, 2), (3, -1))]
    [2, 1, 0, 3]
    """
    return max(room, idle if cap < 0 else min(idle, cap - held))


@rule
def restart_room(free: int, ordered: int) -> int:
    """Attempts that take another's place and may be ordered: each gives a slot back.

    What is free, or one for the next slot that comes free, even beyond the job's target: never less than for copies.

    >>> restart_room(2, ordered=0), restart_room(0, ordered=0), restart_room(0, ordered=1), restart_room(-1, ordered=0)
    (2, 1, 0, 1)
    """
    return 1 if free <= 0 and ordered == 0 else max(free, 0)


@rule
def no_room(waiting: int, before_waiting: bool) -> int:
    """Why a job has no room for a copy, as `Reason`.

    >>> Reason(no_room(waiting=3, before_waiting=False)).label, Reason(no_room(waiting=0, before_waiting=False)).label
    ('originals_wait', 'no_slot_in_target')
    """
    return ORIGINALS_WAIT if waiting > 0 and not before_waiting else NO_SLOT_IN_TARGET
