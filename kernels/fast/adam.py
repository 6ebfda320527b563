"""Adam in the fused kernels: the whole GPU moves all parameters, a few per thread.

    gradient sums of all blocks, gradient of the grid, Adam's state  ->  parameters moved

The arithmetic is `field_math.adam_step`, as in `adam`. What is different is the order: a read from
memory takes longer than all of the arithmetic, so each thread first asks for everything that it
will need, and only then begins to compute.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from numba import cuda, float32, int32, int64, uint32

from kernels.config import GRID_CHANNELS
from kernels.fast.ptx import load_four, store_four
from kernels.fast.sample import FIXED_POINT
from kernels.field_math import adam_step

WEIGHT_GROUP = 16  # neighbouring weights that a block sums and moves together
READS_AT_ONCE = 16
CELLS_AT_ONCE = 2


# ---------------------------------------------------------------- cells of the grid


class CellSums(NamedTuple):
    """How gradients of a cell are read, as four float32, and cleared."""

    read: Callable
    clear: Callable


@cuda.jit(device=True)
def read_floats(grad, cell):
    return load_four(grad, cell)


@cuda.jit(device=True)
def clear_floats(grad, cell):
    store_four(grad, cell, float32(0), float32(0), float32(0), float32(0))


@cache
def make_cell_sums(channels, deterministic):
    """`CellSums` of floats, or in fixed point (see `sample.make_add`)."""

    @cuda.jit(device=True)
    def read_fixed_point(grad, cell):
        unit = float32(1 / FIXED_POINT)
        fourth = float32(grad[cell, 3]) * unit if channels == 4 else float32(0)
        return (
            float32(grad[cell, 0]) * unit, float32(grad[cell, 1]) * unit,
            float32(grad[cell, 2]) * unit, fourth,
        )  # fmt: skip

    @cuda.jit(device=True)
    def clear_fixed_point(grad, cell):
        for channel in range(channels):
            grad[cell, channel] = int64(0)

    if deterministic:
        return CellSums(read_fixed_point, clear_fixed_point)
    return CellSums(read_floats, clear_floats)


@cuda.jit(device=True)
def corrections_at(corrections, step):
    """Adam's two corrections at a step; beyond the table both are 1, and nothing is read."""
    if step >= corrections.shape[0]:
        return float32(1), float32(1)
    return corrections[step, 0], corrections[step, 1]


class CellState(NamedTuple):
    """What Adam keeps about a thread's next cells, those at first and first + stride.

    `shape` of a local array of float32, (CELLS_AT_ONCE, numbers): for each cell its parameters, m,
    v, and how often it has been moved. With three channels, this count is the fourth of grid_v.
    """

    shape: tuple
    clear: Callable
    read: Callable
    write_averages: Callable


@cache
def make_cell_state(channels):
    """`CellState` for a grid of 3 or 4 channels."""
    m, v, count = channels, 2 * channels, 3 * channels

    @cuda.jit(device=True)
    def clear(state):
        for i in range(CELLS_AT_ONCE):
            for number in range(count + 1):
                state[i, number] = float32(0)

    @cuda.jit(device=True)
    def read(arrays, first, stride, state):
        for i in range(CELLS_AT_ONCE):
            cell = first + i * stride
            if cell < arrays.feature_grid.shape[0]:
                state[i, 0], state[i, 1], state[i, 2], p3 = load_four(arrays.feature_grid, cell)
                state[i, m], state[i, m + 1], state[i, m + 2], m3 = load_four(arrays.grid_m, cell)
                state[i, v], state[i, v + 1], state[i, v + 2], v3 = load_four(arrays.grid_v, cell)
                if channels == 4:
                    state[i, 3], state[i, m + 3], state[i, v + 3] = p3, m3, v3
                    state[i, count] = arrays.grid_steps[cell]
                else:
                    state[i, count] = v3

    @cuda.jit(device=True)
    def write_averages(arrays, first, stride, state):
        """Put m, v and the count back, where they are not kept in registers."""
        for i in range(CELLS_AT_ONCE):
            cell = first + i * stride
            if cell < arrays.feature_grid.shape[0]:
                m3, v3 = float32(0), state[i, count]
                if channels == 4:
                    m3, v3 = state[i, m + 3], state[i, v + 3]
                    arrays.grid_steps[cell] = state[i, count]
                store_four(arrays.grid_m, cell, state[i, m], state[i, m + 1], state[i, m + 2], m3)
                store_four(arrays.grid_v, cell, state[i, v], state[i, v + 1], state[i, v + 2], v3)

    return CellState((CELLS_AT_ONCE, count + 1), clear, read, write_averages)


def make_cell_moves(channels, deterministic):
    """(read_gradients, move_cells): device functions for a thread's next cells."""
    sums = make_cell_sums(channels, deterministic)
    m, v, count = channels, 2 * channels, 3 * channels

    @cuda.jit(device=True)
    def read_gradients(arrays, first, stride, gradients):
        """(CELLS_AT_ONCE, channels) float32. Cells beyond the grid get a zero gradient."""
        for i in range(CELLS_AT_ONCE):
            cell = first + i * stride
            red, green, blue, fourth = float32(0), float32(0), float32(0), float32(0)
            if cell < arrays.feature_grid.shape[0]:
                red, green, blue, fourth = sums.read(arrays.grad_feature_grid, cell)
            gradients[i, 0], gradients[i, 1], gradients[i, 2] = red, green, blue
            if channels == 4:
                gradients[i, 3] = fourth

    @cuda.jit(device=True)
    def move_cells(arrays, first, stride, gradients, state, learning_rate, rates):
        """Move those of the cells that a sample has touched; others stay as they are."""
        for i in range(CELLS_AT_ONCE):
            cell = first + i * stride
            touched = (
                gradients[i, 0] != float32(0)
                or gradients[i, 1] != float32(0)
                or gradients[i, 2] != float32(0)
                or (channels == 4 and gradients[i, 3] != float32(0))
            )
            if touched:
                sums.clear(arrays.grad_feature_grid, cell)
                state[i, count] += float32(1)
                correction_m, correction_v = corrections_at(
                    arrays.corrections, int32(state[i, count])
                )
                for c in range(channels):
                    state[i, c], state[i, m + c], state[i, v + c] = adam_step(
                        state[i, c], gradients[i, c], state[i, m + c], state[i, v + c],
                        correction_m, correction_v, learning_rate, rates,
                    )  # fmt: skip
                fourth = state[i, 3] if channels == 4 else float32(0)
                store_four(arrays.feature_grid, cell, state[i, 0], state[i, 1], state[i, 2], fourth)

    return read_gradients, move_cells


# ---------------------------------------------------------------- one step in two halves

# For kernels that know a gradient late: half of `field_math.adam_step` before it is there.


@cuda.jit(device=True)
def decay(m, v, rates):
    """What is known of the next averages before the gradient is."""
    return rates.beta1 * m, rates.beta2 * v


@cuda.jit(device=True)
def averages(decayed_m, decayed_v, gradient, rates):
    share = float32(1) - rates.beta2
    return (
        cuda.fma(float32(1) - rates.beta1, gradient, decayed_m),
        cuda.fma(share * gradient, gradient, decayed_v),
    )


@cuda.jit(device=True)
def moved(parameter, m, v, rate, correction_v, rates):
    """rate: the learning rate times the correction of m."""
    step = float32(1) / (math.sqrt(v * correction_v) + rates.epsilon)
    return cuda.fma(float32(0) - rate * m, step, parameter)


# ---------------------------------------------------------------- weights of the network


def make_weight_updates(threads):
    """Sum the blocks' gradients, always in the same order, and move the weights.

    A block takes 16 neighbouring weights at a time. Its threads stand in rows of 16, and each row
    reads the sums of another block: a read then fills two sectors of 32 bytes.
    """
    rows = threads // WEIGHT_GROUP

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
        weight = group * WEIGHT_GROUP + column
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
        if thread < WEIGHT_GROUP:
            gradient = float32(0)
            for row in range(rows):
                gradient += partial_sums[row, thread]
            weight = group * WEIGHT_GROUP + thread
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
    at_once = threads // WEIGHT_GROUP * READS_AT_ONCE
    return (blocks + at_once - 1) // at_once * at_once


# ---------------------------------------------------------------- all parameters


def make_update(threads, deterministic, channels=GRID_CHANNELS):
    """The second part of a step, for blocks of `threads` threads; see `graph`."""
    cell_state = make_cell_state(channels)
    read_gradients, move_cells = make_cell_moves(channels, deterministic)
    sum_weights, move_weights = make_weight_updates(threads)
    rows, state_shape = threads // WEIGHT_GROUP, cell_state.shape

    @cuda.jit(device=True)
    def update(arrays, step, learning_rate_mlp, learning_rate_grid, rates, state):
        """Move all parameters. arrays: `FusedArrays`; all else as in `kernels.adam`.

        state: what Adam keeps about this thread's first cells (see `CellState`). Its averages
        are not written to memory: the caller keeps them, or writes them.
        """
        gradients = cuda.local.array((CELLS_AT_ONCE, channels), float32)
        partial_sums = cuda.shared.array((rows, WEIGHT_GROUP), float32)
        cell, stride, cells = cuda.grid(1), cuda.gridsize(1), arrays.feature_grid.shape[0]
        group, groups = cuda.blockIdx.x, arrays.weights.shape[0] // WEIGHT_GROUP

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
        rest = cuda.local.array(state_shape, float32)
        cell += CELLS_AT_ONCE * stride
        while cell < cells:
            read_gradients(arrays, cell, stride, gradients)
            cell_state.read(arrays, cell, stride, rest)
            move_cells(arrays, cell, stride, gradients, rest, learning_rate_grid, rates)
            cell_state.write_averages(arrays, cell, stride, rest)
            cell += CELLS_AT_ONCE * stride
        group += cuda.gridDim.x
        while group < groups:
            # The last group's sums must have been read.
            cuda.syncthreads()
            weight_state = sum_weights(arrays, group, partial_sums)
            move_weights(arrays, group, weight_state, partial_sums, step, learning_rate_mlp, rates)
            group += cuda.gridDim.x

    return update
