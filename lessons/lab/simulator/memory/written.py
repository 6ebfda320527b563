"""Which elements of an array have been written: before a kernel runs, and by it."""

import numpy as np

from .arrays import ArrayView, Memory
from .history import NEVER


def mark_written(view: ArrayView, written: np.ndarray) -> None:
    """From now on, reading an element that is not `written` and that nobody has written since is
    a finding. written: bool, with the array's shape."""
    flags = np.zeros(view.memory.data.size, bool)
    in_shape(view, flags)[...] = written
    view.memory.initialised = flags


def written_now(view: ArrayView) -> np.ndarray:
    """Bool, with the array's shape: which elements the kernel has written, atomics included."""
    memory = view.memory
    return in_shape(view, written_elements(memory))


def written_elements(memory: Memory) -> np.ndarray:
    """(size,) bool: of the elements of a memory of the whole grid."""
    history = memory.history
    assert history is not None
    written = history.write_tick != NEVER
    if history.changers is not None:
        written |= history.changers.tick[0] != NEVER
    cells = memory.cells(np.arange(memory.data.size))
    elements: np.ndarray = written[cells].any(axis=1)
    return elements


def in_shape(view: ArrayView, flags: np.ndarray) -> np.ndarray:
    """Flags of the elements of a memory, as a view with the shape of an array in it."""
    strides = tuple(int(stride) * flags.itemsize for stride in view.strides)
    shape = tuple(int(length) for length in view.shape)
    return np.lib.stride_tricks.as_strided(flags[int(np.max(view.offset)) :], shape, strides)
