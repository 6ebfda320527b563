"""The whole shape is passed as the number of bins."""
# caught by: global
# diagnosis: is a tuple

from numba import cuda

from kernels.histogram import bin_of


@cuda.jit
def histogram_global(brightness, counts):
    pixel = cuda.grid(1)
    if pixel >= brightness.shape[0]:
        return
    cuda.atomic.add(counts, bin_of(brightness[pixel], counts.shape), 1)
