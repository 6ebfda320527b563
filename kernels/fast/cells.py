"""Cells of the grid when whoever reads a cell moves it, in the kernel with one barrier per step.

    copy of a cell, two steps old; its gradients of both steps  ->  the cell as it is now

The idea: an owner would have to move a cell, and all others would have to wait until it has. So a
reader moves the cell itself, in registers, and forgets it again. The owner does the same for good,
and leaves a *copy* of what the next readers need: value, Adam's averages and the corrections of
their bias. See `one_barrier` for who reads and writes which buffer when.

A copy is rows of four floats in arrays of their own, its *parts*, so that neighbouring threads
write neighbouring rows. There are two kinds. A *rounded* copy has two parts: the value is exact,
averages and corrections are bfloat16, two in the place of one float. Only what a step sees of a
cell is rounded, the owner keeps all digits. An *exact* copy has four parts: with it a run that was
interrupted and goes on has the same bits as one that was not.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

from numba import cuda, float32, int32, uint32

from kernels.config import COLOURS
from kernels.fast.adam import clear_floats, make_clear_fixed_point, make_read_fixed_point
from kernels.fast.ptx import float_as_word, pack_bfloat16, word_as_float
from kernels.fast.ptx_memory import load_four, store_four

# What a thread keeps of a cell that it reads ...
SHARE, VALUE, M, V, RATE, CORRECTION_V, READ_CELL = 0, 1, 4, 7, 10, 11, 12
# ... and of one that it owns: three values, m and v, how often it was moved, and the corrections of
# the next move and of the one after it.
COUNT, CORRECTIONS, OWN_CELL = 9, 10, 14


# ---------------------------------------------------------------- Adam, in two halves


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


@cuda.jit(device=True)
def is_touched(gradients):
    """Cells that no sample has touched are not moved."""
    return gradients[0] != float32(0) or gradients[1] != float32(0) or gradients[2] != float32(0)


# ---------------------------------------------------------------- rounded copies


@cuda.jit(device=True)
def two_bfloat16(first, second):
    return word_as_float(pack_bfloat16(first, second))


@cuda.jit(device=True)
def both_bfloat16(two):
    word = float_as_word(two)
    return (
        word_as_float(uint32(word << uint32(16))),
        word_as_float(uint32(word & uint32(0xFFFF0000))),
    )


@cuda.jit(device=True)
def write_rounded(copies, row, rows, own):
    """own: an owner's cell. row: of the first part; the next is `rows` further."""
    store_four(
        copies, row, own[0], own[1], own[2], two_bfloat16(own[CORRECTIONS], own[CORRECTIONS + 1])
    )
    store_four(
        copies, uint32(rows + row), two_bfloat16(own[3], own[6]), two_bfloat16(own[4], own[7]),
        two_bfloat16(own[5], own[8]), two_bfloat16(own[CORRECTIONS + 2], own[CORRECTIONS + 3]),
    )  # fmt: skip


@cuda.jit(device=True)
def ask_rounded(copies, row, rows, asked):
    asked[0], asked[1], asked[2], asked[3] = load_four(copies, row)
    asked[4], asked[5], asked[6], asked[7] = load_four(copies, uint32(rows + row))


@cuda.jit(device=True)
def unpack_rounded(asked, cell, touched):
    """Leaves value, m and v in `cell`. Returns the corrections of m and v for the next move, and
    those for the move in the step after it."""
    for c in range(COLOURS):
        cell[VALUE + c] = asked[c]
        cell[M + c], cell[V + c] = both_bfloat16(asked[4 + c])
    now_m, now_v = both_bfloat16(asked[3])
    then_m, then_v = both_bfloat16(asked[7] if touched else asked[3])
    return now_m, now_v, then_m, then_v


# ---------------------------------------------------------------- exact copies


@cuda.jit(device=True)
def write_exact(copies, row, rows, own):
    store_four(copies, row, own[0], own[1], own[2], own[CORRECTIONS])
    store_four(copies, uint32(rows + row), own[3], own[4], own[5], own[CORRECTIONS + 1])
    store_four(copies, uint32(2 * rows + row), own[6], own[7], own[8], own[CORRECTIONS + 2])
    none = float32(0)
    store_four(copies, uint32(3 * rows + row), own[CORRECTIONS + 3], none, none, none)


@cuda.jit(device=True)
def ask_exact(copies, row, rows, asked):
    asked[0], asked[1], asked[2], asked[3] = load_four(copies, row)
    asked[4], asked[5], asked[6], asked[7] = load_four(copies, uint32(rows + row))
    asked[8], asked[9], asked[10], asked[11] = load_four(copies, uint32(2 * rows + row))
    asked[12], _, _, _ = load_four(copies, uint32(3 * rows + row))


@cuda.jit(device=True)
def unpack_exact(asked, cell, touched):
    for c in range(COLOURS):
        cell[VALUE + c], cell[M + c], cell[V + c] = asked[c], asked[4 + c], asked[8 + c]
    then_m, then_v = (asked[11] if touched else asked[3]), (asked[12] if touched else asked[7])
    return asked[3], asked[7], then_m, then_v


# ---------------------------------------------------------------- what readers and owners do


class CellKind(NamedTuple):
    """How gradients are added, and what copies are like."""

    parts: int  # of a copy
    asked: int  # floats that a reader gets of one
    read_gradient: Callable
    clear_gradient: Callable
    write_copy: Callable
    ask_copy: Callable
    unpack_copy: Callable


ROUNDED = CellKind(2, 8, load_four, clear_floats, write_rounded, ask_rounded, unpack_rounded)
EXACT = CellKind(
    4, 13, make_read_fixed_point(COLOURS), make_clear_fixed_point(COLOURS),
    write_exact, ask_exact, unpack_exact,
)  # fmt: skip


def cell_kind(deterministic):
    return EXACT if deterministic else ROUNDED


def make_move_ahead(kind):
    unpack_copy = kind.unpack_copy

    @cuda.jit(device=True)
    def move_ahead(learning_rate, next_learning_rate, rates, asked, gradients, cell):
        """Move a cell by the older of the two gradients, and prepare for the other."""
        touched = is_touched(gradients)
        correction_m, correction_v, next_m, next_v = unpack_copy(asked, cell, touched)
        for c in range(COLOURS):
            m, v = cell[M + c], cell[V + c]
            if touched:
                m, v = decay(m, v, rates)
                m, v = averages(m, v, gradients[c], rates)
                cell[VALUE + c] = moved(
                    cell[VALUE + c], m, v, learning_rate * correction_m, correction_v, rates
                )
            cell[M + c], cell[V + c] = decay(m, v, rates)
        cell[RATE], cell[CORRECTION_V] = next_learning_rate * next_m, next_v

    return move_ahead


@cuda.jit(device=True)
def move_now(gradients, cell, rates):
    """Move a cell by the newer gradient."""
    if is_touched(gradients):
        for c in range(COLOURS):
            m, v = averages(cell[M + c], cell[V + c], gradients[c], rates)
            cell[VALUE + c] = moved(cell[VALUE + c], m, v, cell[RATE], cell[CORRECTION_V], rates)


@cuda.jit(device=True)
def corrections_of(arrays, count):
    """Of the next two moves of a cell that has been moved `count` times."""
    last = int32(arrays.cell_corrections.shape[0] - 1)
    return load_four(arrays.cell_corrections, min(count, last))


@cuda.jit(device=True)
def read_own(arrays, cell, own):
    own[0], own[1], own[2], _ = load_four(arrays.feature_grid, cell)
    own[3], own[4], own[5], _ = load_four(arrays.grid_m, cell)
    own[6], own[7], own[8], own[COUNT] = load_four(arrays.grid_v, cell)
    own[10], own[11], own[12], own[13] = corrections_of(arrays, int32(own[COUNT]))


@cuda.jit(device=True)
def write_own(arrays, cell, own):
    none = float32(0)
    store_four(arrays.feature_grid, cell, own[0], own[1], own[2], none)
    store_four(arrays.grid_m, cell, own[3], own[4], own[5], none)
    store_four(arrays.grid_v, cell, own[6], own[7], own[8], own[COUNT])


@cuda.jit(device=True)
def move_own(gradients, next_corrections, own, learning_rate, rates):
    """Move a cell for good."""
    if is_touched(gradients):
        rate = learning_rate * own[CORRECTIONS]
        for c in range(COLOURS):
            m, v = decay(own[3 + c], own[6 + c], rates)
            m, v = averages(m, v, gradients[c], rates)
            own[c] = moved(own[c], m, v, rate, own[CORRECTIONS + 1], rates)
            own[3 + c], own[6 + c] = m, v
        own[COUNT] += float32(1)
        for n in range(4):
            own[CORRECTIONS + n] = next_corrections[n]
