"""Do drivers hand executors over when others of their queue wait, only then, and only those who can?"""

from dataclasses import replace

import pytest

from controlplane.model import facts as f
from controlplane.model.decisions import ModeSet, TargetSet
from controlplane.model.orders import CapExecutors
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import Action, Reason
from tests.engine.test_applications import DRIVER, MINE, OTHER, QUEUE, Whole
from tests.scenario import SPARK

pytestmark = pytest.mark.unit
CONTROL = EngineSettings(mode=f.Mode.CONTROL, allocator="fixed", drain_executors=True)
ABLE = f.Capabilities(**{name: getattr(SPARK, name) for name in SPARK.__struct_fields__} | {"cap_executors": True})


class Swap(Whole):
    """Two applications in a queue of eight; mine has a driver and a target of two, the other has neither."""

    def __init__(self, settings: EngineSettings = CONTROL, *, capabilities: f.Capabilities = ABLE, **more) -> None:
        super().__init__(settings, capabilities=capabilities, **more)
        self.listed(**{MINE: (6, 2), OTHER: (2, 0)})
        self.handle(TargetSet(source=QUEUE, job=MINE, target=2))

    def caps(self, mine: tuple[int, int], other: tuple[int, int]) -> list[CapExecutors]:
        """What the driver is told when the queue says this of both, as (running, pending)."""
        self.listed(**{MINE: mine, OTHER: other})
        orders = self.decisions[-1].orders.get(DRIVER, [])
        return [order for order in orders if isinstance(order, CapExecutors)]

    def told(self) -> list[tuple[Reason, bool]]:
        """Why, and whether something was ordered, oldest first."""
        return [(each.reason, each.order > 0) for each in self.records() if each.action is Action.CAP_EXECUTORS]


def test_a_driver_above_its_target_lets_executors_go_while_another_waits():
    """And may hold what it likes again once nobody does; each change is recorded once."""
    swap = Swap()
    (cap,) = swap.caps((6, 2), (2, 4))
    assert (cap.executors, cap.ttl_ms) == (2, CONTROL.grant_ttl_ms)
    assert swap.caps((4, 0), (4, 2)) == []
    assert swap.caps((2, 0), (5, 1)) == []
    (lifted,) = swap.caps((2, 0), (6, 0))
    assert lifted.executors is None
    assert swap.told() == [(Reason.ABOVE_ITS_PART, True), (Reason.EXECUTORS_GIVEN_BACK, True)]


def test_it_is_said_again_when_half_of_its_time_is_over_and_not_recorded_again():
    """A lease that runs out while others still wait would give every slot back."""
    swap = Swap()
    swap.caps((6, 2), (2, 4))
    swap.now_s += CONTROL.grant_ttl_ms / 2000
    assert [cap.executors for cap in swap.caps((6, 0), (2, 4))] == [2]
    assert len(swap.told()) == 1


def test_a_larger_target_reaches_the_driver():
    """What grows again while others still wait."""
    swap = Swap()
    swap.caps((6, 2), (2, 4))
    swap.handle(TargetSet(source=QUEUE, job=MINE, target=3))
    assert [cap.executors for cap in swap.caps((6, 0), (2, 4))] == [3]


def test_nobody_gives_up_what_no_other_asks_for():
    """An executor costs seconds to start: an idle slot is worth nothing to anybody."""
    swap = Swap()
    assert swap.caps((6, 2), (2, 0)) == []
    assert swap.told() == []


def test_nobody_gives_up_what_the_other_may_not_have():
    """Whoever holds all of its target gets no more, however much it asks for."""
    swap = Swap()
    swap.handle(TargetSet(source=QUEUE, job=OTHER, target=2))
    assert swap.caps((6, 2), (2, 4)) == []


def test_who_is_not_above_its_target_keeps_all():
    """The queue is short, yet not on its account."""
    swap = Swap()
    assert swap.caps((2, 4), (2, 4)) == []


@pytest.mark.parametrize("most", [4, 0])
def test_a_cap_is_kept_whether_or_not_anybody_waits(most):
    """It is there to keep slots free, perhaps all of them."""
    swap = Swap()
    swap.handle(TargetSet(source=QUEUE, job=MINE, target=2, cap=most))
    assert [cap.executors for cap in swap.caps((6, 2), (2, 0))] == [most]
    swap.now_s += CONTROL.grant_ttl_ms / 2000
    assert [cap.executors for cap in swap.caps((4, 0), (2, 0))] == [most]


def test_static_allocation_is_left_alone_and_said_so_once():
    """Its shim says that it cannot."""
    swap = Swap(capabilities=SPARK)
    assert swap.caps((6, 2), (2, 4)) + swap.caps((6, 1), (2, 4)) + swap.caps((6, 1), (2, 0)) == []
    assert swap.told() == [(Reason.EXECUTORS_FIXED, False)]


def test_what_shadow_only_foresaw_is_recorded_again_when_it_is_ordered():
    """Else the first order has no decision that what came of it could belong to."""
    swap = Swap(replace(CONTROL, mode=f.Mode.SHADOW))
    swap.caps((6, 2), (2, 4))
    swap.handle(ModeSet(mode=f.Mode.CONTROL))
    swap.tell()
    assert [cap.executors for cap in swap.caps((6, 2), (2, 4))] == [2]
    assert swap.told() == [(Reason.ABOVE_ITS_PART, False), (Reason.ABOVE_ITS_PART, True)]


def test_a_queues_own_mode_counts_as_the_drivers_does():
    """Executors were taken from a driver that was in control all along, and no decision said so."""
    swap = Swap()
    swap.handle(ModeSet(mode=f.Mode.SHADOW, source=QUEUE))
    assert swap.caps((6, 2), (2, 4)) == []
    swap.handle(ModeSet(mode=f.Mode.CONTROL, source=QUEUE))
    assert [cap.executors for cap in swap.caps((6, 2), (2, 4))] == [2]
    assert swap.told() == [(Reason.ABOVE_ITS_PART, False), (Reason.ABOVE_ITS_PART, True)]


@pytest.mark.parametrize(
    ("settings", "user_mode", "told"),
    [
        (replace(CONTROL, mode=f.Mode.SHADOW), f.Mode.CONTROL, [(Reason.ABOVE_ITS_PART, False)]),
        (CONTROL, f.Mode.SHADOW, [(Reason.ABOVE_ITS_PART, False)]),
        (replace(CONTROL, mode=f.Mode.OFF), f.Mode.CONTROL, []),
        (replace(CONTROL, drain_executors=False), f.Mode.CONTROL, []),
    ],
)
def test_nothing_is_ordered_without_leave(settings, user_mode, told):
    """Of the server, of the user, and of the operator, who switches it on."""
    swap = Swap(settings, user_mode=user_mode)
    assert swap.caps((6, 2), (2, 4)) == []
    assert swap.told() == told


def test_switching_it_off_gives_back_what_was_taken():
    """A changed setting holds from the next report on."""
    swap = Swap()
    swap.caps((6, 2), (2, 4))
    swap.scheduler.configure(replace(CONTROL, drain_executors=False))
    assert [cap.executors for cap in swap.caps((4, 0), (3, 3))] == [None]


def test_another_users_application_is_not_touched():
    """Its id is all that the driver has in common with it."""
    swap = Swap()
    swap.listed(user="bob", **{MINE: (6, 2), OTHER: (2, 4)})
    assert [order for order in swap.decisions[-1].orders.get(DRIVER, []) if isinstance(order, CapExecutors)] == []


def test_a_driver_that_starts_anew_is_told_again():
    """It holds nothing of what it was told before."""
    swap = Swap()
    swap.caps((6, 2), (2, 4))
    swap.tell([swap.attached, *swap.executors], full=True)
    assert [cap.executors for cap in swap.caps((6, 0), (2, 4))] == [2]


def test_an_empty_queue_asks_nothing_of_anybody():
    """As each is before its first application."""
    swap = Swap()
    swap.listed()
    assert swap.told() == []
