"""Each thread stores a one in its bin."""
# caught by: global
# diagnosis: set to one

from numba import cuda

from kernels.histogram import bin_of


@cuda.jit
def histogram_global(brightness, counts):
    pixel = cuda.grid(1)
    if pixel >= brightness.shape[0]:
        return

    counts[bin_of(brightness[pixel], counts.shape[0])] = 1
