"""A thread's four rows are one apart."""
# caught by: registers
# diagnosis: rows one apart

from numba import cuda, float32

from kernels.products.tiles import DEPTH, PER_THREAD, SIDE


@cuda.jit(device=True)
def add_products(a_tile, b_tile, top, sums):
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    a = cuda.local.array(PER_THREAD, float32)
    b = cuda.local.array(PER_THREAD, float32)
    for inner in range(DEPTH):
        for i in range(PER_THREAD):
            a[i] = a_tile[top + inner, y + i]
            b[i] = b_tile[top + inner, x + i * SIDE]
        for i in range(PER_THREAD):
            for j in range(PER_THREAD):
                sums[i, j] += a[i] * b[j]
