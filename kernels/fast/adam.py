"""Adam in the fused kernels: the whole GPU moves all parameters, a few for each thread.

    gradient sums of all blocks, gradient of the grid, Adam's state  ->  parameters moved

The arithmetic is `field_math.adam_step`, as in `adam`. What is different is the order: a read from
memory takes longer than all of the arithmetic, so each thread first asks for everything that it
will need, and only then begins to compute.
"""

from numba import cuda, float32, int32, int64, uint32

from kernels.config import COLOURS
from kernels.fast.ptx import load_four, store_four
from kernels.fast.sample import FIXED_POINT
from kernels.field_math import adam_step

GROUP = 16  # neighbouring weights that a block sums and moves together
READS_AT_ONCE = 16
CELLS_AT_ONCE = 2
STATE = 10  # numbers that Adam keeps about a cell


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


@cuda.jit(device=True)
def read_state(arrays, first, stride, state):
    """What Adam keeps about a thread's next cells, those at first and first + stride.

    state: (CELLS_AT_ONCE, STATE) float32, for each cell its parameters, m, v, and how often it has
    been moved, which is kept in the fourth place of its v.
    """
    for i in range(CELLS_AT_ONCE):
        cell = first + i * stride
        if cell < arrays.feature_grid.shape[0]:
            state[i, 0], state[i, 1], state[i, 2], _ = load_four(arrays.feature_grid, cell)
            state[i, 3], state[i, 4], state[i, 5], _ = load_four(arrays.grid_m, cell)
            state[i, 6], state[i, 7], state[i, 8], state[i, 9] = load_four(arrays.grid_v, cell)


@cuda.jit(device=True)
def write_averages(arrays, first, stride, state):
    """Put m, v and the count back, where they are not kept in registers."""
    for i in range(CELLS_AT_ONCE):
        cell = first + i * stride
        if cell < arrays.feature_grid.shape[0]:
            none = float32(0)
            store_four(arrays.grid_m, cell, state[i, 3], state[i, 4], state[i, 5], none)
            store_four(arrays.grid_v, cell, state[i, 6], state[i, 7], state[i, 8], state[i, 9])


def make_read_gradients(read):
    @cuda.jit(device=True)
    def read_gradients(arrays, first, stride, gradients):
        """(CELLS_AT_ONCE, 3) float32; a cell that is not there has not been touched."""
        for i in range(CELLS_AT_ONCE):
            cell = first + i * stride
            red, green, blue = float32(0), float32(0), float32(0)
            if cell < arrays.feature_grid.shape[0]:
                red, green, blue = read(arrays.grad_feature_grid, cell)
            gradients[i, 0], gradients[i, 1], gradients[i, 2] = red, green, blue

    return read_gradients


def make_move_cells(clear):
    @cuda.jit(device=True)
    def move_cells(arrays, first, stride, gradients, state, learning_rate, rates):
        """Move those of the cells that a sample has touched; others stay as they are."""
        for i in range(CELLS_AT_ONCE):
            cell = first + i * stride
            touched = (
                gradients[i, 0] != float32(0)
                or gradients[i, 1] != float32(0)
                or gradients[i, 2] != float32(0)
            )
            if touched:
                clear(arrays.grad_feature_grid, cell)
                state[i, 9] += float32(1)
                for_m, for_v = corrections_at(arrays.corrections, int32(state[i, 9]))
                for channel in range(COLOURS):
                    parameter, m, v = adam_step(
                        state[i, channel], gradients[i, channel], state[i, 3 + channel],
                        state[i, 6 + channel], for_m, for_v, learning_rate, rates,
                    )  # fmt: skip
                    state[i, channel] = parameter
                    state[i, 3 + channel], state[i, 6 + channel] = m, v
                store_four(
                    arrays.feature_grid, cell, state[i, 0], state[i, 1], state[i, 2], float32(0)
                )

    return move_cells


def make_weight_updates(threads):
    """Sum the blocks' gradients, always in the same order, and move the weights.

    A block takes 16 neighbouring weights at a time. Its threads stand in rows of 16, and each row
    reads the sums of another block: a read then fills two sectors of 32 bytes.
    """
    rows = threads // GROUP

    @cuda.jit(device=True)
    def sum_of_blocks(grad_weights, count, weight, row):
        """This thread's share of one of `count` weights: the sums of every `rows`-th block.

        grad_weights is as long as a whole number of rounds, so that 16 reads are always on
        their way at once. (Unsigned: a place that cannot be negative costs less to find.)
        """
        total = float32(0)
        at, stride = uint32(row * count + weight), uint32(rows * count)
        while at < grad_weights.shape[0]:
            for i in range(READS_AT_ONCE):
                total += grad_weights[at]
                at = uint32(at + stride)
        return total

    @cuda.jit(device=True)
    def sum_weights(arrays, group, partial_sums):
        """Leave the sums of every `rows`-th block in shared memory, (rows, 16) float32.

        Returns (parameter, m, v) of the thread's weight, read at the same time.
        """
        thread = cuda.threadIdx.x & (threads - 1)
        row, column = thread >> 4, thread & 15
        weight = group * GROUP + column
        now = arrays.weights[weight], arrays.weights_m[weight], arrays.weights_v[weight]
        partial_sums[row, column] = sum_of_blocks(
            arrays.grad_weights, arrays.weights.shape[0], weight, row
        )
        return now

    @cuda.jit(device=True)
    def move_weights(arrays, group, now, partial_sums, step, learning_rate, rates):
        """Add the rows up, and move the group's weights."""
        # All rows must be there.
        cuda.syncthreads()
        thread = cuda.threadIdx.x & (threads - 1)
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
