"""Does the decision page say what a copy has brought and cost?"""

import re

import pytest
from msgspec import structs

from controlplane.api.page.decisions import ShownDecision, why
from controlplane.model.decisions import DecisionOutcome, Result
from controlplane.runtime.history import AttemptRecord
from controlplane.store.recent import RecordedDecision
from tests.plane import message, started, working
from tests.store.stored import outcome, record

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("result", "saved_s", "cost_core_s", "sentence"),
    [
        (Result.WON, 4.0, 0.0, "The copy won and saved about 4.0 s (estimate)."),
        (Result.LOST, 0.0, 3.0, "The copy lost the race. It cost 3 core-s."),
        (Result.MOOT, 0.0, 0.0, "It came to nothing."),
        (Result.SHADOW, 4.0, 3.0, "Shadow mode: not ordered. It would have cost 3 core-s and saved 4.0 s (estimate)."),
        (
            Result.SHADOW,
            0.0,
            3.0,
            "Shadow mode: not ordered. It would have cost 3 core-s and saved nothing (estimate).",
        ),
    ],
)
def test_what_a_copy_has_brought_is_told_with_what_it_cost(result, saved_s, cost_core_s, sentence):
    """Who reads in shadow mode what control would save must not miss what it would cost."""
    outcome = DecisionOutcome(decision=1, result=result, at_s=0.0, saved_s=saved_s, cost_core_s=cost_core_s)
    assert ShownDecision.outcome_sentence(outcome) == sentence


def test_what_a_host_has_answered_is_told_in_words():
    """Few readers know the shim's codes; what is none stands as it is."""
    answers = ("no_slot", "bad_field:target", "no word from the host")
    outcomes = [DecisionOutcome(decision=1, result=Result.EXPIRED, at_s=0.0, reason=answer) for answer in answers]
    assert [ShownDecision.outcome_sentence(outcome).partition(": ")[2] for outcome in outcomes] == [
        "no slot came free in time.",
        "the order has a field that the protocol forbids: target.",
        "no word from the host.",
    ]


def test_a_copy_is_told_apart_from_the_attempt_that_it_is_of(plane):
    """The sick host beside a copy that won reads as if the copy had run there."""
    place = {"stage": 1, "stage_attempt": 0, "index": 3}
    launch = record(1, source="spark:app-1", epoch=7, job="job-1", attempt=3, host="host-3", order=5, **place)
    plane.reply(message(1, [*working(), started(9, index=3, host=1, speculative=True, order=5)], full=True))

    def told(*outcomes, **more):
        plane.runtime.store.record([structs.replace(launch, **more)], list(outcomes), 1000.0)
        page = plane.client.get(f"/decisions?job=job-1&action=launch_copy&outcome={outcomes[-1].result}").text
        return " ".join(re.search(r"stage 1 · task 3 ([^<]*)<", page)[1].split())

    won = structs.replace(outcome(1, Result.WON), attempt=9)
    assert told(won) == "attempt on host-3, its copy on host-1"
    assert told(outcome(2, Result.REFUSED), id=2, to_host="host-2") == "attempt on host-3, its copy to host-2"
    assert told(outcome(3, Result.EXPIRED), id=3) == "attempt on host-3"
    assert "<dt>copy on</dt><dd>host-1</dd>" in plane.client.get("/decisions/1").text


def test_the_host_that_was_chosen_is_no_alternative_and_hosts_have_ranks_not_scores():
    """Its 0 stood beside the score of the copy itself, as if that had been worth nothing."""
    considered = [("wait", 0.0), ("copy task 4", 2.5), ("host a", -0.0), ("host b", -1.0)]
    shown = ShownDecision(
        RecordedDecision(record=record(1, to_host="a", alternatives=considered), at_unix_ms=0, outcomes=[])
    )
    assert shown.alternatives == [("wait", "0"), ("copy task 4", "2.5"), ("host b", "choice 2")]


def test_an_attempt_is_explained_by_the_decision_that_launched_it_before_others():
    """Those that came to nothing, and newer ones about the same task, are of less interest."""
    place = {"stage": 1, "stage_attempt": 0, "index": 3, "executor": "1", "host": "h", "start_s": 0.0}
    records = [record(number, order=order) for number, order in ((3, 0), (2, 9), (1, 5))]
    decisions = [ShownDecision(RecordedDecision(record=each, at_unix_ms=0, outcomes=[])) for each in records]

    def told(order):
        attempt = AttemptRecord(attempt=7, attempt_number=1, speculative=True, order=order, **place)
        found = why(attempt, decisions, [], now_s=1.0, sick=False, raced=True)
        return [each.record.order for each in found.decisions]

    assert told(order=5) == [5, 0, 9]
    assert told(order=0) == [0, 9, 5], "and nothing is moved where the host itself launched it"
