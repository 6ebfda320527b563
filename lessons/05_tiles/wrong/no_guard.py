"""The naive kernel without a guard: threads beyond the result read and write outside."""
# caught by: naive
# diagnosis: out-of-bounds

from numba import cuda, float32


@cuda.jit
def matmul_naive(a, b, c):
    column, row = cuda.grid(2)

    total = float32(0)
    for i in range(a.shape[1]):
        total += a[row, i] * b[i, column]
    c[row, column] = total
