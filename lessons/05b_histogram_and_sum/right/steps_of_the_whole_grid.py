"""All histograms go over the pixels in steps of the grid; indices are unsigned."""

from numba import cuda, uint32

from kernels.histogram import bin_of


@cuda.jit
def histogram_global(brightness, counts):
    first, step = uint32(cuda.grid(1)), uint32(cuda.gridsize(1))
    for pixel in range(first, brightness.size, step):
        cuda.atomic.add(counts, bin_of(brightness[pixel], counts.size), 1)
