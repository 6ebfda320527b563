"""The four numbers of a have names; those of b are read one by one."""

from numba import cuda

from kernels.products.tiles import DEPTH, PER_THREAD, SIDE


@cuda.jit(device=True)
def add_products(a_tile, b_tile, top, sums):
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    for inner in range(top, top + DEPTH):
        first, second = a_tile[inner, y], a_tile[inner, y + SIDE]
        third, fourth = a_tile[inner, y + 2 * SIDE], a_tile[inner, y + 3 * SIDE]
        for j in range(PER_THREAD):
            number = b_tile[inner, x + j * SIDE]
            sums[0, j] += first * number
            sums[1, j] += second * number
            sums[2, j] += third * number
            sums[3, j] += fourth * number
