"""Each round sets the sums to zero."""
# caught by: registers
# diagnosis: each round adds to them

from numba import cuda, float32

from kernels.products.tiles import DEPTH, PER_THREAD, SIDE


@cuda.jit(device=True)
def add_products(a_tile, b_tile, top, sums):
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    a_numbers = cuda.local.array(PER_THREAD, float32)
    b_numbers = cuda.local.array(PER_THREAD, float32)
    for begin in range(top, top + DEPTH, 4):
        for inner in range(begin, begin + 4):
            for i in range(PER_THREAD):
                a_numbers[i] = a_tile[inner, y + i * SIDE]
                b_numbers[i] = b_tile[inner, x + i * SIDE]
            for i in range(PER_THREAD):
                for j in range(PER_THREAD):
                    if inner == top:
                        sums[i, j] = float32(0)
                    sums[i, j] += a_numbers[i] * b_numbers[j]
