"""Sizes of the kernel with one barrier per step, and the cells that each of its blocks owns.

An owner moves its cells for good, one step after their gradients have been added, and leaves the
copies that readers start from. See `one_barrier` for the whole.
"""

from typing import NamedTuple

from numba import cuda, float32, int32, uint32

from kernels.fast.arrays import TURN_MASK, TURNS
from kernels.fast.cells import (
    COUNT,
    OWN_CELL,
    cell_kind,
    corrections_of,
    move_own,
    read_own,
    write_own,
)
from kernels.fast.sizes import SHARED_BYTES, WARP
from kernels.fast.warp_network import GROUP, transposed_tiles
from kernels.fast.weight_tiles import tile_numbers

SAMPLES = 128  # per block
THREADS = 4 * SAMPLES
REGISTERS = 128  # per thread: as many as a processor has for one block
REPLICAS = 4  # of the weights' sums


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


def make_owners(kind, clear_weights, sum_rows):
    """(prologue, own_cells, epilogue): what the rear does for the cells that a block owns.

    Its threads have neighbouring cells. The first of each stays in registers, in `own`.
    """
    threads = THREADS // 2
    read_gradient, clear_gradient = kind.read_gradient, kind.clear_gradient
    write_copy = kind.write_copy

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
                write_copy(arrays.cell_copies, row, uint32(TURNS * cells), own)
            for turn in range(TURNS):
                clear_gradient(arrays.grad_cells, uint32(turn * cells + cell))
            cell = uint32(cell + threads)
        clear_sums(arrays, 0, TURNS * sum_rows)
        if owner < end:
            read_own(arrays, owner, own)

    @cuda.jit(device=True)
    def ask_own(arrays, i, cell, own, gradients, next_corrections):
        """Read what step i - 1 has added to an own cell, and what to keep if it moves."""
        before = uint32(((i - 1) & TURN_MASK) * uint32(arrays.feature_grid.shape[0]))
        gradients[0], gradients[1], gradients[2], _ = read_gradient(
            arrays.grad_cells, uint32(before + cell)
        )
        (
            next_corrections[0], next_corrections[1], next_corrections[2], next_corrections[3],
        ) = corrections_of(arrays, int32(own[COUNT]) + 1)  # fmt: skip

    @cuda.jit(device=True)
    def own_cell(arrays, i, learning_rate, rates, cell, own, gradients, next_corrections):
        """Move a cell, leave a copy of it, and clear its gradient of the next step."""
        cells = uint32(arrays.feature_grid.shape[0])
        before = uint32(((i - 1) & TURN_MASK) * cells)
        after = uint32(((i + 1) & TURN_MASK) * cells)
        clear_gradient(arrays.grad_cells, uint32(after + cell))
        move_own(gradients, next_corrections, own, learning_rate, rates)
        write_copy(arrays.cell_copies, uint32(before + cell), uint32(TURNS * cells), own)

    @cuda.jit(device=True)
    def own_cells(arrays, i, learning_rate, rates, owner, end, own, gradients, next_corrections):
        """gradients, next_corrections: of the first cell, from `ask_own`."""
        if owner < end:
            own_cell(arrays, i, learning_rate, rates, owner, own, gradients, next_corrections)
        # If the grid is large, there are more of them, which live in memory.
        cell = uint32(owner + threads)
        if cell < end:
            other = cuda.local.array(OWN_CELL, float32)
            while cell < end:
                read_own(arrays, cell, other)
                ask_own(arrays, i, cell, other, gradients, next_corrections)
                own_cell(arrays, i, learning_rate, rates, cell, other, gradients, next_corrections)
                write_own(arrays, cell, other)
                cell = uint32(cell + threads)
        clear_sums(arrays, ((i + 1) & TURN_MASK) * sum_rows, sum_rows)

    @cuda.jit(device=True)
    def epilogue(arrays, i, learning_rate, rates, owner, end, own, gradients, next_corrections):
        """Move all cells by the last gradient, and put them back."""
        cell = owner
        while cell < end:
            if cell != owner:
                read_own(arrays, cell, own)
            ask_own(arrays, i, cell, own, gradients, next_corrections)
            move_own(gradients, next_corrections, own, learning_rate, rates)
            write_own(arrays, cell, own)
            cell = uint32(cell + threads)

    return prologue, ask_own, own_cells, epilogue
