"""Index and value of the atomic addition are exchanged."""
# caught by: global
# diagnosis: index and value exchanged

from numba import cuda

from kernels.histogram import bin_of


@cuda.jit
def histogram_global(brightness, counts):
    pixel = cuda.grid(1)
    if pixel >= brightness.shape[0]:
        return
    cuda.atomic.add(counts, 1, bin_of(brightness[pixel], counts.shape[0]))
