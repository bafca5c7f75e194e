"""Does a source that sends much wait for itself alone? By a clock that is only a number."""

import asyncio

import pytest

from controlplane.model.decisions import ModeSet, Report
from controlplane.model.facts import DriverAttached, JobSubmitted, Mode, Progress
from controlplane.runtime.fair_queue import FairQueue, Message, cost_of
from controlplane.runtime.parameters import RuntimeSettings
from controlplane.runtime.sources import Busy, Sources
from controlplane.wire.envelope import Source, SyncRequest

pytestmark = pytest.mark.unit

WISH = ModeSet(mode=Mode.OFF, source="", reason="a test")


class Queue(FairQueue):
    """A queue with its sources, whose messages cost what the test says."""

    def __init__(self, **settings):
        self.sources = Sources(RuntimeSettings(**settings))
        self.numbers = dict[str, int]()
        super().__init__(RuntimeSettings(**settings), self.sources)

    def send(self, name, cost, *, epoch=1):
        """A message of a source, which is charged for it; its number counts what the source has sent."""
        number = self.numbers[name] = self.numbers.get(name, 0) + 1
        request = SyncRequest(protocol=1, source=Source("spark", name, epoch), sequence=number, full=True)
        source, _ = self.sources.receive(request, 0.0)
        self.sources.charge(source, cost, 0.0)
        report = Report(source=name, epoch=epoch, received_s=number, facts=[])
        self.add(Message(report, None, source, cost))
        return source

    def wish(self):
        """What an operator wants."""
        self.add(Message(WISH, None))

    def taken(self, now_s=0.0):
        """What a cycle takes: a source's name and the message's number, or "wish"."""
        stimuli = [message.stimulus for message in self.take(now_s)]
        return ["wish" if each is WISH else f"{each.source} {each.received_s:g}" for each in stimuli]


def test_what_fits_into_a_cycle_is_taken_as_it_came():
    """Whoever has sent much, too: nobody has to wait for it."""
    queue = Queue(cycle_facts=100)
    for name, cost in (("noisy", 60), ("quiet", 1), ("noisy", 39)):
        queue.send(name, cost)
    assert queue.taken() == ["noisy 1", "quiet 1", "noisy 2"]
    assert queue.taken() == []
    queue.send("noisy", 60)
    queue.send("quiet", 1)
    assert queue.taken() == ["noisy 3", "quiet 2"]


def test_a_noisy_source_makes_only_itself_wait():
    """It came first; the next cycle takes what is left."""
    queue = Queue(cycle_facts=100)
    queue.send("noisy", 90)
    for n in range(5):
        queue.send(f"quiet-{n}", 10)
    assert queue.taken() == [f"quiet-{n} 1" for n in range(5)]
    assert queue.taken() == ["noisy 1"]


def test_what_a_source_sent_in_earlier_cycles_counts():
    queue = Queue(cycle_facts=100)
    queue.send("noisy", 100)
    assert queue.taken() == ["noisy 1"]
    queue.send("noisy", 60)
    queue.send("quiet", 70)
    assert queue.taken() == ["quiet 1"]
    assert queue.taken() == ["noisy 2"]


def test_messages_of_a_source_stay_in_order():
    """The second would fit beside the other source's; the first does not, so both wait."""
    queue = Queue(cycle_facts=100)
    queue.send("noisy", 95)
    queue.send("noisy", 5)
    queue.send("quiet", 30)
    assert queue.taken() == ["quiet 1"]
    assert queue.taken() == ["noisy 1", "noisy 2"]


def test_messages_of_a_source_that_begins_anew_stay_in_order():
    queue = Queue(cycle_facts=100)
    queue.send("app", 95)
    queue.send("app", 5, epoch=2)
    queue.send("quiet", 30)
    assert queue.taken() == ["quiet 1"]
    assert queue.taken() == ["app 1", "app 2"]


def test_a_wish_of_an_operator_waits_for_nobody():
    queue = Queue(cycle_facts=100)
    queue.send("one", 70)
    queue.send("two", 70)
    queue.wish()
    assert queue.taken() == ["wish", "one 1"]


def test_a_large_message_takes_the_last_room_of_a_cycle():
    """It begins its turn while there is any, and so comes with what left it that much; without any, it waits."""
    queue = Queue(cycle_facts=100)
    queue.send("small", 99)
    queue.send("large", 120)
    assert queue.taken() == ["small 1", "large 1"]
    queue.send("whole", 100)
    queue.send("large", 120)
    assert queue.taken() == ["whole 1"]
    assert queue.taken() == ["large 2"]


def test_after_a_large_message_others_have_four_times_as_long():
    """A cycle of 50 ms from 10 s on: the next large message has its turn at 10.25 s, and small ones go on."""
    queue = Queue(cycle_facts=100)
    queue.send("first", 120)
    queue.send("second", 120)
    assert queue.taken(10.0) == ["first 1"], "one in a cycle"
    queue.rest(10.0, 0.05)
    queue.send("small", 10)
    assert queue.taken(10.1) == ["small 1"]
    queue.rest(10.1, 0.5)
    assert queue.taken(10.24) == []
    queue.rest(10.24, 0.5)
    assert queue.taken(10.2501) == ["second 1"], "a cycle without a large message puts off none"
    assert len(queue) == 0


def test_reports_beyond_the_bound_are_refused_and_wishes_are_not():
    queue = Queue(queue_reports=2)
    queue.send("one", 1)
    queue.check_room()
    queue.wish()
    with pytest.raises(Busy, match="the queue of reports is at its limit of 2"):
        queue.check_room()
    queue.wish()
    assert len(queue) == 3
    queue.taken()
    queue.check_room()


def test_a_source_knows_how_many_of_its_messages_wait():
    """Whoever began anew meanwhile still has those from before: no more of them may come."""
    queue = Queue(cycle_facts=100)
    before = queue.send("app", 60)
    after = queue.send("app", 60, epoch=2)
    assert (before is after, after.waiting) == (False, 2)
    queue.taken()
    assert after.waiting == 1
    queue.taken()
    assert after.waiting == 0


def test_everybody_waits_once_there_are_as_many_messages_as_sources():
    queue = Queue()
    queue.send("one", 1)
    assert queue.everybody_waits
    queue.send("two", 1)
    queue.taken()
    queue.send("one", 1)
    assert not queue.everybody_waits
    queue.send("two", 1)
    assert queue.everybody_waits


def test_a_report_costs_its_facts_its_lists_and_a_fiftieth_of_its_updates():
    listed = JobSubmitted(job="job", host_ids=list(range(100)))
    facts, updates = [DriverAttached(application="app"), listed], Progress(attempt=list(range(25)))
    request = SyncRequest(protocol=1, source=Source("spark", "app", 1), sequence=1, facts=facts, progress=updates)
    plain = SyncRequest(protocol=1, source=Source("spark", "app", 1), sequence=1, facts=[listed])
    assert cost_of(request) == cost_of(plain) + 1 + 0.5
    assert cost_of(plain) > 1


def test_nobody_waits_for_a_queue_that_is_given_up():
    async def scenario():
        queue, done = Queue(), asyncio.get_running_loop().create_future()
        queue.add(Message(WISH, done))
        queue.cancel()
        assert done.cancelled()

    asyncio.run(scenario())


def test_after_a_very_long_cycle_large_messages_rest_for_ten_seconds():
    """A hostile message that took minutes would keep honest large ones waiting four times as long."""
    queue = Queue(cycle_facts=100)
    queue.send("hostile", 200)
    assert queue.taken() == ["hostile 1"]
    queue.rest(0.0, 120.0)
    queue.send("honest", 200)
    assert queue.taken(129.9) == []
    assert queue.taken(130.0) == ["honest 1"]
