"""The number of pixels that is enough is rounded down."""
# caught by: levels
# diagnosis: rounded down

from numba import cuda, int64


@cuda.jit
def find_levels(running, per_mille, levels):
    bin_number = cuda.grid(1)
    bins = running.shape[0]
    if bin_number >= bins:
        return

    below = running[bin_number - 1] if bin_number > 0 else 0
    for k in range(per_mille.shape[0]):
        wanted = max(1, int64(running[bins - 1]) * per_mille[k] // 1000)
        if below < wanted and wanted <= running[bin_number]:
            levels[k] = bin_number
