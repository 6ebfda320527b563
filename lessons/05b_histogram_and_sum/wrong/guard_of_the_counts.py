"""The guard looks at the number of bins, not of pixels."""
# caught by: global
# diagnosis: guard of the bins

from numba import cuda

from kernels.histogram import bin_of


@cuda.jit
def histogram_global(brightness, counts):
    pixel = cuda.grid(1)
    if pixel >= counts.shape[0]:
        return

    cuda.atomic.add(counts, bin_of(brightness[pixel], counts.shape[0]), 1)
