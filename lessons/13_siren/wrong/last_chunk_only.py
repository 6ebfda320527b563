"""The total is overwritten by each chunk."""
# caught by: sums
# diagnosis: last chunk only

from numba import cuda, float32


@cuda.jit
def sum_chunks(partial, gradients):
    unit, row = cuda.grid(2)
    if row >= gradients.shape[0] or unit >= gradients.shape[1]:
        return

    total = float32(0)
    for chunk in range(partial.shape[0]):
        total = partial[chunk, row, unit]
    gradients[row, unit] = total
