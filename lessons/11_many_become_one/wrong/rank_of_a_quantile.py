"""The pixel of rank per_mille of (pixels - 1), rounded down, is looked for."""
# caught by: levels
# diagnosis: (pixels - 1) / 1000, rounded down, counted from 0

from numba import cuda, int64
from numba.extending import register_jitable


@register_jitable
def rank_for(pixels, per_mille):
    return int64(per_mille) * (pixels - 1) // 1000


@cuda.jit
def find_levels(running, per_mille, levels):
    bin_ = cuda.grid(1)
    if bin_ >= running.shape[0]:
        return
    pixels = int64(running[running.shape[0] - 1])
    first_rank = int64(running[bin_ - 1]) if bin_ > 0 else int64(0)
    end_rank = int64(running[bin_])

    for k in range(levels.shape[0]):
        rank = rank_for(pixels, per_mille[k])
        if first_rank <= rank and rank < end_rank:
            levels[k] = bin_
