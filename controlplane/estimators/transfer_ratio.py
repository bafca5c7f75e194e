"""How much must the next stage fetch per unit of work left in this one? Hopper's alpha, by recurring job."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from controlplane.compiled import rule
from controlplane.estimators.stored import NotNegative, Positive, fit

MOST = 16.0
"""Ratios are clipped to between 1 / MOST and MOST times a typical transfer, whatever was reported."""
KEPT_OF_OLD = 0.8
"""Weight left to all earlier stages when one more is seen: about the last five count."""
NAMES_KEPT = 1000


class Output(Struct):
    """Decayed sums over the stages of one kind."""

    shuffled_bytes: NotNegative = 0.0
    work_s: Positive = 0.0

    def add(self, shuffled_bytes: float, work_s: float, kept_of_old: float) -> None:
        """One more finished stage."""
        self.shuffled_bytes = kept_of_old * self.shuffled_bytes + shuffled_bytes
        self.work_s = kept_of_old * self.work_s + work_s

    @property
    def bytes_per_work_s(self) -> float:
        """Bytes left for the next stage by a slot-second of work."""
        return self.shuffled_bytes / self.work_s


@rule
def transfer_ratio(transfer_bytes: float, work_s: float, typical_bytes_per_work_s: float) -> float:
    """Remaining downstream transfer over remaining upstream work.  Units: slot-seconds per slot-second.

    Bytes become slot-seconds at the rate at which a typical stage produces them. The network's rate is not
    known, and a constant factor would only set stages that feed another against those that feed none, which
    count 1.
    Source: Hopper (SIGCOMM'15), section 4.2.

    >>> transfer_ratio(transfer_bytes=4e6, work_s=10.0, typical_bytes_per_work_s=1e5)
    4.0
    """
    most_bytes = MOST * typical_bytes_per_work_s * work_s
    if most_bytes <= 0:
        return 1.0
    return max(MOST * min(transfer_bytes / most_bytes, 1.0), 1.0 / MOST)


class TransferRatios:
    """Learns how much stages write for the next, by job and stage name, else by stage name; `NAMES_KEPT` of each."""

    def __init__(self) -> None:
        self._recurring: dict[str, Output] = {}
        self._classes: dict[str, Output] = {}
        self._typical = Output()

    def observe(self, job_name: str, stage_name: str, shuffled_bytes: float, work_s: float) -> None:
        """Learn from an ended stage that feeds another, by its slot-seconds; -1 bytes teach nothing."""
        if shuffled_bytes < 0 or not work_s > 0:
            return
        for table, key in ((self._recurring, _key(job_name, stage_name)), (self._classes, stage_name)):
            output = table.pop(key, None) or Output()
            output.add(shuffled_bytes, work_s, KEPT_OF_OLD)
            table[key] = output
            if len(table) > NAMES_KEPT:
                del table[next(iter(table))]
        self._typical.add(shuffled_bytes, work_s, KEPT_OF_OLD ** (1 / 10))

    def estimate(self, job_name: str, stage_name: str, remaining_work_s: float, shuffled_bytes: float = 0.0) -> float:
        """Transfer ratio of a running stage that feeds another; 1 if nothing like it has been seen."""
        to_fetch_bytes = self.to_fetch_bytes(job_name, stage_name, remaining_work_s, shuffled_bytes)
        return self.ratio(to_fetch_bytes, remaining_work_s)

    def known(self, job_name: str, stage_name: str) -> Output | None:
        """Output of stages like this one."""
        return self._recurring.get(_key(job_name, stage_name)) or self._classes.get(stage_name)

    def to_fetch_bytes(self, job_name: str, stage_name: str, remaining_work_s: float, shuffled_bytes: float) -> float:
        """Bytes that the next stage still has to fetch; those of a typical stage if nothing like it has been seen.

        What its finished tasks have written, `shuffled_bytes`, still has to be fetched and counts as well.
        """
        known = self.known(job_name, stage_name)
        if known is None:
            return self.typical_bytes_per_work_s * remaining_work_s
        return max(shuffled_bytes, 0.0) + known.bytes_per_work_s * remaining_work_s

    def ratio(self, transfer_bytes: float, work_s: float) -> float:
        """Bytes to fetch over work left, both perhaps of several stages; 1 while nothing has been seen."""
        typical = self.typical_bytes_per_work_s
        return transfer_ratio(transfer_bytes=transfer_bytes, work_s=work_s, typical_bytes_per_work_s=typical)

    @property
    def typical_bytes_per_work_s(self) -> float:
        """Typical output of a stage that feeds another; 0 while none has been seen."""
        return self._typical.bytes_per_work_s if self._typical.work_s else 0.0

    def dump(self) -> dict[str, Any]:
        """JSON-able state, least recently learned first."""
        return {
            "recurring": msgspec.to_builtins(self._recurring),
            "classes": msgspec.to_builtins(self._classes),
            "all": {"typical": msgspec.to_builtins(self._typical)} if self._typical.work_s else {},
        }

    def load(self, state: Mapping[str, Any]) -> list[str]:
        """Recall the output of `dump`, below what was learned since; returns the unusable parts."""
        recurring, left_out = fit(state.get("recurring", {}), Output)
        classes, more = fit(state.get("classes", {}), Output)
        every, most = fit(state.get("all", {}), Output)
        self._recurring = recurring | self._recurring
        self._classes = classes | self._classes
        if not self._typical.work_s:
            self._typical = every.get("typical", self._typical)
        return left_out + more + most


def _key(job_name: str, stage_name: str) -> str:
    return f"{job_name}\n{stage_name}"
