"""Which replies would hold a host up for ever if it believed them? One list for Spark and YARN: four made, 36 drawn.

Each claims a lease of three seconds, for a job that nobody has, so that no lease of its own frees the job that is held
up. All else may be absurd: times to live of a day, no slot for anybody, numbers at their limits and beyond, wrong
types, the same order twice.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from typing import Any

import pytest

LEASE_MS = 3000
DAY_MS = 86_400_000
THOUSAND_DAYS_MS = 1000 * DAY_MS
LIMITS = (-1, 0, 1, 2**31, 2**32 + 3, 10**9, 10**9 + 1, 10**12, 2**53, 2**53 + 1, 2**62, 2**63 - 1, 2**63, 1.5)
STRANGE = (None, True, "", "x" * 257, [], {}, [None], [-1], [""])
_ids = itertools.count(2**51)


@dataclass(frozen=True, slots=True)
class Absurd:
    """One such reply, whose name says what it tries; it is made of an honest one."""

    name: str
    seed: int = 0

    def reply(self, honest: dict[str, Any], jobs: list[str], hosts: list[str]) -> dict[str, Any]:
        """The honest reply with orders that take everything from these jobs, and no time at which they would end."""
        orders = [order for job in jobs for order in _grants(job)] + _of_pool(hosts)
        envelope: dict[str, Any] = {}
        match self.name:
            case "no slots for a day":
                orders = orders[:1]
            case "no host for a thousand days":
                orders = [order for order in orders if order["type"] == "avoid_hosts"]
            case "everything beyond its bounds":
                orders = [order | dict.fromkeys(order.keys() - FIXED, 2**62) for order in orders]
            case "everything at once, and the next exchange in eleven days":
                envelope = {"next_interval_ms": 10**9, "cycle": 2**53}
            case _:
                orders, envelope = self._drawn(orders)
        claims = [{"job": "nobody's", "lease_ms": LEASE_MS}]
        return honest | envelope | {"orders": [{"order": next(_ids)} | order for order in orders], "claims": claims}

    def _drawn(self, orders: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        draw = random.Random(self.seed)
        drawn = [dict(draw.choice(orders)) for _ in range(draw.randint(1, 6))]
        for order in drawn:
            for field in sorted(order.keys() - FIXED):
                if draw.random() < 0.3:
                    order[field] = draw.choice(LIMITS + STRANGE)
        drawn += [draw.choice(drawn) | {"order": next(_ids)}] * 2
        intervals = draw.choice([{}, {"next_interval_ms": 0}, {"next_interval_ms": 10**9}, {"cycle": 2**53}])
        return drawn, intervals


FIXED = {"type", "order", "job"}
"""Fields that an order keeps, so that it is about something that is there."""
ABSURD = [
    Absurd("no slots for a day"),
    Absurd("everything beyond its bounds"),
    Absurd("no host for a thousand days"),
    Absurd("everything at once, and the next exchange in eleven days"),
    *(Absurd(f"drawn from seed {seed}", seed) for seed in range(1, 37)),
]


def absurd_replies(*, quick: int, count: int = len(ABSURD)) -> list[Any]:
    """The first of them as a test's parameters; `make test` tries no more than the first few."""
    return [
        pytest.param(absurd, marks=() if i < quick else pytest.mark.full, id=absurd.name.replace(" ", "-"))
        for i, absurd in enumerate(ABSURD[:count])
    ]


def _grants(job: str) -> list[dict[str, Any]]:
    grant = {"type": "container_grant", "ttl_ms": DAY_MS, "job": job, "target": 0}
    return [grant | {"cap": 0}, grant | {"originals": 0}]


def _of_pool(hosts: list[str]) -> list[dict[str, Any]]:
    avoid = {"patience_ms": THOUSAND_DAYS_MS, "hosts": hosts, "waves": [10**9] * len(hosts)}
    return [
        {"type": "avoid_hosts", "ttl_ms": THOUSAND_DAYS_MS, **avoid},
        {"type": "cap_executors", "ttl_ms": DAY_MS, "executors": 0},
        {"type": "run_next", "ttl_ms": DAY_MS, "stage": 0, "stage_attempt": 0, "indices": [2**32, 0]},
    ]
