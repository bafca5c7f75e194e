"""What do contestants of the matrix come to beside each other? Delays of detection, and times of jobs."""

from __future__ import annotations

from collections.abc import Sequence

from tests.programs.case import STOCK, Case, launched

Found = dict[tuple[str, str, str, int, int], float]
"""Seconds from onset to the first copy, by Spark, program, slowness, stage and task."""


def delays_s(cases: Sequence[Case], contestant: str) -> Found:
    """Of the labelled tasks that a contestant copied; a task is named by its place in the program."""
    return {
        (case.spark, case.program, case.slowness, copy.stage, copy.task): copy.delay_s
        for case in cases
        if case.contestant == contestant
        for copy in reversed(launched(case))
        if copy.delay_s is not None
    }


def beside_stock(cases: Sequence[Case], contestant: str) -> dict[str, tuple[list[float], list[float]]]:
    """Job times of a contestant and those of stock's default speculation, in pairs, by kind of slowness; seconds."""
    stock = {(case.spark, case.program, case.slowness): case.job_s for case in cases if case.contestant == STOCK}
    pairs: dict[str, tuple[list[float], list[float]]] = {}
    for case in cases:
        peer_s = stock.get((case.spark, case.program, case.slowness))
        if case.contestant == contestant and peer_s is not None:
            values, peers = pairs.setdefault(case.slowness, ([], []))
            values.append(case.job_s)
            peers.append(peer_s)
    return dict(sorted(pairs.items()))
