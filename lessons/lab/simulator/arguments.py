"""The arguments that a kernel is called with: checked, copied, and as the interpreter sees them."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from lessons.lab.numba_types import typed
from lessons.lab.simulator.memory.arrays import ArrayView, wrap_global_arrays
from lessons.lab.simulator.report import Report
from lessons.lab.source import Source


def names_of_parameters(source: Source) -> list[str]:
    return [argument.arg for argument in source.tree.args.args]


def check_arguments(source: Source, arguments: Sequence[object]) -> None:
    """Raises `TypeError` for arguments that cannot be passed to the kernel."""
    names = names_of_parameters(source)
    if len(names) != len(arguments):
        raise TypeError(
            f"{source.function.__name__} takes {len(names)} arguments ({', '.join(names)}), "
            f"but {len(arguments)} were given"
        )
    for name, value in zip(names, arguments, strict=True):
        check_argument(name, value)


def check_argument(name: str, value: object) -> None:
    if isinstance(value, tuple):
        for item in value:
            check_argument(name, item)
    elif isinstance(value, np.ndarray):
        if value.dtype.kind not in "iufb":
            raise TypeError(
                f"argument {name} is an array of {value.dtype}; use numbers, such as float32"
            )
        if any(stride < 0 or stride % value.itemsize for stride in value.strides):
            raise TypeError(
                f"argument {name} runs backward in memory; pass np.ascontiguousarray({name})"
            )
    elif not isinstance(value, (bool, int, float, np.generic)):
        raise TypeError(
            f"argument {name} is a {type(value).__name__}; a kernel takes NumPy arrays and numbers"
        )


# ---------------------------------------------------------------- as the interpreter sees them


def wrap_arguments(report: Report, arguments: Sequence[object]) -> list[object]:
    """Views for arrays, typed numbers for numbers. Adds a finding for each float64 array."""
    names = names_of_parameters(report.source)
    arrays: dict[str, np.ndarray] = {}
    collect_arrays(names, arguments, arrays)
    for name, array in arrays.items():
        if array.dtype == np.float64:
            report.add(
                "slow",
                report.source.tree.lineno,
                f"argument {name} is a float64 array; most GPUs compute "
                f"float32 32 or 64 times faster: pass {name}.astype(np.float32)",
                name,
            )
    views = wrap_global_arrays(arrays)
    return [wrap(name, value, views) for name, value in zip(names, arguments, strict=True)]


def collect_arrays(
    names: Iterable[str], values: Iterable[object], arrays: dict[str, np.ndarray]
) -> None:
    """Add all arrays to `arrays`, those in tuples with names such as "parameters.grid"."""
    for name, value in zip(names, values, strict=True):
        if isinstance(value, np.ndarray):
            arrays[name] = value
        elif isinstance(value, tuple):
            collect_arrays(names_of_items(name, value), value, arrays)


def wrap(name: str, value: object, views: dict[str, ArrayView]) -> object:
    if isinstance(value, np.ndarray):
        return views[name]
    if isinstance(value, tuple):
        names = names_of_items(name, value)
        return rebuild(value, [wrap(*item, views) for item in zip(names, value, strict=True)])
    if isinstance(value, (bool, int, float, np.number, np.bool_)):
        return typed(value)
    return value


def names_of_items(name: str, values: tuple) -> list[str]:
    return [f"{name}.{field}" for field in getattr(values, "_fields", range(len(values)))]


# ---------------------------------------------------------------- copies


def copies(values: Iterable[object]) -> list[object]:
    return [
        value.copy() if isinstance(value, np.ndarray)
        else rebuild(value, copies(value)) if isinstance(value, tuple)
        else value
        for value in values
    ]  # fmt: skip


def rebuild(original: tuple, items: Sequence[object]) -> tuple:
    """A tuple, or NamedTuple, like `original` with other items."""
    make: Callable[..., tuple] = type(original)
    return make(*items) if hasattr(original, "_fields") else tuple(items)


def restore(arguments: Iterable[object], before: Iterable[object]) -> None:
    """Put what `copies` has kept back into the arrays."""
    for value, old in zip(arguments, before, strict=True):
        if isinstance(value, np.ndarray):
            value[...] = old
        elif isinstance(value, tuple) and isinstance(old, tuple):
            restore(value, old)
