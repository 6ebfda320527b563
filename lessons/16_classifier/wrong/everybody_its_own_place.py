"""Each thread returns what lies in its place; only thread 0 has the sum there."""
# caught by: softmax
# diagnosis: place in the tree

from numba import cuda
from numba.extending import register_jitable

from kernels.classifier.softmax import CLASS_THREADS


@register_jitable
def sum_of_block(shared, value):
    thread = cuda.threadIdx.x
    shared[thread] = value
    active = CLASS_THREADS // 2
    while active > 0:
        cuda.syncthreads()
        if thread < active:
            shared[thread] += shared[thread + active]
        active //= 2
    cuda.syncthreads()
    total = shared[thread]
    cuda.syncthreads()
    return total
