"""The old count is read, and the new one exchanged for what is there."""
# caught by: global
# diagnosis: the exchange is one step, but without the reading

from numba import cuda

from kernels.histogram import bin_of


@cuda.jit
def histogram_global(brightness, counts):
    me = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if me >= brightness.shape[0]:
        return
    b = bin_of(brightness[me], counts.shape[0])
    old = counts[b]
    cuda.atomic.exch(counts, b, old + 1)
