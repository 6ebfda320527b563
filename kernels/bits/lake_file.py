"""A picture in a `.lake` file: a header, the words of its grid, the weights of its network.

    bytes 0-3     LAKE
    bytes 4-23    columns and rows of the grid, width and height of the picture, bits: uint32 each
    then          the words of the grid, uint32: see `cells.py`
    then          1,568 weights, float16: see `texel.py`

All numbers are little-endian. To read a texel, nothing has to be unpacked but its cells.
"""

import struct
from typing import NamedTuple

import numpy as np

from kernels.bits.cells import WORD
from kernels.bits.texel import HIDDEN, INPUTS, WEIGHTS
from kernels.config import (
    COLOURS,
    ENCODED,
    FEATURES,
    GRID_CHANNELS,
    MAX_BITS,
    MAX_GRID_CELLS,
    OUTPUTS,
)
from kernels.plumbing.errors import InputError

HEADER = struct.Struct("<4s5I")
MAGIC = b"LAKE"
ADVICE = "take a file that python train.py --bits has written"
FILE = "picture.lake"
MAX_TEXELS = 1 << 26  # more than the largest picture that can be learned


class Lake(NamedTuple):
    """What a `.lake` file holds."""

    columns: int
    rows: int
    width: int
    height: int
    bits: int
    words: np.ndarray  # (m,) uint32
    weights: np.ndarray  # (1568,) float32, each of them exact in float16


def word_count(columns, rows, bits):
    """How many words a grid takes."""
    return -(-columns * rows * GRID_CHANNELS * bits // WORD)


def weights_to_store(flat):
    """(1568,) float32: what counts of the weights of the usual network, rounded to float16.

    flat: (2048,) float32, see `State`. The three features that are always 1 become one; of sixteen
    outputs three are colours. Raises `InputError` if a weight is too large.
    """
    first, second = FEATURES * HIDDEN, (FEATURES + HIDDEN) * HIDDEN
    into = flat[:first].reshape(FEATURES, HIDDEN)
    biases = into[ENCODED:].sum(axis=0, keepdims=True)
    out = flat[second:].reshape(HIDDEN, OUTPUTS)[:, :COLOURS]
    parts = into[:ENCODED], biases, flat[first:second], out
    kept = np.concatenate([part.ravel() for part in parts]).astype(np.float16)
    if not np.isfinite(kept).all():
        raise InputError("a weight is too large for float16: train with a lower learning rate")
    assert len(kept) == INPUTS * HIDDEN + HIDDEN * HIDDEN + HIDDEN * COLOURS
    return kept.astype(np.float32)


def to_bytes(lake):
    """The file of a `Lake`."""
    header = HEADER.pack(MAGIC, lake.columns, lake.rows, lake.width, lake.height, lake.bits)
    return header + lake.words.astype("<u4").tobytes() + lake.weights.astype("<f2").tobytes()


def from_bytes(content, name):
    """The `Lake` in a file. name: of the file, for messages. Raises `InputError`: it is none."""
    columns, rows, width, height, bits = sizes_in(content[: HEADER.size], len(content), name)
    count = word_count(columns, rows, bits)
    words = np.frombuffer(content, "<u4", count, HEADER.size).astype(np.uint32)
    unused = WORD * count - columns * rows * GRID_CHANNELS * bits
    if int(words[-1]) >> (WORD - unused):
        raise InputError(f"{name} is damaged: there are bits behind its last cell; {ADVICE}")
    weights = weights_in(content[HEADER.size + 4 * count :], name)
    return Lake(columns, rows, width, height, bits, words, weights)


def sizes_in(header, size, name):
    """(columns, rows, width, height, bits) of a file. header: its first bytes; size: all of them.

    Raises `InputError` unless these make sense, and the file is as long as they say.
    """
    if len(header) < HEADER.size or not header.startswith(MAGIC):
        raise InputError(
            f"{name} is no .lake file: it does not begin with LAKE and a header; {ADVICE}"
        )
    _, columns, rows, width, height, bits = HEADER.unpack(header)
    fits = 1 <= width * height <= MAX_TEXELS and 1 <= columns * rows <= MAX_GRID_CELLS
    if not fits or not 1 <= bits <= MAX_BITS:
        raise InputError(
            f"{name} is no .lake file: its header says {columns:,} x {rows:,} cells of {bits:,} "
            f"bits, and {width:,} x {height:,} texels; {ADVICE}"
        )
    right = HEADER.size + 4 * word_count(columns, rows, bits) + 2 * WEIGHTS
    if size != right:
        raise InputError(
            f"{name} is damaged: it has {size:,} bytes where its header says {right:,}; {ADVICE}"
        )
    return columns, rows, width, height, bits


def weights_in(content, name):
    """(1568,) float32: the weights at the end of a file. Raises `InputError`: one is no number."""
    weights = np.frombuffer(content, "<f2", WEIGHTS).astype(np.float32)
    if not np.isfinite(weights).all():
        raise InputError(f"{name} is damaged: a weight is not finite; {ADVICE}")
    return weights
