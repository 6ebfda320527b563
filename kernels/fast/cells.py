"""Cells of the grid when whoever reads a cell moves it, for the kernel with one barrier per step.

    copy of a cell, two steps old; its gradients of both steps  ->  the cell as it is now

The idea: one thread would have to move a cell, and all others would have to wait until it has. So a
reader moves the cell itself, in registers, and forgets it again. One thread, the cell's *owner*,
does the same for good, one step after the gradients have been added, and leaves a *copy* of what
the next readers need: value, Adam's averages and the corrections of their bias.
`persistent_one_barrier` says who reads and writes which buffer when.

A copy is rows of four floats in arrays of their own, its *parts*, so that neighbouring threads
write neighbouring rows. There are two kinds. A *rounded* copy has two parts: the value is exact,
averages and corrections are bfloat16, two in the place of one float. Only what a step sees of a
cell is rounded, the owner keeps all digits. An *exact* copy has four parts: with it a run that was
interrupted and goes on has the same bits as one that was not.
"""

from collections.abc import Callable
from typing import NamedTuple

from numba import cuda, float32, int32, uint32

from kernels.config import COLOURS
from kernels.fast.adam import CellSums, averages, decay, make_cell_sums, moved
from kernels.fast.ptx import float_as_word, load_four, pack_bfloat16, store_four, word_as_float
from kernels.fast.sizes import GROUP, SHARED_BYTES, TURN_MASK, TURNS, WARP
from kernels.fast.warp_network import transposed_tiles
from kernels.fast.weight_tiles import tile_numbers

SAMPLES = 128  # per block
THREADS = 4 * SAMPLES
REGISTERS = 128  # per thread: as many as a processor has for one block
REPLICAS = 4  # of the weights' sums

# What a thread keeps of a cell that it reads ...
SHARE, VALUE, M, V, RATE, CORRECTION_V, READ_CELL = 0, 1, 4, 7, 10, 11, 12
# ... and of one that it owns: three values, m and v, how often it was moved, and the corrections of
# the next move and of the one after it.
COUNT, CORRECTIONS, OWN_CELL = 9, 10, 14


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
def load_rounded(copies, row, rows, copy):
    copy[0], copy[1], copy[2], copy[3] = load_four(copies, row)
    copy[4], copy[5], copy[6], copy[7] = load_four(copies, uint32(rows + row))


@cuda.jit(device=True)
def unpack_rounded(copy, cell, touched):
    """Leaves value, m and v in `cell`.

    Returns the corrections of m and v for the next move, and those for the move one step later.
    """
    for c in range(COLOURS):
        cell[VALUE + c] = copy[c]
        cell[M + c], cell[V + c] = both_bfloat16(copy[4 + c])
    now_m, now_v = both_bfloat16(copy[3])
    then_m, then_v = both_bfloat16(copy[7] if touched else copy[3])
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
def load_exact(copies, row, rows, copy):
    copy[0], copy[1], copy[2], copy[3] = load_four(copies, row)
    copy[4], copy[5], copy[6], copy[7] = load_four(copies, uint32(rows + row))
    copy[8], copy[9], copy[10], copy[11] = load_four(copies, uint32(2 * rows + row))
    copy[12], _, _, _ = load_four(copies, uint32(3 * rows + row))


@cuda.jit(device=True)
def unpack_exact(copy, cell, touched):
    for c in range(COLOURS):
        cell[VALUE + c], cell[M + c], cell[V + c] = copy[c], copy[4 + c], copy[8 + c]
    then_m, then_v = (copy[11] if touched else copy[3]), (copy[12] if touched else copy[7])
    return copy[3], copy[7], then_m, then_v


class CellKind(NamedTuple):
    """How gradients are added, and what copies are like."""

    parts: int  # of a copy
    floats: int  # of a copy that a reader loads
    sums: CellSums
    write_copy: Callable
    load_copy: Callable
    unpack_copy: Callable


ROUNDED = CellKind(
    2, 8, make_cell_sums(COLOURS, False), write_rounded, load_rounded, unpack_rounded
)
EXACT = CellKind(4, 13, make_cell_sums(COLOURS, True), write_exact, load_exact, unpack_exact)


def cell_kind(deterministic):
    return EXACT if deterministic else ROUNDED


# ---------------------------------------------------------------- readers


def make_move_ahead(kind):
    @cuda.jit(device=True)
    def move_ahead(learning_rate, next_learning_rate, rates, copy, gradients, cell):
        """Move a cell by the older of the two gradients, and prepare for the other."""
        touched = is_touched(gradients)
        correction_m, correction_v, next_m, next_v = kind.unpack_copy(copy, cell, touched)
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


# ---------------------------------------------------------------- owners


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
def move_own(mine, learning_rate, rates):
    """Move a cell for good. mine: see `Owners`."""
    own, gradients, next_corrections = mine
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


class OneBarrierSize(NamedTuple):
    """What depends on the size of the network."""

    threads: int  # per block; SAMPLES of the batch are a block's
    sum_rows: int  # of the weights' sums, per turn
    copy_parts: int  # of a cell's copy
    shared_bytes: int  # per block


def one_barrier_size(hidden, layers, deterministic=False):
    """`OneBarrierSize` for one size of network."""
    tiles = tile_numbers(hidden, layers).tiles
    weights, features = 2 * tiles * WARP * 2, SAMPLES * 8
    transposed = transposed_tiles(hidden, layers) * SAMPLES // GROUP * WARP * 2
    colours, places = 4 * SAMPLES, 4 * SAMPLES
    return OneBarrierSize(
        threads=THREADS,
        sum_rows=REPLICAS * tiles * WARP,
        copy_parts=cell_kind(deterministic).parts,
        shared_bytes=4 * (weights + transposed + features + colours + places),
    )


def fits(hidden, layers, batch, processors):
    """Whether this kernel can take a batch: one block per processor, one tile of samples each."""
    small = one_barrier_size(hidden, layers).shared_bytes <= SHARED_BYTES
    return small and batch <= processors * SAMPLES


class Owners(NamedTuple):
    """What consumers do for the cells from `owner` to `end`, every `THREADS / 2`-th one a thread's.

    mine: local arrays, (own cell, its gradients, its next corrections). Neighbouring threads have
    neighbouring cells. The first of each thread stays in `mine`; others live in memory.
    """

    prologue: Callable
    load: Callable
    move: Callable
    epilogue: Callable


def make_owners(kind, clear_weights, sum_rows):
    threads = THREADS // 2

    @cuda.jit(device=True)
    def clear_sums(arrays, first, rows):
        row = uint32(threads * cuda.blockIdx.x + (cuda.threadIdx.x & (threads - 1)))
        while row < rows:
            clear_weights(arrays.grad_weights, uint32(first + row))
            row = uint32(row + threads * cuda.gridDim.x)

    @cuda.jit(device=True)
    def prologue(arrays, owner, end, own):
        """Copies of all cells for the first two steps; all gradients zero."""
        cells = uint32(arrays.feature_grid.shape[0])
        cell = owner
        while cell < end:
            read_own(arrays, cell, own)
            # The turns of steps -3 and -2.
            for turn in range(1, 3):
                row = uint32(turn * cells + cell)
                kind.write_copy(arrays.cell_copies, row, uint32(TURNS * cells), own)
            for turn in range(TURNS):
                kind.sums.clear(arrays.grad_cells, uint32(turn * cells + cell))
            cell = uint32(cell + threads)
        clear_sums(arrays, 0, TURNS * sum_rows)
        if owner < end:
            read_own(arrays, owner, own)

    @cuda.jit(device=True)
    def load(arrays, i, cell, mine):
        """Load what step i - 1 has added to an own cell, and what to keep if it moves."""
        own, gradients, next_corrections = mine
        before = uint32(((i - 1) & TURN_MASK) * uint32(arrays.feature_grid.shape[0]))
        gradients[0], gradients[1], gradients[2], _ = kind.sums.read(
            arrays.grad_cells, uint32(before + cell)
        )
        (
            next_corrections[0], next_corrections[1], next_corrections[2], next_corrections[3],
        ) = corrections_of(arrays, int32(own[COUNT]) + 1)  # fmt: skip

    @cuda.jit(device=True)
    def move_one(arrays, i, learning_rate, rates, cell, mine):
        """Move a cell, leave a copy of it, and clear its gradient of the next step."""
        cells = uint32(arrays.feature_grid.shape[0])
        before = uint32(((i - 1) & TURN_MASK) * cells)
        after = uint32(((i + 1) & TURN_MASK) * cells)
        kind.sums.clear(arrays.grad_cells, uint32(after + cell))
        move_own(mine, learning_rate, rates)
        kind.write_copy(arrays.cell_copies, uint32(before + cell), uint32(TURNS * cells), mine[0])

    @cuda.jit(device=True)
    def move(arrays, i, learning_rate, rates, owner, end, mine):
        """mine: of the first cell, from `load`."""
        if owner < end:
            move_one(arrays, i, learning_rate, rates, owner, mine)
        cell = uint32(owner + threads)
        if cell < end:
            other = cuda.local.array(OWN_CELL, float32), mine[1], mine[2]
            while cell < end:
                read_own(arrays, cell, other[0])
                load(arrays, i, cell, other)
                move_one(arrays, i, learning_rate, rates, cell, other)
                write_own(arrays, cell, other[0])
                cell = uint32(cell + threads)
        clear_sums(arrays, ((i + 1) & TURN_MASK) * sum_rows, sum_rows)

    @cuda.jit(device=True)
    def epilogue(arrays, i, learning_rate, rates, owner, end, mine):
        """Move all cells by the last gradient, and put them back."""
        cell = owner
        while cell < end:
            if cell != owner:
                read_own(arrays, cell, mine[0])
            load(arrays, i, cell, mine)
            move_own(mine, learning_rate, rates)
            write_own(arrays, cell, mine[0])
            cell = uint32(cell + threads)

    return Owners(prologue, load, move, epilogue)
