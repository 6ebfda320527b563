"""threadIdx counts within a block: every block counts the pixels of the first."""
# caught by: global
# diagnosis: first block again

from numba import cuda

from kernels.histogram import bin_of


@cuda.jit
def histogram_global(brightness, counts):
    pixel = cuda.threadIdx.x
    if pixel >= brightness.shape[0]:
        return

    cuda.atomic.add(counts, bin_of(brightness[pixel], counts.shape[0]), 1)
