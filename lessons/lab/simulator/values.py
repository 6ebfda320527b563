"""Values that are neither numbers nor arrays of a kernel."""

import ast
import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..bfloat16 import BFloat16
from ..numba_types import Condition, Number, is_number, typed
from .memory.arrays import ArrayView
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
    """A method of a value, not yet called: `x.conjugate`, `array.reshape`.

    templates: what Numba's extension API has registered for it, if it has.
    """

    owner: object
    name: str
    templates: tuple[Any, ...] = ()


@dataclass(frozen=True)
class InnerFunction:
    """A function or lambda that a kernel defines, with the call in which it did."""

    source: Any  # a `Source`
    frame: Any  # a `Frame`


class Call(NamedTuple):
    """A call in a kernel: where it is, what it is given, and which threads call."""

    node: ast.Call
    arguments: list[Any]
    keywords: dict[str, Any]
    mask: Mask


def as_number(value: object) -> Number | None:
    """A value as a number, if it is one; a member of an `IntEnum` is, and a bfloat16."""
    if is_number(value):
        return value
    if isinstance(value, BFloat16):
        return value.number
    if isinstance(value, EnumValue) and value.is_whole_number:
        return value.number
    return None


def as_numbers(values: Sequence[object]) -> list[Number] | None:
    """All of some values as numbers; None if one of them is none."""
    found = [number for number in map(as_number, values) if number is not None]
    return found if len(found) == len(values) else None


# ---------------------------------------------------------------- one name, several arrays

# Memory is accessed one array at a time. So a statement that uses such a name runs once for each of
# the arrays, in the threads that mean it.


class Choice:
    """One array of several in each thread; no two masks have a thread in common."""

    def __init__(self, alternatives: list[tuple[ArrayView, Mask]]) -> None:
        self.alternatives = alternatives

    def of(self, mask: Mask) -> ArrayView | None:
        """The array that all threads of a mask mean; None if they mean several."""
        meant = [view for view, threads in self.alternatives if (threads & mask).any()]
        if not meant:
            return self.alternatives[0][0]
        return meant[0] if len(meant) == 1 else None


def choose(condition: Condition, yes: object, no: object) -> "Choice | ArrayView | None":
    """`yes` where the condition holds, else `no`; None if they are not arrays of one type."""
    alternatives: list[tuple[ArrayView, Mask]] = []
    where = np.asarray(condition)
    for value, mask in ((yes, where), (no, ~where)):
        parts = value.alternatives if isinstance(value, Choice) else [(value, mask)]
        for view, threads in parts:
            if not isinstance(view, ArrayView):
                return None
            add(alternatives, view, threads & mask)
    kinds = {(view.dtype, len(view.shape)) for view, _ in alternatives}
    if len(kinds) > 1:
        return None
    return alternatives[0][0] if len(alternatives) == 1 else Choice(alternatives)


def add(alternatives: list[tuple[ArrayView, Mask]], view: ArrayView, mask: Mask) -> None:
    """Add an alternative, if anybody means it."""
    if not np.any(mask):
        return
    for number, (other, threads) in enumerate(alternatives):
        same = other.memory is view.memory and len(other.shape) == len(view.shape)
        if same:
            alternatives[number] = choose_view(mask, view, other), threads | mask
            return
    alternatives.append((view, mask))


def choose_view(condition: Mask, yes: ArrayView, no: ArrayView) -> ArrayView:
    """In each thread one of two parts of the same memory."""
    shape, strides = (
        tuple(one_of(condition, a, b) for a, b in zip(first, second, strict=True))
        for first, second in ((yes.shape, no.shape), (yes.strides, no.strides))
    )
    return ArrayView(yes.memory, one_of(condition, yes.offset, no.offset), shape, strides)


def one_of(condition: Mask, yes: Any, no: Any) -> Any:
    """Where both are the same number for all threads, it stays one."""
    if np.ndim(yes) == 0 and np.ndim(no) == 0 and yes == no:
        return yes
    return np.where(condition, yes, no)


# ---------------------------------------------------------------- statements


def groups_of(statement: ast.stmt, choices: dict[str, Choice], mask: Mask) -> list[Mask]:
    """The threads of a mask, divided so that each name in a statement is one array in each part.

    choices: those of the function that runs. Of a compound statement, only the head counts.
    """
    names = names_in_head(statement) & choices.keys()
    groups = [mask]
    for name in sorted(names):
        groups = [
            part & threads
            for part in groups
            for _, threads in choices[name].alternatives
            if (part & threads).any()
        ]
    return groups if len(groups) > 1 and not has_barrier(statement) else [mask]


def names_in_head(statement: ast.stmt) -> set[str]:
    """The names that a statement reads, or of a compound one its head."""
    head: ast.AST = statement
    if isinstance(statement, (ast.If, ast.While)):
        head = statement.test
    elif isinstance(statement, ast.For):
        head = statement.iter
    names = (node for node in ast.walk(head) if isinstance(node, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, ast.Load)}


def has_barrier(statement: ast.stmt) -> bool:
    """Whether threads may wait for each other in a statement, so that it cannot be divided."""
    return any(isinstance(n, ast.Attribute) and "sync" in n.attr for n in ast.walk(statement))
