"""The numbers that a function is given, and the same call with some of them changed."""

import copy
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from lessons.grading.exchange.output import Output

Steps = tuple[int | str, ...]  # to a value within the arguments: places, and names of fields
Box = tuple[tuple[int, int], ...]  # for each axis where a part of an array begins, and ends

VARIANTS = 3  # ways in which a part is changed: up and down, a little and much
SEED = 14


class Input(NamedTuple):
    """An array or a number among the arguments of a call."""

    name: str
    path: Steps
    values: np.ndarray  # a copy of what it holds; () for a number
    is_array: bool
    is_result: bool = False  # whether it is an output as well: these are its first values

    @property
    def whole(self) -> Box:
        return tuple((0, length) for length in self.values.shape)


class Change(NamedTuple):
    """A part of an input gets other numbers. variant: which others, 0 to `VARIANTS` - 1."""

    input: Input
    box: Box
    variant: int


def inputs_of(arguments: Sequence[object], names: Sequence[str]) -> list[Input]:
    """All inputs of a call that can be changed; each array once.

    names: of the arguments. What only holds results, or numbers that are not finite, is left out.
    """
    found: dict[int | Steps, Input] = {}
    for place, (argument, name) in enumerate(zip(arguments, names, strict=False)):
        for path, inner, value in parts_of(argument, (place,), name):
            values = numbers_in(value)
            if values is None or not is_changeable(values, value):
                continue
            is_array = isinstance(value, (np.ndarray, Output))
            key = id(value) if is_array else path
            found.setdefault(key, Input(inner, path, values, is_array, isinstance(value, Output)))
    return list(found.values())


def parts_of(value: Any, path: Steps, name: str) -> Iterator[tuple[Steps, str, object]]:
    """(path, name, value) of each array and number in an argument."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            inner = getattr(value, field.name)
            yield from parts_of(inner, (*path, field.name), f"{name}.{field.name}")
    elif isinstance(value, (list, tuple)):
        fields = getattr(value, "_fields", None)
        for place, item in enumerate(value):
            inner_name = f"{name}.{fields[place]}" if fields else f"{name}[{place}]"
            yield from parts_of(item, (*path, place), inner_name)
    else:
        yield path, name, value


def numbers_in(value: object) -> np.ndarray | None:
    """A copy of the numbers in an array or a number; None for anything else."""
    if isinstance(value, Output):
        value = value.array
    if isinstance(value, (bool, np.bool_)) or not isinstance(
        value, (int, float, np.number, np.ndarray)
    ):
        return None
    return np.array(value)


def is_changeable(values: np.ndarray, value: object) -> bool:
    if values.dtype.kind not in "iuf" or not values.size:
        return False
    if isinstance(value, Output) and (values == value.sentinel).any():
        return False
    return values.dtype.kind != "f" or bool(np.isfinite(values).all())


def other_values(given: Input, variant: int) -> np.ndarray:
    """Other numbers for all of an input, within the range of those that it has.

    The same for the same variant, so that what a part of a change does can be compared.
    """
    values = given.values
    if values.dtype.kind != "f":
        return other_whole_numbers(given, variant)
    lowest, highest = bounds(values)
    up, down = highest - values, values - lowest
    further, nearer = np.maximum(up, down), np.minimum(up, down)
    towards_further = np.where(up >= down, 1.0, -1.0)
    rng = np.random.default_rng([SEED, variant])
    share = rng.uniform(0.5, 0.9, values.shape)
    if variant == 1:
        room = np.where(nearer > 0.2 * further, -nearer, 0.4 * further)
        share = share * room
    else:
        share = (share if variant == 0 else 1.0) * further
    others = (values + towards_further * share).astype(values.dtype)
    return np.clip(others, values.dtype.type(lowest), values.dtype.type(highest))


def bounds(values: np.ndarray) -> tuple[float, float]:
    """The range in which an input is changed; around its number if it has only one."""
    lowest, highest = float(values.min()), float(values.max())
    if lowest < highest:
        return lowest, highest
    room = 0.5 * abs(lowest) or 0.5
    return lowest - room, highest + room


def other_whole_numbers(given: Input, variant: int) -> np.ndarray:
    """Numbers that the input has elsewhere; the next one up or down if it is only one."""
    values = given.values
    if not given.is_array:
        step = (1, -1, 2)[variant]
        return np.array(values + step, values.dtype) if values + step >= 0 else values
    known = np.unique(values)
    places = np.searchsorted(known, values)
    rng = np.random.default_rng([SEED, variant])
    further = rng.integers(1, max(2, len(known)), values.shape)
    return known[(places + further) % len(known)]


def with_change(arguments: Sequence[object], change: Change) -> tuple[object, ...]:
    """A copy of the arguments, with other numbers in a part of one input."""
    given, box, variant = change
    copied = copy.deepcopy(tuple(arguments))
    others = other_values(given, variant)
    if not given.is_array:
        return replaced(copied, given.path, others)
    target = at(copied, given.path)
    array = target.array if isinstance(target, Output) else target
    part = tuple(slice(*ends) for ends in box)
    array[part] = others[part]
    return copied


def at(value: Any, path: Steps) -> Any:
    for step in path:
        value = getattr(value, step) if isinstance(step, str) else value[step]
    return value


def replaced(value: Any, path: Steps, number: np.ndarray) -> Any:
    """A copy of nested tuples, lists and dataclasses with another number at one place."""
    if not path:
        return number.dtype.type(number) if isinstance(value, np.generic) else number.item()
    step, *rest = path
    if isinstance(step, str):
        inner = replaced(getattr(value, step), tuple(rest), number)
        return dataclasses.replace(value, **{step: inner})
    items = list(value)
    items[step] = replaced(items[step], tuple(rest), number)
    if isinstance(value, list):
        return items
    return type(value)(*items) if hasattr(value, "_fields") else tuple(items)


# ---------------------------------------------------------------- parts


def halves(box: Box) -> tuple[Box, ...]:
    """A part cut in two along its longest axis; none of a single element."""
    lengths = [stop - start for start, stop in box]
    if not box or max(lengths) <= 1:
        return ()
    axis = lengths.index(max(lengths))
    start, stop = box[axis]
    middle = (start + stop) // 2
    return tuple(
        (*box[:axis], ends, *box[axis + 1 :]) for ends in ((start, middle), (middle, stop))
    )


def is_element(box: Box) -> bool:
    return all(stop - start == 1 for start, stop in box)


def place_of(box: Box) -> tuple[int, ...]:
    """The index of the first element of a part."""
    return tuple(start for start, _ in box)
