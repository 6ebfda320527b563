"""An atomic addition per thread; block 0 sets the rest to zero first, in a launch of its own."""
# points: 7

from numba import cuda, float32

from kernels.config import BLOCK_THREADS
from kernels.launch import on_gpu


@cuda.jit
def set_to_zero(total):
    total[0] = 0


@cuda.jit
def sum_blocks(values, partials):
    for i in range(cuda.grid(1), values.shape[0], cuda.gridsize(1)):
        cuda.atomic.add(partials, 0, values[i])


def launch_sum(values, partials, total, launch=on_gpu):
    launch(set_to_zero, 1, 1, total)
    launch(sum_blocks, partials.shape[0], BLOCK_THREADS, values, total)


@cuda.jit
def column_sums_of_blocks(gradient, sums):
    row = cuda.grid(1)
    if row < gradient.shape[0]:
        for column in range(gradient.shape[1]):
            cuda.atomic.add(sums, (0, column), gradient[row, column])


@cuda.jit
def set_columns_to_zero(sums):
    for column in range(cuda.threadIdx.x, sums.shape[1], BLOCK_THREADS):
        sums[0, column] = 0


def launch_column_sums(gradient, partials, sums, launch=on_gpu):
    launch(set_columns_to_zero, 1, BLOCK_THREADS, sums)
    blocks = (gradient.shape[0] + BLOCK_THREADS - 1) // BLOCK_THREADS
    launch(column_sums_of_blocks, blocks, BLOCK_THREADS, gradient, sums)
