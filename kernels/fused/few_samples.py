"""Eight samples per block: what a small batch needs to keep a whole GPU busy.

    values (8, inputs), a matrix (inputs, units)  ->  sums (8, units)      at most 64 of either
    values (8, inputs), deltas (8, units)         ->  sums of the matrix's gradient

The idea: 1,024 samples are 128 blocks of eight, as many as a large GPU has processors. The samples
stay in shared memory from layer to layer; a weight is read from global memory once per block, into
a register, and there is multiplied with all eight samples. Each of the eight warps takes an eighth
of the inputs, so a sum is made of eight parts, which meet in shared memory:

    multiply   warp w: inputs 8 w to 8 w + 7; lane l: units l and l + 32; all samples
    finish     warp w: sample w;              lane l: units l and l + 32; all eight parts

A row of 64 numbers is declared as 16 fours: so the compiler sees that four of them can be read by
one instruction. Whole warps read the same four, a broadcast, for eight products; what lanes read or
write apart lies side by side. So no bank of shared memory is met twice, and nothing is padded.

On the way back the same product needs the matrix turned. So a turned copy lies beside it, and
who moves a weight writes both: no read is scattered, and there is one product for both ways.

Blocks share no sum: each has a row of its own in global memory, and `move_weights` adds the rows
up in their order. There are no atomics; the same inputs give the same bits.

Source: "split-k" products, as in NVIDIA's CUTLASS; the sums are Harris's, see `kernels/siren/sums`.
"""

import numpy as np
from numba import cuda, float32, int32, uint32

from kernels.config import WARP
from kernels.fast.adam import corrections_at
from kernels.field_math import adam_step
from kernels.launch import blocks_for, on_gpu
from kernels.plumbing.recording import FIRST_STEP

SAMPLES = 8  # per block; a warp for each
WIDTH = 64  # inputs, and units, of a matrix: at most
WARPS = SAMPLES
THREADS = WARPS * WARP
DEPTH = WIDTH // WARPS  # inputs per warp
# A row of shared memory, and a warp's part of it: four neighbours are read at once.
FOURS, WARP_FOURS = WIDTH // 4, DEPTH // 4
SHARE = WIDTH // WARP  # units per lane
MOST_BLOCKS = 128  # each has a row of sums; in a larger batch it takes eight samples after eight
ROWS_AT_ONCE = 8  # of sums, that the warps of a block of `move_weights` read


@cuda.jit(device=True)
def load_weights(flat, begin, rows, columns, own):
    """Read this thread's weights of a matrix (rows, columns), row by row from flat[begin] on.

    own (DEPTH, SHARE): float32 of the thread's own; zeros outside the matrix. Neighbours read
    neighbours.
    """
    load_in_steps(flat, begin, rows, columns, columns, 1, own)


@cuda.jit(device=True)
def load_turned(flat, begin, rows, columns, own):
    """The same of the matrix turned: what lies there is (columns, rows). For small matrices."""
    load_in_steps(flat, begin, rows, columns, 1, rows, own)


@cuda.jit(device=True)
def load_in_steps(flat, begin, rows, columns, down, across, own):
    """down, across: how far it is in `flat` to the next row, and to the next column."""
    lane, first = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP * DEPTH
    for i in range(DEPTH):
        for j in range(SHARE):
            row, column = first + i, lane + j * WARP
            own[i, j] = float32(0)
            if row < rows and column < columns:
                own[i, j] = flat[uint32(begin + row * down + column * across)]


@cuda.jit(device=True)
def clear(totals):
    """Set totals (SAMPLES, SHARE), of the thread's own, to zero."""
    for sample in range(SAMPLES):
        for j in range(SHARE):
            totals[sample, j] = float32(0)


@cuda.jit(device=True)
def add_products(values, top, own, totals):
    """Add to totals (SAMPLES, SHARE) the products of eight samples with the thread's weights.

    values: (any, FOURS, 4), in shared memory, complete; the samples' rows begin at `top`.
    """
    warp = cuda.threadIdx.x // WARP
    for i in range(DEPTH):
        for sample in range(SAMPLES):
            value = values[uint32(top + sample), uint32(warp * WARP_FOURS + i // 4), uint32(i % 4)]
            for j in range(SHARE):
                totals[sample, j] += value * own[i, j]


@cuda.jit(device=True)
def share(totals, parts):
    """Write the warp's part of all sums to parts (WARPS, SAMPLES, WIDTH), in shared memory."""
    lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    for sample in range(SAMPLES):
        for j in range(SHARE):
            parts[uint32(warp), uint32(sample), uint32(lane + j * WARP)] = totals[sample, j]


@cuda.jit(device=True)
def multiply(values, top, own, parts):
    """The warp's part of eight samples' values times a matrix of 64 rows, shared.

    values, top: as in `add_products`.
    """
    totals = cuda.local.array((SAMPLES, SHARE), float32)
    clear(totals)
    add_products(values, top, own, totals)
    share(totals, parts)


@cuda.jit(device=True)
def finished(parts, sample, unit):
    """The sum of one sample and unit: always in the order of the warps."""
    total = parts[uint32(0), uint32(sample), uint32(unit)]
    for warp in range(1, WARPS):
        total += parts[uint32(warp), uint32(sample), uint32(unit)]
    return total


@cuda.jit(device=True)
def add_gradients(values, top, deltas, sums, begin, rows, columns, is_first):
    """Add the block's gradients of a matrix (rows, columns) that begins at `begin` of its sums.

    values: as in `add_products`. deltas (SAMPLES, FOURS, 4), in shared memory, complete. sums
    (blocks, n): float32. is_first: what lies there is not added to.
    """
    lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    totals = cuda.local.array((DEPTH, SHARE), float32)
    for j in range(SHARE):
        for i in range(DEPTH):
            totals[i, j] = float32(0)
    for sample in range(SAMPLES):
        for j in range(SHARE):
            delta = deltas[uint32(sample), uint32((lane + j * WARP) // 4), uint32(lane % 4)]
            for i in range(DEPTH):
                four = uint32(warp * WARP_FOURS + i // 4)
                totals[i, j] += values[uint32(top + sample), four, uint32(i % 4)] * delta
    for j in range(SHARE):
        unit = lane + j * WARP
        for i in range(DEPTH):
            row = warp * DEPTH + i
            if row < rows and unit < columns:
                add_to(sums, begin + row * columns + unit, totals[i, j], is_first)


@cuda.jit(device=True)
def add_bias_gradients(deltas, sums, begin, columns, is_first):
    """The same of biases: one warp, a lane for every unit."""
    if cuda.threadIdx.x < WARP:
        for unit in range(cuda.threadIdx.x, columns, WARP):
            total = float32(0)
            for sample in range(SAMPLES):
                total += deltas[sample, unit // 4, unit % 4]
            add_to(sums, begin + unit, total, is_first)


@cuda.jit(device=True)
def add_to(sums, place, total, is_first):
    """Add to a number of the block's row, or begin it."""
    row, column = uint32(cuda.blockIdx.x), uint32(place)
    sums[row, column] = total if is_first else sums[row, column] + total


@cuda.jit(device=True)
def total_of_blocks(sums, place):
    """The sum of column `place` of sums, in warp 0; the other warps get a part of it.

    Blocks of WARP x ROWS_AT_ONCE threads: a warp for every eighth row, a lane for each column.
    """
    shared = cuda.shared.array((ROWS_AT_ONCE, WARP), float32)
    column, warp = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    if place < sums.shape[1]:
        for row in range(warp, sums.shape[0], ROWS_AT_ONCE):
            total += sums[uint32(row), uint32(place)]
    shared[warp, column] = total
    # The sums of all warps must be there before one of them adds them up.
    cuda.syncthreads()
    if warp == 0:
        for other in range(1, ROWS_AT_ONCE):
            total += shared[other, column]
    return total


@cuda.jit
def move_by_adam(
    clock, learning_rates, sums, weights, turned, places, m, v, corrections, rates
):  # fmt: skip
    """Add up the blocks' gradients, and move every weight by Adam, and its turned copy.

    sums (blocks, n); weights, turned, m, v (n,): float32. places (n,) int32: where the copy is.
    clock, learning_rates: see `kernels/plumbing/recording`; the clock shows the *next* step.
    corrections, rates: as in `kernels.adam`. Blocks as in `total_of_blocks`.
    """
    i = cuda.blockIdx.x * WARP + cuda.threadIdx.x
    gradient = total_of_blocks(sums, i)
    if cuda.threadIdx.y > 0 or i >= weights.shape[0]:
        return

    correction_m, correction_v = corrections_at(corrections, int32(clock[FIRST_STEP] - 1))
    weights[i], m[i], v[i] = adam_step(
        weights[i], gradient, m[i], v[i], correction_m, correction_v, learning_rates[0, 0], rates
    )
    turned[places[i]] = weights[i]


def launch_move_by_adam(clock, learning_rates, sums, weights, *others, launch=on_gpu):
    blocks = blocks_for(weights.shape[0], WARP)
    launch(
        move_by_adam, blocks, (WARP, ROWS_AT_ONCE), clock, learning_rates, sums, weights, *others
    )


def turned_places(shapes):
    """(n,) int32: where each parameter has its copy, if every matrix is turned where it lies.

    shapes: (rows, columns) of what lies one behind another; biases are a row.
    """
    ends = np.cumsum([rows * columns for rows, columns in shapes])
    places = [
        np.arange(end - rows * columns, end).reshape(columns, rows).T.ravel()
        for end, (rows, columns) in zip(ends, shapes, strict=True)
    ]
    return np.concatenate(places).astype(np.int32)


def blocks_of_sums(samples):
    """How many blocks take so many samples, each with a row of sums."""
    return min(blocks_for(samples, SAMPLES), MOST_BLOCKS)
