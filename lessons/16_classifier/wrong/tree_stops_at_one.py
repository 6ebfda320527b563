"""The last round is missing."""
# caught by: softmax
# diagnosis: tree stops early

from numba import cuda
from numba.extending import register_jitable

from kernels.classifier.softmax import CLASS_THREADS


@register_jitable
def sum_of_block(shared, value):
    thread = cuda.threadIdx.x
    shared[thread] = value
    active = CLASS_THREADS // 2
    while active > 1:
        cuda.syncthreads()
        if thread < active:
            shared[thread] += shared[thread + active]
        active //= 2
    cuda.syncthreads()
    total = shared[0]
    cuda.syncthreads()
    return total
