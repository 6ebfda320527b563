"""Adam in the fused kernels: the whole GPU moves all parameters, a few per thread.

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


# ---------------------------------------------------------------- cells of the grid


@cuda.jit(device=True)
def read_floats(grad, cell):
    red, green, blue, _ = load_four(grad, cell)
    return red, green, blue


@cuda.jit(device=True)
def clear_floats(grad, cell):
    store_four(grad, cell, float32(0), float32(0), float32(0), float32(0))


@cuda.jit(device=True)
def read_fixed_point(grad, cell):
    unit = float32(1 / FIXED_POINT)
    return (
        float32(grad[cell, 0]) * unit, float32(grad[cell, 1]) * unit, float32(grad[cell, 2]) * unit,
    )  # fmt: skip


@cuda.jit(device=True)
def clear_fixed_point(grad, cell):
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
    been moved, which is kept in the fourth channel of grid_v.
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
        """(CELLS_AT_ONCE, 3) float32. Cells beyond the grid get a zero gradient."""
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
                correction_m, correction_v = corrections_at(arrays.corrections, int32(state[i, 9]))
                for channel in range(COLOURS):
                    parameter, m, v = adam_step(
                        state[i, channel], gradients[i, channel], state[i, 3 + channel],
                        state[i, 6 + channel], correction_m, correction_v, learning_rate, rates,
                    )  # fmt: skip
                    state[i, channel] = parameter
                    state[i, 3 + channel], state[i, 6 + channel] = m, v
                store_four(
                    arrays.feature_grid, cell, state[i, 0], state[i, 1], state[i, 2], float32(0)
                )

    return move_cells


# ---------------------------------------------------------------- weights of the network


def make_weight_updates(threads):
    """Sum the blocks' gradients, always in the same order, and move the weights.

    A block takes 16 neighbouring weights at a time. Its threads stand in rows of 16, and each row
    reads the sums of another block: a read then fills two sectors of 32 bytes.
    """
    rows = threads // GROUP

    @cuda.jit(device=True)
    def sum_of_blocks(grad_weights, count, weight, row):
        """This thread's part of the sum for one of `count` weights: that of every `rows`-th block.

        grad_weights is as long as a whole number of rounds, so that 16 reads are always on
        their way at once. (Unsigned, so Numba emits no check for negative indices.)
        """
        total = float32(0)
        offset, stride = uint32(row * count + weight), uint32(rows * count)
        while offset < grad_weights.shape[0]:
            for _ in range(READS_AT_ONCE):
                total += grad_weights[offset]
                offset = uint32(offset + stride)
        return total

    @cuda.jit(device=True)
    def sum_weights(arrays, group, partial_sums):
        """Leave the sums of every `rows`-th block in shared memory, (rows, 16) float32.

        Returns (parameter, m, v) of the thread's weight, read at the same time.
        """
        thread = cuda.threadIdx.x & (threads - 1)
        row, column = thread >> 4, thread & 15
        weight = group * GROUP + column
        weight_state = arrays.weights[weight], arrays.weights_m[weight], arrays.weights_v[weight]
        partial_sums[row, column] = sum_of_blocks(
            arrays.grad_weights, arrays.weights.shape[0], weight, row
        )
        return weight_state

    @cuda.jit(device=True)
    def move_weights(arrays, group, weight_state, partial_sums, step, learning_rate, rates):
        """Add the rows up, and move the group's weights."""
        # All rows must be there.
        cuda.syncthreads()
        thread = cuda.threadIdx.x & (threads - 1)
        if thread < GROUP:
            gradient = float32(0)
            for row in range(rows):
                gradient += partial_sums[row, thread]
            weight = group * GROUP + thread
            correction_m, correction_v = corrections_at(arrays.corrections, step)
            parameter, m, v = weight_state
            parameter, m, v = adam_step(
                parameter, gradient, m, v, correction_m, correction_v, learning_rate, rates
            )
            arrays.weights[weight] = parameter
            arrays.weights_m[weight], arrays.weights_v[weight] = m, v

    return sum_weights, move_weights


def rows_to_sum(blocks, threads):
    """Rows of the blocks' gradient sums, rounded up to what `sum_of_blocks` reads at once."""
    at_once = threads // GROUP * READS_AT_ONCE
    return (blocks + at_once - 1) // at_once * at_once


# ---------------------------------------------------------------- all parameters


def make_update(threads, deterministic):
    """The second part of a step, for blocks of `threads` threads; see `step`."""
    read_gradients = make_read_gradients(read_fixed_point if deterministic else read_floats)
    move_cells = make_move_cells(clear_fixed_point if deterministic else clear_floats)
    sum_weights, move_weights = make_weight_updates(threads)
    rows = threads // GROUP

    @cuda.jit(device=True)
    def update(arrays, step, learning_rate_mlp, learning_rate_grid, rates, state):
        """Move all parameters. arrays: `FusedArrays`; all else as in `kernels.adam`.

        state: what Adam keeps about this thread's first cells (see `read_state`). Its averages
        are not written to memory: the caller keeps them, or writes them.
        """
        gradients = cuda.local.array((CELLS_AT_ONCE, COLOURS), float32)
        partial_sums = cuda.shared.array((rows, GROUP), float32)
        cell, stride, cells = cuda.grid(1), cuda.gridsize(1), arrays.feature_grid.shape[0]
        group, groups = cuda.blockIdx.x, arrays.weights.shape[0] // GROUP

        # Cells and weights have nothing to do with each other: while one waits for memory, the
        # other computes.
        read_gradients(arrays, cell, stride, gradients)
        weight_state = float32(0), float32(0), float32(0)
        if group < groups:
            weight_state = sum_weights(arrays, group, partial_sums)
        move_cells(arrays, cell, stride, gradients, state, learning_rate_grid, rates)
        if group < groups:
            move_weights(arrays, group, weight_state, partial_sums, step, learning_rate_mlp, rates)

        # What is left, if the grid is large or the blocks are few.
        rest = cuda.local.array((CELLS_AT_ONCE, STATE), float32)
        cell += CELLS_AT_ONCE * stride
        while cell < cells:
            read_gradients(arrays, cell, stride, gradients)
            read_state(arrays, cell, stride, rest)
            move_cells(arrays, cell, stride, gradients, rest, learning_rate_grid, rates)
            write_averages(arrays, cell, stride, rest)
            cell += CELLS_AT_ONCE * stride
        group += cuda.gridDim.x
        while group < groups:
            # The last group's sums must have been read.
            cuda.syncthreads()
            weight_state = sum_weights(arrays, group, partial_sums)
            move_weights(arrays, group, weight_state, partial_sums, step, learning_rate_mlp, rates)
            group += cuda.gridDim.x

    return update
