"""The total begins with the first chunk, and the loop adds it again."""
# caught by: sums
# diagnosis: first chunk twice

from numba import cuda


@cuda.jit
def sum_chunks(partial, gradients):
    unit, row = cuda.grid(2)
    if row >= gradients.shape[0] or unit >= gradients.shape[1]:
        return

    total = partial[0, row, unit]
    for chunk in range(partial.shape[0]):
        total += partial[chunk, row, unit]
    gradients[row, unit] = total
