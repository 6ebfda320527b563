"""The kernel sets counts to zero first, while other blocks count."""
# caught by: global
# diagnosis: leave out the store, if the array is only to be added to

from numba import cuda

from kernels.histogram import bin_of


@cuda.jit
def histogram_global(brightness, counts):
    i = cuda.grid(1)
    if i < counts.size:
        counts[i] = 0
    cuda.syncthreads()
    if i < brightness.size:
        cuda.atomic.add(counts, bin_of(brightness[i], counts.size), 1)
