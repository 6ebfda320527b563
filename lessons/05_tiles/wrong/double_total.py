"""The sum begins as 0.0, a double, and the whole loop computes in doubles."""
# caught by: float32
# diagnosis: slow

from numba import cuda


@cuda.jit
def matmul_naive(a, b, c):
    column, row = cuda.grid(2)
    if row >= c.shape[0] or column >= c.shape[1]:
        return

    total = 0.0
    for i in range(a.shape[1]):
        total += a[row, i] * b[i, column]
    c[row, column] = total
