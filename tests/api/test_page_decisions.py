"""Does the decision page say what a copy has brought and cost?"""

import pytest

from controlplane.api.page.decisions import ShownDecision, why
from controlplane.model.decisions import DecisionOutcome, Result
from controlplane.runtime.history import AttemptRecord
from controlplane.store.recent import RecordedDecision
from tests.store.stored import record

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
