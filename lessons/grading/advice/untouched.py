"""What a kernel has left as it was, of an array that it changes where it lies.

Such an array holds no sentinels: what was not stored has its first value. Where that is so in all
of the end, or in all but the first block, the patterns of what was never written tell why.
"""

import numpy as np

from lessons.grading.advice.comparison import Comparison
from lessons.grading.advice.unwritten import Diagnosis, first_block_only, tail_not_written


def left_as_it_was(initial: np.ndarray, comparison: Comparison) -> Diagnosis | None:
    """A `Diagnosis` if all that is wrong lies behind the last changes along some axis.

    initial: what the array held before. None if something else is wrong, too.
    """
    initial, got = initial.astype(np.float64), comparison.got
    changed = got != initial
    if initial.shape != got.shape or not (changed.any() and comparison.wrong.any()):
        return None
    reached = tuple(slice(0, int(indices.max()) + 1) for indices in np.nonzero(changed))
    behind = np.ones(got.shape, bool)
    behind[reached] = False
    if comparison.wrong[reached].any():
        return None
    as_unwritten = Comparison(
        comparison.expected, np.where(behind, comparison.sentinel, got), comparison.sentinel,
        comparison.tolerance, comparison.threads, comparison.clues,
    )  # fmt: skip
    return first_block_only(as_unwritten) or tail_not_written(as_unwritten)
