"""Half the threads, 8 x 4 elements each: another kernel, with a launch of its own."""

from numba import cuda, float32

from kernels.launch import blocks_for, on_gpu
from kernels.products.tiles import DEPTH, PER_THREAD, PITCH, SIDE, WIDTH, number_at


ROWS = 8


@cuda.jit
def product_registers(a, b, c):
    a_tile = cuda.shared.array((DEPTH, PITCH), float32)
    b_tile = cuda.shared.array((DEPTH, PITCH), float32)
    sums = cuda.local.array((ROWS, PER_THREAD), float32)
    numbers = cuda.local.array(PER_THREAD, float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    thread = y * SIDE + x
    first_row, first_column = cuda.blockIdx.y * WIDTH, cuda.blockIdx.x * WIDTH
    for i in range(ROWS):
        for j in range(PER_THREAD):
            sums[i, j] = float32(0)
    for inner in range(0, a.shape[1], DEPTH):
        for item in range(thread, DEPTH * WIDTH, SIDE * ROWS):
            row, column = item // DEPTH, item % DEPTH
            a_tile[column, row] = number_at(a, first_row + row, inner + column)
            row, column = item // WIDTH, item % WIDTH
            b_tile[row, column] = number_at(b, inner + row, first_column + column)
        cuda.syncthreads()
        for k in range(DEPTH):
            for j in range(PER_THREAD):
                numbers[j] = b_tile[k, x + j * SIDE]
            for i in range(ROWS):
                number = a_tile[k, y + i * ROWS]
                for j in range(PER_THREAD):
                    sums[i, j] += number * numbers[j]
        cuda.syncthreads()
    for i in range(ROWS):
        row = first_row + y + i * ROWS
        for j in range(PER_THREAD):
            column = first_column + x + j * SIDE
            if row < c.shape[0] and column < c.shape[1]:
                c[row, column] = sums[i, j]


def launch_product_registers(a, b, c, launch=on_gpu):
    blocks = blocks_for(c.shape[1], WIDTH), blocks_for(c.shape[0], WIDTH)
    launch(product_registers, blocks, (SIDE, ROWS), a, b, c)
