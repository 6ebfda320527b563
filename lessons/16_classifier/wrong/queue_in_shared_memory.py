"""No tree: 32 threads add to one number."""
# caught by: one_block_per_row
# diagnosis: a queue, not a tree

from numba import cuda, float32
from numba.extending import register_jitable


@register_jitable
def sum_of_block(shared, value):
    thread = cuda.threadIdx.x
    if thread == 0:
        shared[0] = float32(0)
    cuda.syncthreads()
    cuda.atomic.add(shared, 0, value)
    cuda.syncthreads()
    total = shared[0]
    cuda.syncthreads()
    return total
