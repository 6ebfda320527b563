"""All threads of a block add atomically to one number in shared memory."""
# caught by: one_addition
# diagnosis: a queue, not a tree

from numba import cuda, float32


@cuda.jit
def sum_tree(values, total):
    together = cuda.shared.array(1, float32)
    if cuda.threadIdx.x == 0:
        together[0] = float32(0)
    cuda.syncthreads()
    own_sum = float32(0)
    for i in range(cuda.grid(1), values.shape[0], cuda.gridsize(1)):
        own_sum += values[i]
    cuda.atomic.add(together, 0, own_sum)
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(total, 0, together[0])
