"""Each thread computes the whole row of c, as all others of that row do."""
# caught by: naive
# diagnosis: same work again

from numba import cuda, float32


@cuda.jit
def matmul_naive(a, b, c):
    x, row = cuda.grid(2)
    if row >= c.shape[0]:
        return
    for column in range(c.shape[1]):
        total = float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, column]
        c[row, column] = total
