"""The first bin is left out, as there is none before it."""
# caught by: levels
# diagnosis: never the first bin

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
    total = running[bins - 1]
    for k in range(per_mille.shape[0]):
        if enough(running[i], per_mille[k], total):
            if i > 0 and not enough(running[i - 1], per_mille[k], total):
                levels[k] = i
