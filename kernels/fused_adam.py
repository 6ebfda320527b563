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


def make_ask_for_cells(read):
    """Read what moving a thread's next cells takes: those at first and first + stride."""

    @cuda.jit(device=True)
    def ask_for_cells(arrays, first, stride, asked):
        for i in range(CELLS_AT_ONCE):
            cell = first + i * stride
            if cell < arrays.feature_grid.shape[0]:
                asked[i, 0], asked[i, 1], asked[i, 2] = read(arrays.grad_feature_grid, cell)
                asked[i, 3], asked[i, 4], asked[i, 5], _ = load_four(arrays.feature_grid, cell)
                asked[i, 6], asked[i, 7], asked[i, 8], _ = load_four(arrays.grid_m, cell)
                asked[i, 9], asked[i, 10], asked[i, 11], asked[i, 12] = load_four(
                    arrays.grid_v, cell
                )
            else:
                # A cell that is not there has not been touched.
                asked[i, 0], asked[i, 1], asked[i, 2] = float32(0), float32(0), float32(0)

    return ask_for_cells


def make_move_cells(clear):
    """Move those of the cells that a sample has touched; others stay as they are.

    How often a cell has been moved is kept in the fourth place of its `v`.
    """

    @cuda.jit(device=True)
    def move_cells(arrays, first, stride, asked, learning_rate, rates):
        none = float32(0)
        for i in range(CELLS_AT_ONCE):
            cell = first + i * stride
            if asked[i, 0] != none or asked[i, 1] != none or asked[i, 2] != none:
                clear(arrays.grad_feature_grid, cell)
                steps = asked[i, 12] + float32(1)
                for_m, for_v = corrections_at(arrays.corrections, int32(steps))
                for channel in range(COLOURS):
                    parameter, m, v = adam_step(
                        asked[i, 3 + channel], asked[i, channel], asked[i, 6 + channel],
                        asked[i, 9 + channel], for_m, for_v, learning_rate, rates,
                    )  # fmt: skip
                    asked[i, 3 + channel], asked[i, 6 + channel] = parameter, m
                    asked[i, 9 + channel] = v
                store_four(arrays.feature_grid, cell, asked[i, 3], asked[i, 4], asked[i, 5], none)
                store_four(arrays.grid_m, cell, asked[i, 6], asked[i, 7], asked[i, 8], none)
                store_four(arrays.grid_v, cell, asked[i, 9], asked[i, 10], asked[i, 11], steps)

    return move_cells


def make_weight_updates(threads):
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
        block = row
        while block < grad_weights.shape[0]:
            for i in range(READS_AT_ONCE):
                total += grad_weights[block + i * rows, weight]
            block += rows * READS_AT_ONCE
        return total

    @cuda.jit(device=True)
    def sum_weights(arrays, group, partial_sums):
        """Leave the sums of every `rows`-th block in shared memory, (rows, 16) float32.

        Returns (parameter, m, v) of the thread's weight, read at the same time.
        """
        thread = cuda.threadIdx.x
        row, column = thread >> 4, thread & 15
        weight = group * GROUP + column
        now = arrays.weights[weight], arrays.weights_m[weight], arrays.weights_v[weight]
        partial_sums[row, column] = sum_of_blocks(arrays.grad_weights, weight, row)
        return now

    @cuda.jit(device=True)
    def move_weights(arrays, group, now, partial_sums, step, learning_rate, rates):
        """Add the rows up, and move the group's weights."""
        # All rows must be there.
        cuda.syncthreads()
        thread = cuda.threadIdx.x
        if thread < GROUP:
            gradient = float32(0)
            for row in range(rows):
                gradient += partial_sums[row, thread]
            weight = group * GROUP + thread
            for_m, for_v = corrections_at(arrays.corrections, step)
            parameter, m, v = now
            parameter, m, v = adam_step(
                parameter, gradient, m, v, for_m, for_v, learning_rate, rates
            )
            arrays.weights[weight] = parameter
            arrays.weights_m[weight], arrays.weights_v[weight] = m, v

    return sum_weights, move_weights


def rows_to_sum(blocks, threads):
    """Rows of the blocks' gradient sums, rounded up to what `sum_of_blocks` reads at once."""
    at_once = threads // GROUP * READS_AT_ONCE
    return (blocks + at_once - 1) // at_once * at_once
