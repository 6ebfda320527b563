"""What a kernel's value can be besides a number, an array or a tuple."""

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..bfloat16 import BFloat16
from ..numba_types import Number, is_number, typed
from .teams import Mask


class EnumValue:
    """Members of one `Enum`, the same in all threads or one per thread."""

    def __init__(self, kind: type[enum.Enum], number: Number) -> None:
        self.kind = kind
        self.number = number  # the members' values

    @property
    def is_whole_number(self) -> bool:
        """Whether it can stand for its number, as an `IntEnum` can."""
        return issubclass(self.kind, enum.IntEnum)


def enum_value(member: enum.Enum) -> EnumValue:
    return EnumValue(type(member), typed(member.value))


class VectorType:
    """One of CUDA's vector types, such as `float32x4`: a kernel calls it to make a vector."""

    def __init__(self, name: str) -> None:
        kind, _, count = name.rpartition("x")
        self.name = name
        self.dtype = np.dtype(kind)
        self.fields = "xyzw"[: int(count)]


class Vector:
    """A value of a vector type. values: of .x, .y and so on, each a number."""

    def __init__(self, kind: VectorType, values: tuple[Number, ...]) -> None:
        self.kind = kind
        self.values = values


@dataclass(frozen=True)
class Iteration:
    """What a `for` can go through: a range, an array, `zip` of others.

    length: how many items there are, one number or one per thread. item(k, mask): the item in
    round k, for the threads of `mask`, which all have so many.
    """

    length: Any
    item: Callable[[int, Mask], object]


@dataclass(frozen=True)
class Method:
    """A method of a value, not yet called: `x.conjugate`, `array.reshape`."""

    owner: object
    name: str


@dataclass(frozen=True)
class InnerFunction:
    """A function or lambda that a kernel defines, with the call in which it did."""

    source: Any  # a `Source`
    frame: Any  # a `Frame`


def as_number(value: object) -> Number | None:
    """A value as a number, if it is one; a member of an `IntEnum` is, and a bfloat16."""
    if is_number(value):
        return value
    if isinstance(value, BFloat16):
        return value.number
    if isinstance(value, EnumValue) and value.is_whole_number:
        return value.number
    return None
