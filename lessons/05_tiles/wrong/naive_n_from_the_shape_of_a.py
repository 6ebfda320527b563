"""n is taken from the shape of a, where it is k, and k from the shape of b, where it is n."""
# caught by: naive
# diagnosis: does a loop go on for too long?

from numba import cuda, float32


@cuda.jit
def matmul_naive(a, b, c):
    """c (m, n) = a (m, k) @ b (k, n), all float32; one thread per element of c; any sizes."""
    m, n = a.shape
    k = b.shape[1]
    column, row = cuda.grid(2)
    if row < m and column < n:
        dot = float32(0)
        for i in range(k):
            dot += a[row, i] * b[i, column]
        c[row, column] = dot
