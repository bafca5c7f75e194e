"""Which hosts count as slow, or as sick, and by what evidence? Attempts that have ended, and those that run."""

import pytest

from controlplane.model import facts as f
from controlplane.model.cluster import KEPT_AFTER_CLOSE_S
from controlplane.model.decisions import Report
from tests.scenario import SOURCE, Scenario

pytestmark = pytest.mark.unit


def test_a_host_is_compared_with_the_others_also_by_what_has_ended():
    """Four times slower is sick, however many of a stage's tasks have ended there."""
    scenario = Scenario(hosts=2, slots=20)
    scenario.stage(40, input_bytes=1000)
    scenario.start_all(40)
    scenario.now_s = 4.0
    scenario.tell([scenario.ended(i, (1.0, 4.0)[i % 2], bytes_read=1000) for i in range(40)])
    slowness = {host.host: host.slowness for host in scenario.scheduler.hosts(scenario.now_s)}
    assert slowness["h1"] == pytest.approx(4.0, rel=0.2)
    assert slowness["h0"] == pytest.approx(0.25, rel=0.2)
    assert scenario.sick_hosts() == {"h1"}


def test_a_host_whose_attempts_never_begin_to_read_becomes_sick():
    """Without progress there is no rate to compare; that they should long have begun is evidence enough."""
    scenario = Scenario()
    scenario.stage(8, input_bytes=10_000)
    scenario.start_all(8)
    for step in range(1, 90):
        scenario.now_s = step / 10
        scenario.tell(progress={i: 300 * step for i in range(8) if i % 4 != 2})
    assert scenario.sick_hosts() == {"h2"}


def test_first_attempts_on_executors_are_compared_with_first_ones():
    """They start for long. Where nothing is read, only time is compared; a host that joins late is no slower."""
    scenario = Scenario()
    scenario.stage(32)
    for wave in range(4):
        attempts = [i for i in range(8 * wave, 8 * wave + 8) if i % 4 < 3 or wave == 3]
        scenario.tell([scenario.started(i, i % 4) for i in attempts])
        scenario.now_s += 2.0
        took_s = {i: 2.0 if wave == 3 * (i % 4 == 3) else 0.1 for i in attempts}
        scenario.tell([scenario.ended(i, took_s[i]) for i in attempts])
    assert scenario.sick_hosts() == set()


def test_equal_hosts_are_never_sick_however_long_attempts_take_to_start():
    """Start-up is not slowness: left in on one side of the comparison only, it would condemn every host."""
    scenario = Scenario()
    scenario.stage(200, input_bytes=1000)
    for wave in range(25):
        begin_s, attempts = scenario.now_s, range(wave * 8, wave * 8 + 8)
        scenario.tell([scenario.started(i, i % 4) for i in attempts])
        scenario.now_s = begin_s + 0.5
        scenario.tell(progress=dict.fromkeys(attempts, 10))
        scenario.now_s = begin_s + 1.0
        scenario.tell([scenario.ended(i, 1.0, bytes_read=1000) for i in attempts])
    assert scenario.sick_hosts() == set()


def test_a_host_that_gets_the_small_rest_of_each_file_is_not_sick():
    """Seven bytes take as long to open as a thousand: such a task does not show what a byte costs."""
    scenario = Scenario()
    for stage in range(4):
        scenario.stage(4, stage=stage, input_bytes=[1000, 1000, 1000, 7])
        begin_s, attempts = scenario.now_s, range(4 * stage, 4 * stage + 4)
        scenario.tell([scenario.started(i, i % 4, index=i % 4, stage=stage) for i in attempts])
        for seconds in (0.5, 1.0):
            scenario.now_s = begin_s + seconds
            scenario.tell(progress={i: 7 if i % 4 == 3 else round(1000 * seconds) for i in attempts})
        ended = [
            scenario.ended(i, 1.0, index=i % 4, stage=stage, bytes_read=7 if i % 4 == 3 else 1000) for i in attempts
        ]
        scenario.tell(ended)
    assert scenario.sick_hosts() == set()
    assert [host.slowness for host in scenario.scheduler.hosts(scenario.now_s)] == pytest.approx([1.0] * 4, abs=0.1)


def test_a_host_that_starts_late_is_not_sick_when_it_begins_to_read():
    """Start-up is part of the rate that its first report shows."""
    scenario = Scenario(hosts=2)
    scenario.stage(4, input_bytes=1000)
    scenario.start_all(4)
    for step in range(1, 30):
        scenario.now_s = step / 10
        read = {i: round(20 * (step - 2 - 10 * (i % 2))) for i in range(4)}
        scenario.tell(progress={i: n for i, n in read.items() if 0 < n <= 1000})
        assert scenario.sick_hosts() == set()


def test_hosts_whose_attempts_tell_records_only_are_not_compared_by_bytes():
    """Where a file system counts no bytes, a stage's costs are per record; beside them any cost per byte looks tiny."""
    scenario = Scenario()
    scenario.stage(8, input_bytes=1000)
    scenario.start_all(8)
    scenario.now_s = 1.0
    seen = f.Progress(attempt=list(range(8)), records_read=[5] * 8)
    scenario.handle(Report(source=SOURCE, epoch=1, received_s=scenario.now_s, facts=[], progress=seen))
    scenario.now_s = 2.0
    for index in range(8):
        scenario.tell([scenario.ended(index, 2.0, records_read=10)])
    for host in scenario.scheduler.snapshot(scenario.now_s).hosts:
        assert host.slowness == pytest.approx(1.0, abs=0.1)


def test_attempts_are_compared_by_time_only_with_those_that_are_compared_by_time():
    """Seconds beside seconds per byte: the task of unknown size would look a thousand times slower."""
    scenario = Scenario(hosts=2)
    scenario.stage(2, input_bytes=[1000, 0])
    scenario.start_all(2)
    scenario.now_s = 1.0
    scenario.tell([scenario.ended(0, 1.0, bytes_read=1000), scenario.ended(1, 1.0)])
    assert [host.slowness for host in scenario.scheduler.hosts(scenario.now_s)] == [1.0, 1.0]


def test_no_attempt_is_compared_with_those_of_a_stage_that_had_its_row():
    """A stage of long tasks on one host must not make it slow beside a stage of short ones that is long over."""
    scenario = Scenario(hosts=2)
    for stage, seconds in enumerate((1.0, 8.0)):
        scenario.stage(1, stage=stage)
        assert scenario.scheduler.cluster.sources[SOURCE].stages == {(stage, 0): 0}
        scenario.tell([scenario.started(stage, stage, index=0, stage=stage)])
        scenario.now_s += seconds
        ended = scenario.ended(stage, seconds, index=0, stage=stage)
        scenario.tell([ended, f.StageEnded(stage=stage, stage_attempt=0), f.JobEnded(job="job")])
        assert [host.slowness for host in scenario.scheduler.hosts(scenario.now_s)] == [1.0, 1.0]
        scenario.now_s += KEPT_AFTER_CLOSE_S + 1
        scenario.tell()


def test_a_small_task_that_runs_tells_its_siblings_nothing():
    """It has read its seven bytes at once, and goes on with what is no reading."""
    scenario = Scenario()
    scenario.stage(4, input_bytes=[1000, 1000, 1000, 7])
    scenario.start_all(4)
    for step in range(1, 9):
        scenario.now_s = step / 10
        scenario.tell(progress={i: 7 if i == 3 else 100 * step for i in range(4)})
    assert scenario.scheduler.cluster.attempts.t_fresh_s[0] == pytest.approx(1.0, abs=0.15)


def test_small_tasks_do_not_make_the_tail_heavy():
    """By the byte they would be a hundred times as long as their siblings."""
    scenario, n = Scenario(slots=5), 20
    for stage in range(8):
        attempts = range(n * stage, n * stage + n)
        scenario.stage(n, stage=stage, input_bytes=[1000] * (n - 1) + [7])
        scenario.tell([scenario.started(i, i % 4, index=i % n, stage=stage) for i in attempts])
        scenario.now_s += 1.0
        read = {i: 7 if i % n == n - 1 else 1000 for i in attempts}
        scenario.tell([scenario.ended(i, 1.0, index=i % n, stage=stage, bytes_read=read[i]) for i in attempts])
    scenario.now_s += 2.0
    scenario.tell()
    assert scenario.scheduler.cluster.pools.tail_index[0] > 1.5, "the prior"


def test_a_host_stays_sick_when_its_late_attempts_begin_to_read():
    """Their rates are not believed yet; until then what was known of them counts."""
    scenario = Scenario(foretold_error=0.3)
    scenario.stage(8, input_bytes=10_000)
    scenario.start_all(8)
    for step in range(1, 95):
        scenario.now_s = step / 10
        begun = 8 if step > 90 else 0
        scenario.tell(progress={i: 300 * (begun or step) for i in range(8) if begun or i % 4 != 2})
    assert scenario.sick_hosts() == {"h2"}


def test_a_late_start_counts_by_the_whole_time_of_an_attempt():
    """Tasks start for two seconds and read for a tenth of one: half a second more is no tenfold slowness."""
    scenario = Scenario(slots=4)
    for stage, late in enumerate([set(), {2, 6, 10, 14}]):
        scenario.stage(16, stage=stage, input_bytes=1000)
        first, begin_s, soon = 16 * stage, scenario.now_s, set(range(16)) - late
        scenario.tell([scenario.started(first + i, i % 4, index=i, stage=stage) for i in range(16)])
        scenario.now_s = begin_s + 2.0
        scenario.tell(progress={first + i: 500 for i in soon})
        scenario.now_s = begin_s + 2.1
        scenario.tell([scenario.ended(first + i, 2.1, index=i, stage=stage, bytes_read=1000) for i in soon])
    for _ in range(4):
        scenario.now_s += 0.2
        scenario.tell()
    slowness = {host.host: host.slowness for host in scenario.scheduler.hosts(scenario.now_s)}
    assert slowness["h2"] > 1.25, "it is late by now"
    assert scenario.sick_hosts() == set()
