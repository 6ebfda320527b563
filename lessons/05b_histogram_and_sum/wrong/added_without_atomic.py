"""Counted with +=: of two threads that add to one bin at the same time, one is lost."""
# caught by: global
# diagnosis: race

from numba import cuda

from kernels.histogram import bin_of


@cuda.jit
def histogram_global(brightness, counts):
    pixel = cuda.grid(1)
    if pixel >= brightness.shape[0]:
        return

    counts[bin_of(brightness[pixel], counts.shape[0])] += 1
