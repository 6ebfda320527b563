"""An atomic addition of 0 asks for the old count, and a plain store has old + 1."""
# caught by: global
# diagnosis: does all of it in one step

from numba import cuda

from kernels.histogram import bin_of


@cuda.jit
def histogram_global(brightness, counts):
    me = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if me >= brightness.shape[0]:
        return
    b = bin_of(brightness[me], counts.shape[0])
    old = cuda.atomic.add(counts, b, 0)
    counts[b] = old + 1
