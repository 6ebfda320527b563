"""b[column, i]."""
# caught by: naive
# diagnosis: two indices exchanged

from numba import cuda, float32


@cuda.jit
def matmul_naive(a, b, c):
    column, row = cuda.grid(2)
    if row >= c.shape[0] or column >= c.shape[1]:
        return
    total = float32(0)
    for i in range(a.shape[1]):
        total += a[row, i] * b[column, i]
    c[row, column] = total
