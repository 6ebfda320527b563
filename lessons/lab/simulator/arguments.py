"""A kernel's arguments: checked, copied and wrapped; outputs and arrays of garbage."""

import ast
import ctypes
import enum
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import NoneType

import numpy as np

from ..bfloat16 import scalar_of_ml_dtypes
from ..compile_checks import calls_in, nodes_in, sources_reached
from ..names import resolve
from ..numba_types import typed
from ..source import Source, called_source, parts_of, read_source
from .findings import Place
from .memory.arrays import (
    ArrayView,
    end_byte,
    first_byte,
    mark_written,
    overlapping,
    wrap_global_arrays,
    written_now,
)
from .report import Report
from .teams import LaunchOptions
from .values import enum_value

KINDS = "iufbcVMmSU"  # of the elements of an array: numbers, records, times, texts
DOUBLES = (np.dtype(np.float64), np.dtype(np.complex128))


def check_arguments(source: Source, arguments: Sequence[object]) -> None:
    """Raises `TypeError` for arguments that cannot be passed to the kernel."""
    source.require_count(arguments)
    for name, value in zip(source.parameters, arguments, strict=True):
        check_argument(name, value)


def check_argument(name: str, value: object) -> None:
    if isinstance(value, tuple):
        for item in value:
            check_argument(name, item)
    elif isinstance(value, np.ndarray):
        if value.dtype.kind not in KINDS:
            raise TypeError(
                f"argument {name} is an array of {value.dtype}; use numbers, such as float32"
            )
    elif not isinstance(value, (bool, int, float, complex, np.generic, enum.Enum, NoneType)):
        raise TypeError(
            f"argument {name} is a {type(value).__name__}; a kernel takes NumPy arrays and numbers"
        )


MOST_INDICES = 99
CHANGE_MEMORY = ("atomic", "np.", "numpy.", ".st")

# ---------------------------------------------------------------- as the interpreter sees them


def wrap_arguments(
    report: Report, arguments: Sequence[object], options: LaunchOptions
) -> tuple[list[object], dict[str, ArrayView]]:
    """Views for arrays, typed numbers for numbers; and all the arrays, by name.

    An array of doubles asks for doubles.
    """
    names = report.source.parameters
    arrays = arrays_of(report.source, arguments)
    if any(array.dtype in DOUBLES for array in arrays.values()):
        report.doubles_asked_for = True
    views = wrap_global_arrays(arrays)
    for name, indices in only_read(report.source.function).items():
        if name in views and indices >= len(views[name].shape):
            views[name].memory.may_change = False
    for name, written in options.written_before.items():
        mark_written(views[name], written)
    wrapped = [wrap(name, value, views) for name, value in zip(names, arguments, strict=True)]
    return wrapped, views


def arrays_of(source: Source, arguments: Sequence[object]) -> dict[str, np.ndarray]:
    """The arrays among a kernel's arguments, by name."""
    arrays: dict[str, np.ndarray] = {}
    collect_arrays(source.parameters, arguments, arrays)
    return arrays


def collect_arrays(
    names: Iterable[str], values: Iterable[object], arrays: dict[str, np.ndarray]
) -> None:
    """Add all arrays to `arrays`, those in tuples with names such as "parameters.grid"."""
    for name, value in zip(names, values, strict=True):
        if isinstance(value, (np.ndarray, np.void)):
            arrays[name] = np.asarray(value)  # a record's memory, too, not a copy of it
        elif isinstance(value, tuple):
            collect_arrays(names_of_items(name, value), value, arrays)


def wrap(name: str, value: object, views: dict[str, ArrayView]) -> object:
    if isinstance(value, (np.ndarray, np.void)):
        return views[name]
    if isinstance(value, tuple):
        names = names_of_items(name, value)
        return rebuild(value, [wrap(*item, views) for item in zip(names, value, strict=True)])
    if isinstance(value, enum.Enum):
        return enum_value(value)
    if isinstance(value, (bool, int, float, complex, np.number, np.bool_)):
        return typed(value)
    return scalar_of_ml_dtypes(value) or value


def names_of_items(name: str, values: tuple) -> list[str]:
    return [f"{name}.{field}" for field in getattr(values, "_fields", range(len(values)))]


@functools.lru_cache(maxsize=1024)
def only_read(kernel: Callable) -> dict[str, int]:
    """Arguments that a kernel does nothing with but read, such as "image" or "grid.cells".

    Returns the fewest indices that each is read with; a slice counts as none. What gets another
    name may be written there, and is not listed; nor is what is passed on to functions, if one of
    these stores anything.
    """
    source = read_source(kernel)
    tree, harmless = source.tree, set()
    indices: dict[str, int] = {}
    called = sources_reached(source)[1:]
    functions = {other.function for other in called if all(map(stores_nothing, called))}
    for call in calls_in(source):
        callee = called_source(resolve(source, call.func))
        if callee is not None and callee.function in functions:
            harmless |= set(call.args)
            indices |= {ast.unparse(argument): MOST_INDICES for argument in call.args}
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            harmless.add(node.value)
            name = ast.unparse(node.value)
            indices[name] = min(count_indices(node.slice), indices.get(name, MOST_INDICES))
        elif isinstance(node, ast.Attribute) and node.attr in ("shape", "size", "ndim"):
            harmless.add(node.value)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Name, ast.Attribute)) and node not in harmless:
            indices.pop(ast.unparse(node), None)
    return indices


def stores_nothing(source: Source) -> bool:
    """Whether a function changes no memory, and returns none of the arrays that it reads."""
    elements = {node.value for node in nodes_in(source.tree) if isinstance(node, ast.Subscript)}
    arrays = set(map(ast.unparse, elements))

    def may_change(node: ast.AST) -> bool:
        if isinstance(node, ast.Call):
            return any(word in ast.unparse(node.func) for word in CHANGE_MEMORY)
        if isinstance(node, ast.Return) and node.value:
            names = [part for part in ast.walk(node.value) if isinstance(part, ast.Name)]
            return any(name.id in arrays and name not in elements for name in names)
        return isinstance(getattr(node, "ctx", None), ast.Store) and not isinstance(node, ast.Name)

    return not any(map(may_change, nodes_in(source.tree)))


def count_indices(index: ast.expr) -> int:
    parts = parts_of(index)
    return 0 if any(isinstance(part, ast.Slice) for part in parts) else len(parts)


# ---------------------------------------------------------------- copies


def copies(values: Iterable[object]) -> list[object]:
    """Copies of all arrays. Those that overlap do so again: a kernel can write to one by both."""
    values = list(values)
    arrays = {id(array): array for array in arrays_among(values)}
    copied: dict[int, np.ndarray] = {}
    for group in overlapping(arrays.items()):
        if len(group) == 1:
            copied[group[0][0]] = copy_of(group[0][1])
        else:
            copied.update(copies_of_group(group))
    return with_copies(values, copied)


def arrays_among(values: Iterable[object]) -> Iterator[np.ndarray]:
    for value in values:
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, tuple):
            yield from arrays_among(value)


def with_copies(values: Iterable[object], copied: dict[int, np.ndarray]) -> list[object]:
    """copied: by the `id` of an array."""
    return [
        copied[id(value)] if isinstance(value, np.ndarray)
        else value.copy() if isinstance(value, np.void)
        else rebuild(value, with_copies(value, copied)) if isinstance(value, tuple)
        else value
        for value in values
    ]  # fmt: skip


def copies_of_group(group: Sequence[tuple[int, np.ndarray]]) -> dict[int, np.ndarray]:
    """Of arrays that overlap: views of one copy of all their bytes."""
    first, end = first_byte(group[0][1]), max(end_byte(array) for _, array in group)
    memory = np.ctypeslib.as_array((ctypes.c_uint8 * (end - first)).from_address(first)).copy()
    copied = {}
    for key, array in group:
        offset = array.__array_interface__["data"][0] - first
        copied[key] = np.ndarray(array.shape, array.dtype, memory, offset, array.strides)
    return copied


def copy_of(array: np.ndarray) -> np.ndarray:
    """A copy, in which elements that are one and the same (stride 0) stay so."""
    own = own_elements(array).copy()
    if own.shape == array.shape:
        return own
    kept = zip(own.strides, array.strides, strict=True)
    strides = [step if former else 0 for step, former in kept]
    return np.lib.stride_tricks.as_strided(own, array.shape, strides)


def own_elements(array: np.ndarray) -> np.ndarray:
    """An array without its repetitions: `np.broadcast_to` makes 2^31 elements of one."""
    if 0 not in array.strides:
        return array
    return array[tuple(slice(None) if step else slice(0, 1) for step in array.strides)]


def rebuild(original: tuple, items: Sequence[object]) -> tuple:
    """A tuple, or NamedTuple, like `original` with other items."""
    make: Callable[..., tuple] = type(original)
    return make(*items) if hasattr(original, "_fields") else tuple(items)


def restore(arguments: Iterable[object], before: Iterable[object]) -> None:
    """Put what `copies` has kept back into the arrays."""
    for value, old in zip(arguments, before, strict=True):
        if isinstance(value, (np.ndarray, np.void)):
            own_elements(np.asarray(value))[...] = own_elements(np.asarray(old))
        elif isinstance(value, tuple) and isinstance(old, tuple):
            restore(value, old)


# ---------------------------------------------------------------- outputs, and arrays of garbage


def expected_outputs(
    source: Source, arguments: Sequence[object], names: str | Iterable[str]
) -> tuple[str, ...]:
    """The names, each of an array. Raises `ValueError`."""
    names = (names,) if isinstance(names, str) else tuple(names)
    arrays = arrays_of(source, arguments) if names else {}
    for name in names:
        if name not in arrays:
            raise ValueError(
                f"{source.function.__name__} has no array argument {name!r}; it has "
                f"{', '.join(arrays) or 'none'}"
            )
    return names


def garbage_arrays(
    source: Source,
    arguments: Sequence[object],
    arrays: str | Iterable[str] | Mapping[str, np.ndarray],
) -> dict[str, np.ndarray]:
    """name -> which elements are written already. Raises `ValueError`."""
    names = expected_outputs(source, arguments, arrays)
    here = arrays_of(source, arguments) if names else {}
    if not isinstance(arrays, Mapping):
        return {name: np.zeros(here[name].shape, bool) for name in names}
    for name, written in arrays.items():
        if written.shape != here[name].shape or written.dtype != np.bool_:
            raise ValueError(f"what is written of {name} must be bool, of shape {here[name].shape}")
    return dict(arrays)


def report_unwritten(
    report: Report, arrays: Mapping[str, ArrayView], expected: Iterable[str]
) -> None:
    """Add a finding for each array of which some elements were to be written and are not."""
    for name in expected:
        unwritten = np.argwhere(~written_now(arrays[name]))
        if not len(unwritten):
            continue
        first = tuple(int(i) for i in unwritten[0])
        others = f" and {len(unwritten) - 1:,} more" if len(unwritten) > 1 else ""
        report.add(
            "unwritten",
            report.source.tree.lineno,
            f"nobody writes {name}[{', '.join(map(str, first))}]{others}, of "
            f"{arrays[name].size:,} elements: is the grid too small, or a guard too strict?",
            name,
            place=Place(array=name, index=first),
        )
