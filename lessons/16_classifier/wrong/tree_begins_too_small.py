"""The first round has 8 threads: half of the sums are never added."""
# caught by: softmax
# diagnosis: half of the threads missing

from numba import cuda
from numba.extending import register_jitable

from kernels.classifier.softmax import CLASS_THREADS


@register_jitable
def sum_of_block(shared, value):
    thread = cuda.threadIdx.x
    shared[thread] = value
    active = CLASS_THREADS // 4
    while active > 0:
        cuda.syncthreads()
        if thread < active:
            shared[thread] += shared[thread + active]
        active //= 2
    cuda.syncthreads()
    total = shared[0]
    cuda.syncthreads()
    return total
