"""Weights in tiles of 16 units x 8 inputs, each owned by one warp of every block.

    gradient sums of all blocks, in tiles  ->  weights moved, in registers  ->  packed, for products

The idea: a tensor core leaves the gradient of a tile as four numbers per lane. Sums, weights and
Adam's averages keep this layout wherever they are: nothing is ever rearranged. Every block moves
all weights, each in its own registers: what a block packs for its products it need not read.

In memory sums have a row per lane: (turns * replicas * tiles * 32, 4) float32. Additions to one
address wait for each other, so blocks divide themselves among several replicas. Deterministic sums
are whole numbers, two of 32 bits packed into an int64: (..., 2).
"""

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from numba import cuda, float32, int32, int64, uint32

from kernels.config import FEATURES, OUTPUTS
from kernels.fast.adam import averages, clear_floats, decay, moved
from kernels.fast.ptx import add_four, load_four, pack_bfloat16, pack_halves, transpose_8x8
from kernels.fast.sizes import FEATURE_TILES, WARP

TILE_STATE = 12  # floats per lane and tile: four weights, four m, four v
WEIGHT_UNITS = 2.0**30  # a whole-number gradient counts in units of 1 / WEIGHT_UNITS
LARGEST_SUM = 2.0**31 - 256


class TileNumbers(NamedTuple):
    """Where the tiles of each matrix are: the first matrix's begin at 0."""

    first_middle: int
    middle: int  # tiles of one matrix between hidden layers
    first_last: int
    tiles: int


def tile_numbers(hidden, layers):
    """`TileNumbers` for `layers` hidden layers of `hidden` units."""
    first_middle = hidden // 16 * FEATURE_TILES
    middle = hidden // 16 * (hidden // 8)
    first_last = first_middle + (layers - 1) * middle
    return TileNumbers(first_middle, middle, first_last, first_last + hidden // 8)


# ---------------------------------------------------------------- sums of floats


class TileSums(NamedTuple):
    """One way to add up the gradients of a tile, of which a lane has four."""

    add: Callable  # (sums, the tile's first row, lane, four floats)
    read: Callable  # (sums, row, lane) -> four floats
    clear: Callable  # (sums, row): one row


@cuda.jit(device=True)
def add_floats(sums, first, lane, c0, c1, c2, c3):
    add_four(sums, uint32(first + lane), c0, c1, c2, c3)


@cuda.jit(device=True)
def read_floats(sums, first, lane):
    return load_four(sums, uint32(first + lane))


# ---------------------------------------------------------------- sums of whole numbers


@cuda.jit(device=True)
def whole_number(gradient):
    """Rounded; and so limited that the sum of all blocks' fits into 32 bits."""
    largest = float32(LARGEST_SUM) / float32(cuda.gridDim.x)
    units = min(max(float32(WEIGHT_UNITS) * gradient, -largest), largest)
    return int64(math.floor(units + float32(0.5)))


@cuda.jit(device=True)
def add_whole_numbers(sums, first, lane, c0, c1, c2, c3):
    """Neighbouring lanes add to neighbouring numbers."""
    row, column = first + (lane >> 1), lane & 1
    cuda.atomic.add(sums, (row, column), whole_number(c0) + (whole_number(c1) << 32))
    cuda.atomic.add(sums, (row + 16, column), whole_number(c2) + (whole_number(c3) << 32))


@cuda.jit(device=True)
def both_numbers(pair):
    """A negative lower number has borrowed 1 from the upper one."""
    lower = int32(pair & 0xFFFFFFFF)
    upper = int32((pair - int64(lower)) >> 32)
    unit = float32(1 / WEIGHT_UNITS)
    return float32(lower) * unit, float32(upper) * unit


@cuda.jit(device=True)
def read_whole_numbers(sums, first, lane):
    row, column = uint32(first + (lane >> 1)), uint32(lane & 1)
    g0, g1 = both_numbers(sums[row, column])
    g2, g3 = both_numbers(sums[uint32(row + 16), column])
    return g0, g1, g2, g3


@cuda.jit(device=True)
def clear_whole_numbers(sums, row):
    sums[row, 0] = int64(0)
    sums[row, 1] = int64(0)


def tile_sums(deterministic):
    if deterministic:
        return TileSums(add_whole_numbers, read_whole_numbers, clear_whole_numbers)
    return TileSums(add_floats, read_floats, clear_floats)


# ---------------------------------------------------------------- weights in registers


class OwnTiles(NamedTuple):
    """Device functions for the tiles that a warp owns."""

    state: int  # floats that a lane keeps
    gradients: tuple  # shape of a local array
    read: Callable
    write: Callable
    read_gradients: Callable
    move: Callable
    decay: Callable
    pack: Callable


def make_weight_of(hidden, layers):
    numbers = tile_numbers(hidden, layers)
    first_matrix, matrix = FEATURES * hidden, hidden * hidden
    unit_tiles = hidden // 8
    last_matrix = first_matrix + (layers - 1) * matrix

    @cuda.jit(device=True)
    def weight_of(tile, lane):
        """(place of a lane's first weight of a tile, distance to the next input's weight).

        The lane's weights are those of two neighbouring inputs, to a unit and to one 8 further.
        """
        unit, part = lane >> 2, 2 * (lane & 3)
        if tile < numbers.first_middle:
            block, inputs = tile // FEATURE_TILES, tile % FEATURE_TILES
            return (8 * inputs + part) * hidden + 16 * block + unit, hidden
        if tile < numbers.first_last:
            local = tile - numbers.first_middle
            layer, local = local // numbers.middle, local % numbers.middle
            block, inputs = local // unit_tiles, local % unit_tiles
            first = first_matrix + layer * matrix
            return first + (8 * inputs + part) * hidden + 16 * block + unit, hidden
        return last_matrix + (8 * (tile - numbers.first_last) + part) * OUTPUTS + unit, OUTPUTS

    return weight_of


@cuda.jit(device=True)
def pack_tile(tile, lane, w0, w1, w2, w3, forward_words, backward_words):
    """Copy a tile into shared memory, for products of both directions."""
    forward_words[tile, lane, 0] = pack_halves(w0, w1)
    forward_words[tile, lane, 1] = pack_halves(w2, w3)
    backward_words[tile, lane, 0] = transpose_8x8(pack_bfloat16(w0, w1))
    backward_words[tile, lane, 1] = transpose_8x8(pack_bfloat16(w2, w3))


@cache
def make_own_tiles(hidden, layers, warps, replicas, sums):
    """`OwnTiles` for blocks of `warps` warps. sums: `TileSums`."""
    tiles = tile_numbers(hidden, layers).tiles
    rounds = (tiles + warps - 1) // warps
    all_own_one = tiles % warps == 0
    rows = tiles * WARP
    weight_of, read_tile = make_weight_of(hidden, layers), sums.read

    @cuda.jit(device=True)
    def read(arrays, warp, lane, state):
        for n in range(rounds):
            tile, s = warp + n * warps, TILE_STATE * n
            if all_own_one or tile < tiles:
                first, distance = weight_of(tile, lane)
                for j in range(4):
                    at = first + (j & 1) * distance + (j >> 1) * 8
                    state[s + j] = arrays.weights[at]
                    state[s + 4 + j] = arrays.weights_m[at]
                    state[s + 8 + j] = arrays.weights_v[at]

    @cuda.jit(device=True)
    def write(arrays, warp, lane, state):
        for n in range(rounds):
            tile, s = warp + n * warps, TILE_STATE * n
            if all_own_one or tile < tiles:
                first, distance = weight_of(tile, lane)
                for j in range(4):
                    at = first + (j & 1) * distance + (j >> 1) * 8
                    arrays.weights[at] = state[s + j]
                    arrays.weights_m[at] = state[s + 4 + j]
                    arrays.weights_v[at] = state[s + 8 + j]

    @cuda.jit(device=True)
    def read_gradients(grad_weights, first_row, warp, lane, gradients):
        """first_row: of the turn that is read."""
        for n in range(rounds):
            tile = warp + n * warps
            if all_own_one or tile < tiles:
                for replica in range(replicas):
                    row = uint32(first_row + replica * rows + WARP * tile)
                    g0, g1, g2, g3 = read_tile(grad_weights, row, lane)
                    gradients[n, replica, 0], gradients[n, replica, 1] = g0, g1
                    gradients[n, replica, 2], gradients[n, replica, 3] = g2, g3

    @cuda.jit(device=True)
    def move(warp, gradients, state, rate, correction_v, rates):
        """m and v must have been decayed. rate: the learning rate times the correction of m."""
        for n in range(rounds):
            if all_own_one or warp + n * warps < tiles:
                for j in range(4):
                    s = TILE_STATE * n + j
                    gradient = gradients[n, 0, j]
                    for replica in range(1, replicas):
                        gradient += gradients[n, replica, j]
                    m, v = averages(state[s + 4], state[s + 8], gradient, rates)
                    state[s] = moved(state[s], m, v, rate, correction_v, rates)
                    state[s + 4], state[s + 8] = m, v

    @cuda.jit(device=True)
    def decay_averages(warp, state, rates):
        for n in range(rounds):
            if all_own_one or warp + n * warps < tiles:
                for j in range(4):
                    s = TILE_STATE * n + j
                    state[s + 4], state[s + 8] = decay(state[s + 4], state[s + 8], rates)

    @cuda.jit(device=True)
    def pack(warp, lane, state, forward_words, backward_words):
        for n in range(rounds):
            tile, s = warp + n * warps, TILE_STATE * n
            if all_own_one or tile < tiles:
                pack_tile(
                    tile, lane, state[s], state[s + 1], state[s + 2], state[s + 3],
                    forward_words, backward_words,
                )  # fmt: skip

    return OwnTiles(
        rounds * TILE_STATE, (rounds, replicas, 4),
        read, write, read_gradients, move, decay_averages, pack,
    )  # fmt: skip
