"""The four numbers of a thread lie in shared memory."""
# caught by: registers
# diagnosis: cuda.local.array

from numba import cuda, float32

from kernels.products.tiles import DEPTH, PER_THREAD, SIDE


@cuda.jit(device=True)
def add_products(a_tile, b_tile, top, sums):
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    a_numbers = cuda.shared.array(PER_THREAD, float32)
    b_numbers = cuda.local.array(PER_THREAD, float32)
    for begin in range(top, top + DEPTH, 4):
        for inner in range(begin, begin + 4):
            for i in range(PER_THREAD):
                a_numbers[i] = a_tile[inner, y + i * SIDE]
                b_numbers[i] = b_tile[inner, x + i * SIDE]
            for i in range(PER_THREAD):
                for j in range(PER_THREAD):
                    sums[i, j] += a_numbers[i] * b_numbers[j]
