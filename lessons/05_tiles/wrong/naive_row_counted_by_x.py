"""The row is counted with the x of the block."""
# caught by: naive
# diagnosis: only the blocks on the diagonal

from numba import cuda, float32


@cuda.jit
def matmul_naive(a, b, c):
    gl_x = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    gl_y = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    rows, inner = a.shape
    columns = b.shape[1]
    if gl_x < columns and gl_y < rows:
        dot = float32(0)
        for i in range(inner):
            dot = dot + a[gl_y, i] * b[i, gl_x]
        c[gl_y, gl_x] = dot
