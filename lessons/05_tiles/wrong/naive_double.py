"""0.0: a double."""
# caught by: float32
# diagnosis: slow

from numba import cuda, float32


@cuda.jit
def matmul_naive(a, b, c):
    column, row = cuda.grid(2)
    if row >= c.shape[0] or column >= c.shape[1]:
        return
    total = 0.0
    for i in range(a.shape[1]):
        total += a[row, i] * b[i, column]
    c[row, column] = total
