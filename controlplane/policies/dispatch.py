"""Which kernel does a number stand for? One entry for each axis, so that a loop over many policies is compiled once."""

from controlplane.compiled import kernel
from controlplane.model.columns import Record
from controlplane.policies.baselines.budgeted import budgeted
from controlplane.policies.baselines.fair import fair
from controlplane.policies.baselines.fifo import fifo
from controlplane.policies.baselines.fixed import fixed
from controlplane.policies.baselines.late import late
from controlplane.policies.baselines.mantri import mantri
from controlplane.policies.baselines.none import none
from controlplane.policies.baselines.srpt import srpt
from controlplane.policies.baselines.stock_spark import stock_spark
from controlplane.policies.copy_priority import hold_back
from controlplane.policies.grass.ras import ras
from controlplane.policies.hopper.allocation import hopper
from controlplane.policies.interfaces import Records
from controlplane.policies.redundancy.relaunching import relaunch
from controlplane.policies.redundancy.starting import redundant_all, redundant_small

FIFO, FAIR, SRPT, FIXED, BUDGETED, HOPPER = range(6)
NONE, LATE, MANTRI, STOCK_SPARK, RAS, REDUNDANT_ALL, REDUNDANT_SMALL, RELAUNCH = range(8)


@kernel
def allocate(code: int, slots: int, claimants: Records, settings: Record, answer: Records) -> None:
    """How many slots may each claimant of one pool hold now? Fills in `answer`, shape (n_claimants,)."""
    slots = max(slots, 0)
    answer["target"][:] = 0
    answer["virtual_size"][:] = claimants["remaining_tasks"]
    answer["cap"][:] = -1
    answer["originals"][:] = -1
    if code == FIFO:
        fifo(slots, claimants, settings, answer)
    elif code == FAIR:
        fair(slots, claimants, settings, answer)
    elif code == SRPT:
        srpt(slots, claimants, settings, answer)
    elif code == FIXED:
        fixed(slots, claimants, settings, answer)
    elif code == BUDGETED:
        budgeted(slots, claimants, settings, answer)
    elif code == HOPPER:
        hopper(slots, claimants, settings, answer)


@kernel
def speculate(code: int, tasks: Records, finished: Records, settings: Record, answer: Records) -> None:
    """Which running tasks deserve one more attempt? Fills in `answer`, shape (n_tasks,)."""
    for row in range(len(answer)):
        answer[row]["wanted"] = answer[row]["kill"] = answer[row]["end_last"] = False
        answer[row]["score"] = 0.0
    if code == NONE:
        none(tasks, finished, settings, answer)
    elif code == LATE:
        late(tasks, finished, settings, answer)
        hold_back(tasks, settings["copy_priority"], answer)
    elif code == MANTRI:
        mantri(tasks, finished, settings, answer)
        hold_back(tasks, settings["copy_priority"], answer)
    elif code == STOCK_SPARK:
        stock_spark(tasks, finished, settings, answer)
        hold_back(tasks, settings["copy_priority"], answer)
    elif code == RAS:
        ras(tasks, finished, settings, answer)
        hold_back(tasks, settings["copy_priority"], answer)
    elif code == REDUNDANT_ALL:
        redundant_all(tasks, finished, settings, answer)
    elif code == REDUNDANT_SMALL:
        redundant_small(tasks, finished, settings, answer)
    elif code == RELAUNCH:
        relaunch(tasks, finished, settings, answer)
