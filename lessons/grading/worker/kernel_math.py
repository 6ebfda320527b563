"""In the worker: `math` as it is in a kernel, where a number too large is infinite.

A device function is called as plain Python. There `math.exp(1000.0)` is an error, and on a GPU it
is infinity, with which 1 / (1 + exp(-x)) is right.
"""

import math
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

# Those that raise `OverflowError` in Python. NumPy's give infinity, in the type of their argument.
ENDLESS: dict[str, Callable[..., object]] = {
    "exp": np.exp, "expm1": np.expm1, "sinh": np.sinh, "cosh": np.cosh, "pow": np.power,
}  # fmt: skip


@contextmanager
def endless_math(module: types.ModuleType) -> Iterator[None]:
    """Within this, functions of `math` do not overflow, also those that a module has imported."""
    replaced = [
        (place, name, function)
        for place in (math, module)
        for name, function in list(vars(place).items())
        if any(function is getattr(math, known, None) for known in ENDLESS)
    ]
    for place, name, function in replaced:
        setattr(place, name, ENDLESS[function.__name__])
    try:
        yield
    finally:
        for place, name, function in replaced:
            setattr(place, name, function)
