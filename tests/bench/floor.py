"""How long would memory alone take? One compiled pass over so many bytes: each is read and written once."""

import time

import numpy as np

from controlplane.compiled import kernel
from controlplane.model.columns import Ints

BATCHES, PASSES = 9, 20
WORD_BYTES = 8


def floor_ms(n_bytes: int) -> float:
    """Processor time of one pass over `n_bytes`: the median batch's, divided by its passes."""
    words = np.zeros(n_bytes // WORD_BYTES, dtype=np.int64)
    touch(words, 1)
    taken_ms = []
    for _ in range(BATCHES):
        started_s = time.process_time()
        for step in range(PASSES):
            touch(words, step)
        taken_ms.append((time.process_time() - started_s) * 1000 / PASSES)
    return float(np.median(taken_ms))


@kernel
def touch(words: Ints, step: int) -> None:
    """Read and write every word once."""
    for place in range(len(words)):
        words[place] += step
