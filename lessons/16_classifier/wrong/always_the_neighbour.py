"""The tree takes from the next thread in each round."""
# caught by: softmax
# diagnosis: upper half

from numba import cuda
from numba.extending import register_jitable

from kernels.classifier.softmax import CLASS_THREADS


@register_jitable
def largest_of_block(shared, value):
    thread = cuda.threadIdx.x
    shared[thread] = value
    active = CLASS_THREADS // 2
    while active > 0:
        cuda.syncthreads()
        if thread < active:
            shared[thread] = max(shared[thread], shared[thread + 1])
        active //= 2
    cuda.syncthreads()
    largest = shared[0]
    # Nobody may use `shared` for something else before all have read.
    cuda.syncthreads()
    return largest
