"""Adam in the fused kernels: the whole GPU moves all parameters, a few for each thread.

    gradient sums of all blocks, gradient of the grid, Adam's state  ->  parameters moved

The arithmetic is `field_math.adam_step`, as in `adam`. What is different is the order: a read from
memory takes longer than all of the arithmetic, so each thread first asks for everything that it
will need, and only then begins to compute.
"""

from numba import cuda, float32, int32, int64

from kernels.config import COLOURS
from kernels.field_math import adam_step
from kernels.fused_sample import FIXED_POINT
from kernels.ptx import load_four, store_four

GROUP = 16  # neighbouring weights that a block sums and moves together
READS_AT_ONCE = 16
CELLS_AT_ONCE = 2


@cuda.jit(device=True)
def read_floats(grad, cell):
    red, green, blue, _ = load_four(grad, cell)
    return red, green, blue


@cuda.jit(device=True)
def clear_floats(grad, cell):
    store_four(grad, cell, float32(0), float32(0), float32(0), float32(0))


@cuda.jit(device=True)
def read_whole_numbers(grad, cell):
    unit = float32(1 / FIXED_POINT)
    return (
        float32(grad[cell, 0]) * unit, float32(grad[cell, 1]) * unit, float32(grad[cell, 2]) * unit,
    )  # fmt: skip


@cuda.jit(device=True)
def clear_whole_numbers(grad, cell):
    for channel in range(COLOURS):
        grad[cell, channel] = int64(0)


@cuda.jit(device=True)
def corrections_at(corrections, step):
    """Adam's two corrections at a step; beyond the table both are 1, and nothing is read."""
    if step >= corrections.shape[0]:
        return float32(1), float32(1)
    return corrections[step, 0], corrections[step, 1]


def make_update_cells(read, clear):
    """Move the cells of the feature grid that a sample has touched; two at a time a thread."""

    @cuda.jit(device=True)
    def update_cells(arrays, first_thread, threads, learning_rate, rates):
        grad, grid = arrays.grad_feature_grid, arrays.feature_grid
        averages_m, averages_v, steps = arrays.grid_m, arrays.grid_v, arrays.grid_steps
        now = cuda.local.array((CELLS_AT_ONCE, 12), float32)
        counts = cuda.local.array(CELLS_AT_ONCE, int32)
        cells = steps.shape[0]
        for first in range(first_thread, cells, threads * CELLS_AT_ONCE):
            for i in range(CELLS_AT_ONCE):
                # Beyond the last cell, the thread's first one is read again; no other thread
                # writes that.
                cell = first + i * threads
                cell = cell if cell < cells else first
                now[i, 0], now[i, 1], now[i, 2] = read(grad, cell)
                now[i, 3], now[i, 4], now[i, 5], _ = load_four(grid, cell)
                now[i, 6], now[i, 7], now[i, 8], _ = load_four(averages_m, cell)
                now[i, 9], now[i, 10], now[i, 11], _ = load_four(averages_v, cell)
                counts[i] = steps[cell] + int32(1)
            for i in range(CELLS_AT_ONCE):
                cell = first + i * threads
                touched = (
                    now[i, 0] != float32(0) or now[i, 1] != float32(0) or now[i, 2] != float32(0)
                )
                if cell < cells and touched:
                    clear(grad, cell)
                    steps[cell] = counts[i]
                    for_m, for_v = corrections_at(arrays.corrections, counts[i])
                    for channel in range(COLOURS):
                        now[i, 3 + channel], now[i, 6 + channel], now[i, 9 + channel] = adam_step(
                            now[i, 3 + channel], now[i, channel], now[i, 6 + channel],
                            now[i, 9 + channel], for_m, for_v, learning_rate, rates,
                        )  # fmt: skip
                    store_four(grid, cell, now[i, 3], now[i, 4], now[i, 5], float32(0))
                    store_four(averages_m, cell, now[i, 6], now[i, 7], now[i, 8], float32(0))
                    store_four(averages_v, cell, now[i, 9], now[i, 10], now[i, 11], float32(0))

    return update_cells


def make_update_weights(threads):
    """Sum the blocks' gradients, always in the same order, and move the weights.

    A block takes 16 neighbouring weights at a time. Its threads stand in rows of 16, and each row
    reads the sums of another block: a read then fills two sectors of 32 bytes.
    """
    rows = threads // GROUP

    @cuda.jit(device=True)
    def sum_of_blocks(grad_weights, weight, row):
        """This thread's share: the sums of every `rows`-th block.

        grad_weights is as long as a whole number of rounds, so that 16 reads are always on
        their way at once.
        """
        total = float32(0)
        for first in range(row, grad_weights.shape[0], rows * READS_AT_ONCE):
            for i in range(READS_AT_ONCE):
                total += grad_weights[first + i * rows, weight]
        return total

    @cuda.jit(device=True)
    def update_weights(arrays, step, learning_rate, rates):
        partial_sums = cuda.shared.array((rows, GROUP), float32)
        thread = cuda.threadIdx.x
        row, column = thread >> 4, thread & 15
        weights, averages_m, averages_v = arrays.weights, arrays.weights_m, arrays.weights_v
        for group in range(cuda.blockIdx.x, weights.shape[0] // GROUP, cuda.gridDim.x):
            weight = group * GROUP + column
            parameter, m, v = weights[weight], averages_m[weight], averages_v[weight]
            for_m, for_v = corrections_at(arrays.corrections, step)
            partial_sums[row, column] = sum_of_blocks(arrays.grad_weights, weight, row)
            # All rows must be there before they are summed ...
            cuda.syncthreads()
            if row == 0:
                gradient = float32(0)
                for other in range(rows):
                    gradient += partial_sums[other, column]
                weights[weight], averages_m[weight], averages_v[weight] = adam_step(
                    parameter, gradient, m, v, for_m, for_v, learning_rate, rates
                )
            # ... and have been summed before the next group's come.
            cuda.syncthreads()

    return update_weights


def rows_to_sum(blocks, threads):
    """Rows of the blocks' gradient sums, rounded up to what `sum_of_blocks` reads at once."""
    at_once = threads // GROUP * READS_AT_ONCE
    return (blocks + at_once - 1) // at_once * at_once
