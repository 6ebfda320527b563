"""Read idx files, the format in which MNIST and Fashion-MNIST are handed round.

    bytes 0, 1    zero
    byte 2        type of the numbers: 8 is an unsigned byte
    byte 3        how many dimensions
    then          each dimension, 4 bytes, the highest first
    then          the numbers, the last dimension running fastest

Source: LeCun, Cortes, Burges, "The MNIST database of handwritten digits", "FILE FORMATS".
"""

import gzip
import math
import zlib
from pathlib import Path

import numpy as np

from kernels.plumbing.errors import InputError

UNSIGNED_BYTE = 8
GZIP_MAGIC = b"\x1f\x8b"
MOST_NUMBERS = 1 << 30


def read_idx(path):
    """The array in an idx file, uint8, gzipped or not. Raises `InputError` for anything else."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            zipped = file.read(2) == GZIP_MAGIC
        with gzip.open(path) if zipped else path.open("rb") as file:
            shape = read_shape(path, file)
            data = file.read(math.prod(shape) + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be read ({error}): fetch it again") from None
    if len(data) != math.prod(shape):
        raise InputError(
            f"{path} promises {math.prod(shape):,} numbers and has "
            f"{'more' if len(data) > math.prod(shape) else f'{len(data):,}'}: fetch it again"
        )
    return np.frombuffer(data, np.uint8).reshape(shape)


def read_shape(path, file):
    """The dimensions that the file's header tells; the file then stands at the first number."""
    start = file.read(4)
    if len(start) < 4 or start[:2] != b"\0\0":
        raise InputError(f"{path} is no idx file, which begins with two zero bytes: fetch it again")
    if start[2] != UNSIGNED_BYTE:
        raise InputError(f"{path} holds numbers of type {start[2]}, not unsigned bytes (8)")
    sizes = file.read(4 * start[3])
    if start[3] == 0 or len(sizes) < 4 * start[3]:
        raise InputError(f"{path} ends within its header: fetch it again")
    shape = tuple(int(size) for size in np.frombuffer(sizes, ">u4"))
    if math.prod(shape) > MOST_NUMBERS:
        raise InputError(
            f"{path} promises {math.prod(shape):,} numbers, which cannot be: fetch it again"
        )
    return shape
