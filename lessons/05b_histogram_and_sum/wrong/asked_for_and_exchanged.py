"""One atomic asks for the old count, another stores the new one: each is a step of its own."""
# caught by: global
# diagnosis: exchanged later

from numba import cuda

from kernels.histogram import bin_of


@cuda.jit
def histogram_global(brightness, counts):
    me = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if me >= brightness.shape[0]:
        return
    b = bin_of(brightness[me], counts.shape[0])
    old = cuda.atomic.add(counts, b, 0)
    cuda.atomic.exch(counts, b, old + 1)
