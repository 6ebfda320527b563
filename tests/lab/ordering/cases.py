"""How a corpus of kernels says what it is launched with, and what has to come of it."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numba import cuda


@dataclass
class Case:
    """A kernel and its launch.

    arguments: makes them anew. expected: for right kernels, a function of fresh arguments that
    returns a dict of argument number -> array. kind, words, never: for wrong ones, the kind of
    finding on the line that says `# here`, words of its message, and words that must not be in it;
    the message names the line that says `# there`, if one does. also: the kind of what follows.
    """

    kernel: Callable
    grid: object
    block: object
    arguments: Callable
    expected: Callable | None = None
    kind: str = ""
    words: tuple = ()
    never: tuple = ()
    also: str = ""
    options: dict = field(default_factory=dict)


def decorators(kernels):
    """`right` and `wrong`: each adds the kernel that it decorates to a dict, by its name."""

    def added(*launch, **says):
        def add(function):
            case = kernels[function.__name__] = Case(cuda.jit(function), *launch, **says)
            return case.kernel

        return add

    def right(grid, block, arguments, expected, **options):
        return added(grid, block, arguments, expected, options=options)

    def wrong(grid, block, arguments, kind, *words, never=(), also="", **options):
        says = {"kind": kind, "words": words, "never": never, "also": also}
        return added(grid, block, arguments, **says, options=options)

    return right, wrong


def floats(n, seed=0):
    """Numbers between -1 and 1."""
    return np.random.default_rng(seed).uniform(-1, 1, n).astype(np.float32)


def ints(n, below, seed=0):
    return np.random.default_rng(seed).integers(0, below, n).astype(np.int32)


def zeros(*shape, dtype=np.int32):
    return np.zeros(shape, dtype)
