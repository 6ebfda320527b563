"""In a tree of steps that double, twice as many threads add as should."""
# caught by: sum_tree
# diagnosis: those are read, and nobody writes them

from numba import cuda, float32

from kernels.config import BLOCK_THREADS


@cuda.jit
def sum_tree(values, total):
    sdata = cuda.shared.array(BLOCK_THREADS, float32)
    tid = cuda.threadIdx.x
    my = float32(0)
    for i in range(cuda.grid(1), len(values), cuda.gridsize(1)):
        my += values[i]
    sdata[tid] = my
    cuda.syncthreads()
    step = 1
    while step < BLOCK_THREADS:
        if tid % step == 0 and tid + step < BLOCK_THREADS:
            sdata[tid] += sdata[tid + step]
        cuda.syncthreads()
        step *= 2
    if tid == 0:
        cuda.atomic.add(total, 0, sdata[0])
