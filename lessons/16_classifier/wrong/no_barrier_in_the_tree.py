"""No barrier between the rounds of the tree."""
# caught by: softmax
# diagnosis: race

from numba import cuda
from numba.extending import register_jitable

from kernels.classifier.softmax import CLASS_THREADS


@register_jitable
def sum_of_block(shared, value):
    thread = cuda.threadIdx.x
    shared[thread] = value
    active = CLASS_THREADS // 2
    while active > 0:
        if thread < active:
            shared[thread] += shared[thread + active]
        active //= 2
    cuda.syncthreads()
    total = shared[0]
    cuda.syncthreads()
    return total
