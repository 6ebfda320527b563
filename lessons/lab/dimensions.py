"""The sizes of a launch: a grid of blocks, a block of threads, and what the hardware allows."""

from typing import Any, NamedTuple, TypeAlias

import numpy as np

Dim3: TypeAlias = tuple[int, int, int]  # x, y, z

MAX_THREADS = 1024  # per block
MAX_BLOCK = (1024, 1024, 64)
MAX_SHARED_BYTES = 48 * 1024  # per block
MAX_GRID = (2**31 - 1, 65535, 65535)


def as_dim3(dimensions: object, what: str) -> Dim3:
    """(x, y, z) from an int or a tuple of up to three; what is missing is 1.

    what: "grid" or "block", for the message. Raises `ValueError` for anything else, and for sizes
    below 1; sizes beyond the hardware's limits pass.
    """
    sizes = dimensions if isinstance(dimensions, (tuple, list)) else (dimensions,)
    if not 1 <= len(sizes) <= 3:
        raise ValueError(f"{what} must have one to three dimensions, not {dimensions!r}")
    for size in sizes:
        if isinstance(size, (bool, np.bool_)) or not isinstance(size, (int, np.integer)):
            raise ValueError(f"{what} must be whole numbers, not {dimensions!r}")
        if size < 1:
            raise ValueError(f"{what} must be at least 1 in every dimension, not {dimensions!r}")
    x, y, z = [int(size) for size in sizes] + [1] * (3 - len(sizes))
    return x, y, z


def volume(dimensions: Dim3) -> int:
    """How many blocks a grid has, or threads a block."""
    return dimensions[0] * dimensions[1] * dimensions[2]


def dim3_text(dimensions: Dim3) -> str:
    """ "2 x 3" for (2, 3, 1)."""
    used = max([1] + [axis + 1 for axis in range(3) if dimensions[axis] > 1])
    return " x ".join(str(size) for size in dimensions[:used])


# ---------------------------------------------------------------- between the brackets of a launch

FORALL_THREADS = 128  # per block, where nobody has said how many


class Configuration(NamedTuple):
    """What stands between the brackets of `kernel[grid, block, stream, shared_bytes]`."""

    grid: Dim3
    block: Dim3
    stream: Any = 0
    shared_bytes: int = 0  # of dynamic shared memory


def configuration(given: object) -> Configuration:
    """Raises `ValueError` for what is no launch configuration."""
    if not isinstance(given, tuple) or not 2 <= len(given) <= 4:
        raise ValueError(
            "a launch is kernel[grid, block](...), or with two more: kernel[grid, block, stream, "
            "shared_bytes](...)"
        )
    grid, block, stream, shared_bytes = (*given, 0, 0)[:4]
    return Configuration(
        as_dim3(grid, "grid"), as_dim3(block, "block"), stream, checked_bytes(shared_bytes)
    )


def forall_configuration(
    tasks: int, threads: int = 0, stream: object = 0, shared_bytes: int = 0
) -> Configuration:
    """One thread per task, in as many blocks as that takes. threads: per block; 0: 128.

    Raises `ValueError` for fewer than no tasks.
    """
    if tasks < 0:
        raise ValueError(f"Can't create ForAll with negative task count: {tasks}")  # as Numba says
    threads = threads or FORALL_THREADS
    blocks = max(1, -(-int(tasks) // threads))
    return configuration((blocks, threads, stream, shared_bytes))


def checked_bytes(shared_bytes: object) -> int:
    if isinstance(shared_bytes, (int, np.integer)) and shared_bytes >= 0:
        return int(shared_bytes)
    raise ValueError(f"the bytes of shared memory must be a whole number, not {shared_bytes!r}")
