"""Lesson 20: as few bits as possible. A picture in a tenth of a byte per pixel.

Write the functions marked "write me"; the story is in README.md beside this file.

    values  ->  quantised              what the network sees while it is trained
    values  ->  words                  what is stored
    words, a cell  ->  three levels    what is read of it, anywhere
    words, weights, texels  ->  colours

Check your work with `python -m lessons check 20`.
"""

import math

from numba import cuda, float32, int32, uint32, uint64
from numba.extending import register_jitable

from kernels.bits.cells import WORD
from kernels.bits.texel import HIDDEN, INPUTS, WEIGHTS
from kernels.config import (
    BLOCK_THREADS,
    COLOURS,
    ENCODED,
    FOURIER_OCTAVES,
    GRID_CHANNELS,
    SUB_CELL_FEATURES,
)
from kernels.field_math import (
    corner_weights,
    neighbours,
    pixel_centre,
    relu,
    sigmoid,
    sine_of_turns,
)
from kernels.launch import blocks_for, on_gpu


@register_jitable
def level_of(value, bits):
    """The level, of 0 to 2^bits - 1, that is nearest to a value, of two the upper one: int32.

    value: float32; what is below -1 or above 1 is clipped first. bits: 1 to MAX_BITS.
    """
    raise NotImplementedError("write me")


@register_jitable
def level_value(level, bits):
    """What a level stands for: float32, -1 for level 0, and 1 for the last one."""
    raise NotImplementedError("write me")


@cuda.jit
def quantise(values, bits, quantised):
    """Round every value to its level. One thread per value.

    values: (n,) float32. bits: 1 to MAX_BITS. Sets quantised (n,) float32.
    """
    raise NotImplementedError("write me")


@cuda.jit
def follow(values, quantised, moved):
    """Add to every value what the optimiser has added to its rounded copy. One thread per value.

    quantised: (n,) float32, the copy before; moved: (n,) float32, the copy after. Changes values
    (n,) float32; those below -1 or above 1 stay.
    """
    raise NotImplementedError("write me")


def launch_quantise(values, bits, quantised, launch=on_gpu):
    blocks = blocks_for(values.shape[0], BLOCK_THREADS)
    launch(quantise, blocks, BLOCK_THREADS, values, bits, quantised)


def launch_follow(values, quantised, moved, launch=on_gpu):
    blocks = blocks_for(values.shape[0], BLOCK_THREADS)
    launch(follow, blocks, BLOCK_THREADS, values, quantised, moved)


@cuda.jit
def pack_cells(values, bits, words):
    """Round the values to levels, and write the levels one behind the other. One thread per word.

    values: (n,) float32. bits: 1 to MAX_BITS. Sets words (m,) uint32; bits that are left over in
    the last word are 0.
    """
    raise NotImplementedError("write me")


@register_jitable
def unpack_cell(words, cell, bits):
    """The three levels of a cell: int32. Reads one word, or two.

    words: as `pack_cells` makes them. cell: its number, row by row. bits: of each level.
    """
    raise NotImplementedError("write me")


@cuda.jit
def read_cells(words, bits, cells, levels):
    """The levels of some cells, in any order. One thread per cell.

    words, bits: see `unpack_cell`. cells: (n,) int32. Sets levels (n, 3) int32.
    """
    i = cuda.grid(1)
    if i < cells.shape[0]:
        first, second, third = unpack_cell(words, cells[i], bits)
        levels[i, 0] = first
        levels[i, 1] = second
        levels[i, 2] = third


def launch_pack_cells(values, bits, words, launch=on_gpu):
    blocks = blocks_for(words.shape[0], BLOCK_THREADS)
    launch(pack_cells, blocks, BLOCK_THREADS, values, bits, words)


def launch_read_cells(words, bits, cells, levels, launch=on_gpu):
    blocks = blocks_for(cells.shape[0], BLOCK_THREADS)
    launch(read_cells, blocks, BLOCK_THREADS, words, bits, cells, levels)


@register_jitable
def blend_cells(u, v, words, bits, columns, rows, features):
    """Blend the numbers of the four cells around a coordinate into features[0], [1] and [2].

    u, v: float32 in [0, 1). words: see `cells.py`, of a grid of `columns` x `rows` cells.
    features: (14,) float32. Returns how far the coordinate lies from the first cell's centre toward
    the next, along x and along y: float32.
    """
    raise NotImplementedError("write me")


@register_jitable
def describe(u, v, x_fraction, y_fraction, features):
    """Write features 3 to 12, which say where a coordinate is, and the one behind them.

    u, v, x_fraction, y_fraction: float32 in [0, 1). features: (14,) float32.
    """
    features[GRID_CHANNELS] = sine_of_turns(x_fraction)
    features[GRID_CHANNELS + 1] = sine_of_turns(y_fraction)
    channel = GRID_CHANNELS + SUB_CELL_FEATURES
    for axis in range(2):
        waves = u if axis == 0 else v
        for _ in range(FOURIER_OCTAVES):
            features[channel] = sine_of_turns(waves)
            features[channel + 1] = sine_of_turns(waves + float32(0.25))
            channel += 2
            waves *= float32(2)
    features[ENCODED] = float32(1)


@register_jitable
def total_of(inputs, count, weights, first, unit, units):
    """What a unit sums up: inputs times its weights, float32.

    The layer's weights begin at weights[first], row by row: `units` for each of `count` inputs.
    """
    total = float32(0)
    for k in range(count):
        total += inputs[k] * weights[first + k * units + unit]
    return total


@cuda.jit
def decode_texels(words, bits, columns, rows, weights, width, height, texels, colours):
    """Read texels of a packed picture. One thread per texel.

    words: (m,) uint32, see `cells.py`, of a grid of columns x rows cells. weights: (WEIGHTS,)
    float32. The picture has width x height texels; texels: (n,) int32, their numbers row by row, in
    any order. Sets colours (n, 3) float32.
    """
    raise NotImplementedError("write me")


def launch_decode_texels(
    words, bits, columns, rows, weights, width, height, texels, colours, launch=on_gpu
):
    blocks = blocks_for(texels.shape[0], BLOCK_THREADS)
    launch(
        decode_texels, blocks, BLOCK_THREADS,
        words, bits, columns, rows, weights, width, height, texels, colours,
    )  # fmt: skip
