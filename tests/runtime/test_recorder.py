"""Does a recording give the same decisions again, and is it whole as far as it goes, however it ended?"""

import os
import stat
import threading
from dataclasses import replace
from types import SimpleNamespace

import pytest
import structlog
from hypothesis import given, settings

from controlplane.model import facts as f
from controlplane.model.decisions import Report
from controlplane.model.orders import LaunchCopy
from controlplane.model.parameters import EngineSettings
from controlplane.runtime import recorder
from controlplane.runtime.recorder import Begun, Decided, RecordedScheduler, Recorder, Restored, begin
from tests.engine.test_random_stimuli import SAFE, everything, play, stimulus, stories
from tests.plane import Clock, message, running, started, while_another_reports, working
from tests.recording import read, replay
from tests.waiting import eventually

pytestmark = pytest.mark.unit

CONTROL = EngineSettings(mode=f.Mode.CONTROL)
WHY = {"reason": "a test"}
RUNNING = (("full", True), ("start", 1, SAFE, 0, 0, False), ("start", 2, SAFE, 1, 1, False))
"""What the driver of random stories says of two tasks that run."""


def recorded(folder):
    """What control planes with this folder have recorded, oldest first."""
    return sorted(folder.glob("*.recording.gz"))


def is_repeated(path):
    """Whether today's engine decides what a recording says, in at least one cycle."""
    pairs = list(replay(read(path)))
    return bool(pairs) and all(before == now for before, now in pairs)


def put_down(path, *entries):
    whole = Recorder(path, 2**20)
    for entry in entries:
        whole.add(entry)
    whole.close()


@settings(max_examples=60, deadline=None)
@given(story=stories)
def test_the_same_calls_give_the_same_decisions(tmp_path_factory, story):
    """Law 2, whatever drivers and operators say. A cycle that fails by chance is none of it."""
    path = tmp_path_factory.mktemp("story") / "story.gz"
    kept = Recorder(path, 2**30)
    scheduler = RecordedScheduler(CONTROL, order_epoch=7, recorder=kept)
    play(scheduler, [(source, word, pause_s) for source, word, pause_s in story if word != ("broken",)])
    kept.close()
    assert is_repeated(path)


def test_a_control_plane_records_what_steers_its_engine(tmp_path):
    """Settings, choices, what an earlier run has learned, operators' wishes, and sources that fall silent."""
    folder = tmp_path / "recordings"
    for source in ("app-1", "app-3"):
        with running(tmp_path, runtime={"record_to": str(folder)}) as plane:
            plane.reply(message(1, working(), full=True, source=source))
            for method, path, wish in (
                ("patch", "settings", {"engine": {"review_interval_ms": 100}}),
                ("put", f"pools/spark:{source}/policy", {"policy": "srpt+late"}),
                ("put", "mode", {"mode": "shadow", "source": f"spark:{source}"}),
            ):
                answer = getattr(plane.client, method)(f"/api/v1/{path}", json=wish | WHY)
                assert answer.status_code == 200, answer.text
            plane.reply(message(2, [started(9, index=1, host=3, speculative=True)], source=source))
            while_another_reports(plane, 62)
    assert len(recorded(folder)) == 2
    for path in recorded(folder):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert is_repeated(path)
        kinds = {type(entry).__name__ for entry in read(path)}
        assert kinds == {"Begun", "Steered", "Restored", "Called", "Decided", "Forgotten"}
    *_, last = (entry for entry in read(path) if isinstance(entry, recorder.Steered))
    assert last.settings.review_interval_ms == 100
    assert last.policy_of_source == {f"spark:{source}": "srpt+late" for source in ("app-1", "app-3")}
    assert last.mode_of_source == {f"spark:{source}": f.Mode.SHADOW for source in ("app-1", "app-3")}


def test_what_an_earlier_run_has_learned_decides_with_it(tmp_path):
    """The only task of a stage that has a past is copied after 1.4 s; without past it would be after 5.2 s."""
    path = tmp_path / "learned.gz"
    kept = Recorder(path, 2**30)
    scheduler = RecordedScheduler(replace(CONTROL, startup_prior_s=1.0), order_epoch=7, recorder=kept)
    scheduler.restore({"stages": {"stages": {"slow|1|": {"duration_s": 0.1}}}})
    place = {"stage": SAFE, "stage_attempt": 0}
    alone = f.StageSubmitted(job="j", n_tasks=1, kind="shuffle_map", name="slow", **place)
    start = f.AttemptStarted(attempt=1, index=0, executor="e0", host="h0", **place)
    facts = [*everything(whole=False), alone, start]
    scheduler.handle([Report(source="spark:a", epoch=1, received_s=0.0, facts=facts, full=True)], 0.0)
    orders = [scheduler.handle([], step / 5)[0].orders.get("spark:a", []) for step in range(1, 15)]
    kept.close()
    assert sum(isinstance(order, LaunchCopy) for some in orders for order in some) == 1
    assert is_repeated(path)


def test_a_cycle_that_fails_fails_again(tmp_path, monkeypatch):
    """After it the engine has forgotten what runs, and decides as it did."""
    path = tmp_path / "failed.gz"
    kept = Recorder(path, 2**30)
    scheduler = RecordedScheduler(CONTROL, order_epoch=7, recorder=kept)

    def fail(cluster, due, sums, now_s):
        if now_s == 2.0:
            raise ZeroDivisionError

    monkeypatch.setattr("controlplane.engine.seeing.follow_pools", fail)
    scheduler.handle([stimulus("spark:a", word, 1.0) for word in RUNNING], 1.0)
    with pytest.raises(ZeroDivisionError):
        scheduler.handle([], 2.0)
    scheduler.reset(2.0)
    assert not scheduler.handle([], 9.0)[0].orders
    kept.close()
    assert len(list(replay(read(path)))) == 2
    assert is_repeated(path)
    monkeypatch.setattr("controlplane.engine.seeing.follow_pools", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        list(replay(read(path)))


def test_another_engine_is_told_by_its_decisions(tmp_path):
    path = tmp_path / "other.gz"
    kept = Recorder(path, 2**30)
    RecordedScheduler(CONTROL, order_epoch=7, recorder=kept).handle([], 1.0)
    kept.close()
    before, now = next(replay([Begun(order_epoch=8), *list(read(path))[2:]]))
    assert before == now
    ((before, now),) = replay([*list(read(path))[:-1], Decided(decision=before.decision, due_s=9.0)])
    assert before != now


def test_what_was_written_before_a_process_died_is_read(tmp_path):
    """The end of the stream, and half a line, are missing."""
    whole = tmp_path / "whole.gz"
    put_down(whole, *(Restored(learned={"n": n}) for n in range(900)))
    broken = tmp_path / "broken.gz"
    broken.write_bytes(whole.read_bytes()[:-300])
    kept = list(read(broken))
    assert 100 < len(kept) < 900
    assert kept == list(read(whole))[: len(kept)]


def test_what_is_a_second_old_is_read_from_a_recording_that_goes_on(tmp_path, monkeypatch):
    """If the process dies then, no more than that is lost. By a clock on which each entry takes a second."""
    clock, path = Clock(), tmp_path / "on.gz"

    def encode(entry, encode=recorder._encode):
        clock.advance(1.0)
        return encode(entry)

    monkeypatch.setattr(recorder, "time", SimpleNamespace(monotonic=clock))
    monkeypatch.setattr(recorder, "_encode", encode)
    kept = Recorder(path, 2**20)
    for n in (1, 2):
        kept.add(Begun(order_epoch=n))
        eventually(lambda n=n: len(list(read(path))) == n, within_s=10.0)
    kept.close()


def test_a_recording_ends_where_it_is_full_and_stays_readable(tmp_path, monkeypatch):
    """What decides goes on without it."""
    monkeypatch.setattr(recorder, "FLUSH_S", 0.0)
    path = tmp_path / "full.gz"
    with structlog.testing.capture_logs() as lines:
        kept = Recorder(path, 500)
        for n in range(900):
            kept.add(Restored(learned={"n": n}))
        kept.close()
    assert path.stat().st_size < 600
    assert 3 < len(list(read(path))) < 100
    assert [(line["event"], line["why"]) for line in lines] == [("recording_ended", "it has 500 bytes")]


def test_a_recording_of_exactly_its_bytes_is_full(tmp_path):
    """The end of the file takes a few more: an empty block, a checksum and the length."""
    path, most_bytes = tmp_path / "full.gz", 1
    for _ in range(2):
        kept = Recorder(path, most_bytes)
        for n in range(2):
            kept.add(Restored(learned={"n": n}))
        kept.close()
        assert len(list(read(path))) == 1
        most_bytes = path.stat().st_size - 10
        path.unlink()


def test_a_disk_that_fails_ends_only_the_recording(tmp_path, monkeypatch):
    """Full in the middle, or without room for a file at all."""
    full = os.open("/dev/full", os.O_WRONLY)
    with structlog.testing.capture_logs() as lines:
        with monkeypatch.context() as patch:
            patch.setattr(recorder.os, "open", lambda *_: full)
            kept = Recorder(tmp_path / "full.gz", 2**20)
        kept.add(Begun(order_epoch=7))
        kept.close()
        (tmp_path / "file").touch()
        assert begin(tmp_path / "file", "1", 2**20) is None
    assert [(line["event"], line["log_level"]) for line in lines] == [
        ("recording_ended", "warning"),
        ("not_recording", "error"),
    ]


def test_a_disk_that_stands_still_holds_nobody_up(tmp_path, monkeypatch):
    """A thousand entries wait to be written, besides the one that is; no more."""
    goes_on = threading.Event()
    monkeypatch.setattr(recorder, "_encode", lambda _: goes_on.wait(60) and b"{}")
    kept = Recorder(tmp_path / "slow.gz", 2**30)
    with structlog.testing.capture_logs() as lines:
        for epoch in range(1000):
            kept.add(Begun(order_epoch=epoch))
        assert not lines
        for epoch in range(2):
            kept.add(Begun(order_epoch=epoch))
    assert [line["why"] for line in lines] == ["the disk is too slow"]
    goes_on.set()
    kept.close()


def test_the_newest_recordings_of_a_folder_are_kept(tmp_path):
    """And whatever somebody has given another name."""
    (tmp_path / "a-case.recording.gz").touch()
    for run in range(recorder.KEPT + 2):
        begin(tmp_path, str(1_795_000_000_000 + run), 2**20).close()
    kept = [str(1_795_000_000_002 + n) for n in range(recorder.KEPT)]
    assert [path.name.partition(".")[0] for path in recorded(tmp_path)] == [*kept, "a-case"]
