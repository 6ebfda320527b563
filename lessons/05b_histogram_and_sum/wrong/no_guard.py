"""No guard: threads beyond the last pixel read outside of the array."""
# caught by: global
# diagnosis: out-of-bounds

from numba import cuda

from kernels.histogram import bin_of


@cuda.jit
def histogram_global(brightness, counts):
    pixel = cuda.grid(1)

    cuda.atomic.add(counts, bin_of(brightness[pixel], counts.shape[0]), 1)
