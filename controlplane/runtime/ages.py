"""How old can a source's reports be? No older than the source itself, as far as its life has been seen.

A host whose clock or code is wrong may report an attempt of thirty years, and one such sample spoils every estimate
that is made from it. A source's first report may hold earlier events, within a bound; from
then on nothing is older than that report's contents plus the time since. The ages of a queue's applications are left as
they are: they only say which was submitted first.
"""

from msgspec.structs import replace

from controlplane.model.facts import AnyFact, AttemptEnded, Progress

ON_ITS_WAY_S = 60.0
"""The first report may have been sent this long before it arrived, so later facts may be older than it by that much."""


def oldest_ms(facts: list[AnyFact]) -> int:
    """How long before its sending the oldest thing in a report began."""
    return max(map(_began_ms, facts), default=0)


def believable(facts: list[AnyFact], progress: Progress, life_ms: int) -> tuple[list[AnyFact], Progress, int]:
    """The same report with nothing older than `life_ms`, and how many ages were too large."""
    n_bounded = 0
    if oldest_ms(facts) > life_ms:
        n_bounded += sum(_began_ms(fact) > life_ms for fact in facts)
        facts = [fact if _began_ms(fact) <= life_ms else _bounded(fact, life_ms) for fact in facts]
    if progress.age_ms and max(progress.age_ms) > life_ms:
        n_bounded += sum(age_ms > life_ms for age_ms in progress.age_ms)
        progress = replace(progress, age_ms=[min(age_ms, life_ms) for age_ms in progress.age_ms])
    return facts, progress, n_bounded


def _began_ms(fact: AnyFact) -> int:
    age_ms: int = getattr(fact, "age_ms", 0)
    return age_ms + max(fact.duration_ms, fact.run_ms) if type(fact) is AttemptEnded else age_ms


def _bounded(fact: AnyFact, life_ms: int) -> AnyFact:
    """The fact, no older than that; an ended attempt lasted no longer than the rest."""
    age_ms = min(getattr(fact, "age_ms", 0), life_ms)
    if type(fact) is not AttemptEnded:
        return replace(fact, age_ms=age_ms)
    duration_ms = min(fact.duration_ms, life_ms - age_ms)
    return replace(fact, age_ms=age_ms, duration_ms=duration_ms, run_ms=min(fact.run_ms, duration_ms))
