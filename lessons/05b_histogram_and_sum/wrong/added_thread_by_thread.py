"""Each thread adds its own sum to the total: no tree."""
# caught by: one_addition
# diagnosis: added by many threads

from numba import cuda, float32


@cuda.jit
def sum_tree(values, total):
    own_sum = float32(0)
    for i in range(cuda.grid(1), values.shape[0], cuda.gridsize(1)):
        own_sum += values[i]
    cuda.atomic.add(total, 0, own_sum)
