"""A thread per bin goes over all pixels: no atomics, and nearly all threads have no work."""
# points: 9

from numba import cuda


@cuda.jit
def histogram_global(brightness, counts):
    b = cuda.grid(1)
    if b >= counts.shape[0]:
        return
    n = 0
    for p in range(brightness.shape[0]):
        if bin_of(brightness[p], counts.shape[0]) == b:
            n += 1
    counts[b] += n
