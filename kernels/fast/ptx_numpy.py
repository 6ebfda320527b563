"""What the instructions of `ptx` do, in plain NumPy: their twins.

The lab's checked simulator runs these in their place, on arrays of shape (warps, 32), a row a warp
and a column a lane, so that a twin sees all lanes of a warp. The tests compare each instruction
with its twin on a GPU.
"""

import numpy as np

LANE = np.arange(32)


# ---------------------------------------------------------------- pairs of 16-bit floats


def words_of(low, high):
    """Arrays of 16-bit patterns, pairwise in uint32 words."""
    return low.astype(np.uint32) | (high.astype(np.uint32) << np.uint32(16))


def half_bits(values):
    with np.errstate(over="ignore"):
        return values.astype(np.float16).view(np.uint16)


def bfloat_bits(values):
    """The upper half of a float32, rounded to nearest, ties to even."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    return np.where(np.isnan(values), np.uint32(0x7FFF), rounded >> np.uint32(16)).astype(np.uint16)


def halves_of(words):
    """(low, high) as float32 of words that hold two halves."""
    words = np.ascontiguousarray(words, np.uint32)
    low = (words & np.uint32(0xFFFF)).astype(np.uint16).view(np.float16)
    high = (words >> np.uint32(16)).astype(np.uint16).view(np.float16)
    return low.astype(np.float32), high.astype(np.float32)


def bfloats_of(words):
    """(low, high) as float32 of words that hold two bfloats."""
    words = np.ascontiguousarray(words, np.uint32)
    low, high = words << np.uint32(16), words & np.uint32(0xFFFF0000)
    return low.view(np.float32), high.view(np.float32)


def packing_twin(bits):
    return lambda low, high: words_of(bits(low), bits(high))


def open_only(values):
    """ReLU as the instruction does it: NaN stays NaN."""
    return np.where(values < 0, np.float32(0), values)


def packing_open_twin(bits):
    return lambda low, high: words_of(bits(open_only(low)), bits(open_only(high)))


def mask_of_signs_twin(word):
    low = np.where(word & np.uint32(0x8000), np.uint16(0xFFFF), np.uint16(0))
    high = np.where(word & np.uint32(0x80000000), np.uint16(0xFFFF), np.uint16(0))
    return words_of(low, high)


def one_of_each_twin(first, second, upper):
    shift = np.where(upper, np.uint32(16), np.uint32(0))
    return words_of((first >> shift) & np.uint32(0xFFFF), (second >> shift) & np.uint32(0xFFFF))


# ---------------------------------------------------------------- tensor cores


def a_matrix(unpack, a0, a1, a2, a3):
    """(warps, 16, 16) float64 that the A fragments of 32 lanes make up."""
    matrix = np.empty((len(a0), 16, 16))
    row, column = np.divmod(LANE, 4)
    for word, (down, right) in zip((a0, a1, a2, a3), ((0, 0), (8, 0), (0, 8), (8, 8)), strict=True):
        low, high = unpack(word)
        matrix[:, row + down, 2 * column + right] = low
        matrix[:, row + down, 2 * column + right + 1] = high
    return matrix


def b_matrix(unpack, b0, b1):
    """(warps, 16, 8) float64 that the B fragments of 32 lanes make up."""
    matrix = np.empty((len(b0), 16, 8))
    column, row = np.divmod(LANE, 4)
    for word, down in ((b0, 0), (b1, 8)):
        low, high = unpack(word)
        matrix[:, 2 * row + down, column] = low
        matrix[:, 2 * row + down + 1, column] = high
    return matrix


def multiply_twin(unpack):
    def twin(a0, a1, a2, a3, b0, b1, c0, c1, c2, c3):
        product = a_matrix(unpack, a0, a1, a2, a3) @ b_matrix(unpack, b0, b1)
        row, column = np.divmod(LANE, 4)
        return tuple(
            (product[:, row + down, 2 * column + right] + c).astype(np.float32)
            for c, (down, right) in zip(
                (c0, c1, c2, c3), ((0, 0), (0, 1), (8, 0), (8, 1)), strict=True
            )
        )

    return twin


def transpose_twin(words):
    words = np.ascontiguousarray(words, np.uint32)
    matrix = np.stack([words & np.uint32(0xFFFF), words >> np.uint32(16)], axis=-1)
    turned = matrix.reshape(-1, 8, 8).transpose(0, 2, 1).reshape(-1, 32, 2)
    return words_of(turned[:, :, 0], turned[:, :, 1])


# ---------------------------------------------------------------- memory


def load_four_twin(array, row):
    return tuple(array[row, i] for i in range(4))


def store_four_twin(array, row, *values):
    for i, value in enumerate(values):
        array[row, i] = value


def add_four_twin(array, row, *values):
    for i, value in enumerate(values):
        array.add((row, i), value)


def arrive_twin(counter):
    counter.release((0,), np.uint32(1))


def arrived_twin(counter):
    return counter.acquire((0,))
