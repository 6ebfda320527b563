"""The atomic addition is given the new count, not the 1 that is to be added."""
# caught by: global
# diagnosis: only what is to be added, 1

from numba import cuda

from kernels.histogram import bin_of


@cuda.jit
def histogram_global(brightness, counts):
    """Add to counts (bins,) int32 how many of brightness (n,) float32 are in each bin."""
    n = brightness.shape[0]
    bins = counts.shape[0]
    tid = cuda.grid(1)
    if tid < n:
        k = bin_of(brightness[tid], bins)
        new_count = counts[k] + 1
        cuda.atomic.add(counts, k, new_count)
