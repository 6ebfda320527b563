"""No counts of the block's own: one addition to global memory per pixel."""
# caught by: few_additions
# diagnosis: added pixel by pixel

from numba import cuda

from kernels.histogram import bin_of


@cuda.jit
def histogram_shared(brightness, counts):
    for pixel in range(cuda.grid(1), brightness.shape[0], cuda.gridsize(1)):
        cuda.atomic.add(counts, bin_of(brightness[pixel], counts.shape[0]), 1)
