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
from kernels.bits.quantise import MAX_BITS
from kernels.bits.texel import HIDDEN, INPUTS, WEIGHTS
from kernels.config import COLOURS, ENCODED, FEATURES, GRID_CHANNELS, MAX_GRID_CELLS, OUTPUTS
from kernels.plumbing.errors import InputError

HEADER = struct.Struct("<4s5I")
MAGIC = b"LAKE"
MAX_SIDE = 1 << 16  # texels


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
    if len(content) < HEADER.size or not content.startswith(MAGIC):
        raise InputError(f"{name} is no .lake file: it does not begin with LAKE and a header")
    _, columns, rows, width, height, bits = HEADER.unpack(content[: HEADER.size])
    sides_fit = 1 <= min(columns, rows, width, height) and max(width, height) <= MAX_SIDE
    if not sides_fit or columns * rows > MAX_GRID_CELLS or not 1 <= bits <= MAX_BITS:
        raise InputError(f"{name} is no .lake file: the sizes in its header make no sense")
    count = word_count(columns, rows, bits)
    size = HEADER.size + 4 * count + 2 * WEIGHTS
    if len(content) != size:
        raise InputError(f"{name} has {len(content):,} bytes where its header says {size:,}")
    words = np.frombuffer(content, "<u4", count, HEADER.size).astype(np.uint32)
    weights = np.frombuffer(content, "<f2", WEIGHTS, HEADER.size + 4 * count)
    return Lake(columns, rows, width, height, bits, words, weights.astype(np.float32))
