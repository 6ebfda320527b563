"""What the instructions of `ptx` do, emulated in plain NumPy.

The lab's checked simulator runs these functions in place of the instructions. Values are arrays of
shape (warps, 32): one row per warp, one column per lane, so that a function sees all lanes of a
warp. The tests compare each instruction with its emulation on a GPU.
"""

import numpy as np

LANE = np.arange(32)
# What one lane holds begins in this row and column of a matrix: lane 4 r + c has r and c.
ROW, COLUMN = np.divmod(LANE, 4)


# ---------------------------------------------------------------- pairs of 16-bit floats


def words_of(low, high):
    """Pack two arrays of 16-bit patterns (uint16) into one of uint32 words."""
    return low.astype(np.uint32) | (high.astype(np.uint32) << np.uint32(16))


def half_bits(values):
    """float32 -> the 16-bit patterns of halves; too large becomes infinity."""
    with np.errstate(over="ignore"):
        return values.astype(np.float16).view(np.uint16)


def bfloat16_bits(values):
    """float32 -> its upper 16 bits, rounded to nearest, ties to even."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    return np.where(np.isnan(values), np.uint32(0x7FFF), rounded >> np.uint32(16)).astype(np.uint16)


def halves_of(words):
    """(low, high) as float32 of words that hold two halves."""
    words = np.ascontiguousarray(words, np.uint32)
    low = (words & np.uint32(0xFFFF)).astype(np.uint16).view(np.float16)
    high = (words >> np.uint32(16)).astype(np.uint16).view(np.float16)
    return low.astype(np.float32), high.astype(np.float32)


def bfloat16s_of(words):
    """(low, high) as float32 of words that hold two bfloat16 numbers."""
    words = np.ascontiguousarray(words, np.uint32)
    low, high = words << np.uint32(16), words & np.uint32(0xFFFF0000)
    return low.view(np.float32), high.view(np.float32)


def relu(values):
    """max(x, 0) as the instruction does it: NaN stays NaN."""
    return np.where(values < 0, np.float32(0), values)


def pack_halves(low, high):
    return words_of(half_bits(low), half_bits(high))


def pack_relu_halves(low, high):
    return pack_halves(relu(low), relu(high))


def pack_bfloat16(low, high):
    return words_of(bfloat16_bits(low), bfloat16_bits(high))


def pack_relu_bfloat16(low, high):
    return pack_bfloat16(relu(low), relu(high))


def halves_to_bfloat16(word):
    return pack_bfloat16(*halves_of(word))


def mask_of_signs(word):
    low = np.where(word & np.uint32(0x8000), np.uint16(0xFFFF), np.uint16(0))
    high = np.where(word & np.uint32(0x80000000), np.uint16(0xFFFF), np.uint16(0))
    return words_of(low, high)


def mask_of_positive_halves(word):
    low, high = halves_of(word)
    ones = np.uint16(0xFFFF)
    return words_of(np.where(low > 0, ones, np.uint16(0)), np.where(high > 0, ones, np.uint16(0)))


def word_as_float(word):
    return np.ascontiguousarray(word, np.uint32).view(np.float32)


def float_as_word(number):
    return np.ascontiguousarray(number, np.float32).view(np.uint32)


def select_16_bits(first, second, upper):
    shift = np.where(upper, np.uint32(16), np.uint32(0))
    return words_of((first >> shift) & np.uint32(0xFFFF), (second >> shift) & np.uint32(0xFFFF))


# ---------------------------------------------------------------- tensor cores


def a_matrix(unpack, a0, a1, a2, a3):
    """(warps, 16, 16) float64 that the A fragments of 32 lanes make up."""
    matrix = np.empty((len(a0), 16, 16))
    for word, (down, right) in zip((a0, a1, a2, a3), ((0, 0), (8, 0), (0, 8), (8, 8)), strict=True):
        low, high = unpack(word)
        matrix[:, ROW + down, 2 * COLUMN + right] = low
        matrix[:, ROW + down, 2 * COLUMN + right + 1] = high
    return matrix


def b_matrix(unpack, b0, b1):
    """(warps, 16, 8) float64 that the B fragments of 32 lanes make up: ROW counts its columns."""
    matrix = np.empty((len(b0), 16, 8))
    for word, down in ((b0, 0), (b1, 8)):
        low, high = unpack(word)
        matrix[:, 2 * COLUMN + down, ROW] = low
        matrix[:, 2 * COLUMN + down + 1, ROW] = high
    return matrix


def multiply(unpack, a, b, c):
    """C + A @ B, from fragments to fragments: a, b, c are tuples of 4, 2 and 4 arrays."""
    return add_product(a_matrix(unpack, *a) @ b_matrix(unpack, *b), c)


def add_product(product, c):
    """C plus a product (warps, 16, 8), as fragments."""
    places = (0, 0), (0, 1), (8, 0), (8, 1)
    return tuple(
        (product[:, ROW + down, 2 * COLUMN + right] + addend).astype(np.float32)
        for addend, (down, right) in zip(c, places, strict=True)
    )


def multiply_halves(a0, a1, a2, a3, b0, b1, c0, c1, c2, c3):
    return multiply(halves_of, (a0, a1, a2, a3), (b0, b1), (c0, c1, c2, c3))


def multiply_bfloat16(a0, a1, a2, a3, b0, b1, c0, c1, c2, c3):
    return multiply(bfloat16s_of, (a0, a1, a2, a3), (b0, b1), (c0, c1, c2, c3))


def round_to_tf32(values):
    """float32 -> its bits, rounded to 11 significant ones; ties away from zero."""
    bits = float_as_word(values)
    rounded = (bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)
    return np.where(np.isnan(values), np.uint32(0x7FFFFFFF), rounded)


def multiply_tf32(a0, a1, a2, a3, b0, b1, c0, c1, c2, c3):
    a, b = np.empty((len(a0), 16, 8)), np.empty((len(b0), 8, 8))
    used = np.uint32(0xFFFFE000)
    for word, (down, right) in zip((a0, a1, a2, a3), ((0, 0), (8, 0), (0, 4), (8, 4)), strict=True):
        a[:, ROW + down, COLUMN + right] = word_as_float(word & used)
    for word, down in ((b0, 0), (b1, 4)):
        b[:, COLUMN + down, ROW] = word_as_float(word & used)
    return add_product(a @ b, (c0, c1, c2, c3))


def power_of_two(exponents):
    return np.exp2(np.asarray(exponents, np.float32))


def transpose_8x8(words):
    words = np.ascontiguousarray(words, np.uint32)
    matrix = np.stack([words & np.uint32(0xFFFF), words >> np.uint32(16)], axis=-1)
    transposed = matrix.reshape(-1, 8, 8).transpose(0, 2, 1).reshape(-1, 32, 2)
    return words_of(transposed[:, :, 0], transposed[:, :, 1])


# ---------------------------------------------------------------- memory

# Arrays are objects of the simulator: it checks each access, `add` is atomic, and `release` and
# `acquire` put what other threads wrote in order.


def load_four(array, row):
    return tuple(array[row, i] for i in range(4))


def store_four(array, row, *values):
    for i, value in enumerate(values):
        array[row, i] = value


def add_four(array, row, *values):
    for i, value in enumerate(values):
        array.add((row, i), value)


def begin_copy(tile, tile_row, tile_column, matrix, row, column, inside):
    """Copies at once: that nobody reads too early is seen on a GPU only."""
    for i in range(4):
        # What is outside is not read; something else is, and not used.
        words = matrix[np.where(inside, row, 0), np.where(inside, column + i, 0)]
        tile[tile_row, tile_column + i] = np.where(inside, words, np.zeros_like(words))


def wait_for_copies():
    """Nothing is under way here."""


def arrive(counter):
    counter.release((0,), np.uint32(1))


def arrived(counter):
    return counter.acquire((0,))


def at_barrier(barrier, threads):
    """Orders nothing: what relies on a barrier of some threads is then reported as a race."""
