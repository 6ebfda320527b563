"""The row of the biases is left out: one row too few."""
# caught by: sums
# diagnosis: not written

from numba import cuda, float32


@cuda.jit
def sum_chunks(partial, gradients):
    unit, row = cuda.grid(2)
    if row >= gradients.shape[0] - 1 or unit >= gradients.shape[1]:
        return

    total = float32(0)
    for chunk in range(partial.shape[0]):
        total += partial[chunk, row, unit]
    gradients[row, unit] = total
