"""Cells of a grid in words of 32 bits, without a gap between them.

    values (n,) float32  ->  words (m,) uint32, with m = n * bits / 32, rounded up
    words, cell          ->  the three levels of the cell

The idea: number i has the bits from i * bits on, the lowest first, whatever word that is in. To
write, a word has an owner: a thread that gathers the parts of the numbers that lie in it, first and
last one cut off if need be. So no two threads write to one word, and nothing has to be atomic. To
read, a cell needs one word, or two where it lies across the end of one.

Source: Giesen, "Reading bits in far too many ways", 2018 (https://fgiesen.wordpress.com).
"""

from numba import cuda, int32, uint32, uint64
from numba.extending import register_jitable

from kernels.bits.quantise import level_of
from kernels.config import BLOCK_THREADS, GRID_CHANNELS
from kernels.launch import blocks_for, on_gpu

WORD = 32  # bits


@cuda.jit
def pack_cells(values, bits, words):
    """Round the values to levels, and write the levels one behind the other. One thread per word.

    values: (n,) float32. bits: 1 to MAX_BITS. Sets words (m,) uint32; bits that are left over in
    the last word are 0.
    """
    word = cuda.grid(1)
    if word >= words.shape[0]:
        return

    begin = word * WORD
    packed = uint64(0)
    for i in range(begin // bits, min((begin + WORD - 1) // bits + 1, values.shape[0])):
        level = uint64(level_of(values[i], bits))
        place = i * bits - begin
        # The first number may begin in the word before: what lies there is not ours.
        packed |= level << uint64(place) if place >= 0 else level >> uint64(-place)
    words[word] = uint32(packed & uint64(0xFFFFFFFF))


@register_jitable
def unpack_cell(words, cell, bits):
    """The three levels of a cell: int32. Reads one word, or two.

    words: as `pack_cells` makes them. cell: its number, row by row. bits: of each level.
    """
    begin = cell * GRID_CHANNELS * bits
    word = begin // WORD
    place = begin % WORD
    packed = uint64(words[word])
    if place + GRID_CHANNELS * bits > WORD:
        packed |= uint64(words[word + 1]) << uint64(WORD)
    packed >>= uint64(place)
    mask = uint64((1 << bits) - 1)
    return (
        int32(packed & mask),
        int32(packed >> uint64(bits) & mask),
        int32(packed >> uint64(2 * bits) & mask),
    )


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
