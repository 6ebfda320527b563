"""Each sum is set to zero, and the chunks are then added to it atomically."""
# caught by: two_stages
# diagnosis: atomics

from numba import cuda, float32


@cuda.jit
def sum_chunks(partial, gradients):
    unit, row = cuda.grid(2)
    if row >= gradients.shape[0] or unit >= gradients.shape[1]:
        return

    gradients[row, unit] = float32(0)
    for chunk in range(partial.shape[0]):
        cuda.atomic.add(gradients, (row, unit), partial[chunk, row, unit])
