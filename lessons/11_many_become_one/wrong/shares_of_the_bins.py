"""The shares are taken of the number of bins."""
# caught by: levels
# diagnosis: bins counted, not pixels

from numba import cuda, int64
from numba.extending import register_jitable


@register_jitable
def enough(pixels, share, total):
    return pixels > 0 and int64(pixels) * 1000 >= int64(share) * int64(total)


@cuda.jit
def find_levels(running, per_mille, levels):
    i = cuda.grid(1)
    bins = running.shape[0]
    if i >= bins:
        return
    total = bins
    for k in range(per_mille.shape[0]):
        if enough(running[i], per_mille[k], total):
            if i == 0 or not enough(running[i - 1], per_mille[k], total):
                levels[k] = i
