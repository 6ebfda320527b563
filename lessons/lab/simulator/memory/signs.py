"""Which index is meant to be negative, and why one lies outside its array."""

import ast
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...numba_types import is_number
from ...source import Source
from ..frames import Frame
from .arrays import ArrayView
from .origins import depends_on_block
from .parts import first_is_last, name_of


def counts_from_end(source: Source, node: ast.expr, axis: int) -> bool:
    """Whether whoever wrote an index meant it to count from the end, as in `x[-1]`, `x[-1 - i]`.

    `x[i - 1]` in the first thread is a mistake; an index that begins with a minus, or the name of a
    negative constant, is not. node: the subscript, or the call of an atomic.
    """
    index = index_of(node)
    if isinstance(index, ast.Tuple):
        if axis >= len(index.elts):
            return False
        index = index.elts[axis]
    elif axis > 0:
        return False
    while isinstance(index, ast.BinOp):
        index = index.left
    if isinstance(index, ast.UnaryOp):
        return isinstance(index.op, ast.USub)
    if isinstance(index, ast.Name) and index.id not in source.function.__code__.co_varnames:
        value = source.lookup(index.id)
        return isinstance(value, (int, np.integer)) and bool(value < 0)
    return False


def index_of(node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.Subscript):
        return node.slice
    if isinstance(node, ast.Call) and len(node.args) > 1:
        return node.args[1]
    return None


def numbers_in(node: ast.expr, axis: int, frame: Frame, position: int) -> str:
    """The variables of a computed index, as they are in one thread: "offset = 512, row = 3"."""
    index = index_of(node)
    if isinstance(index, ast.Tuple) and axis < len(index.elts):
        index = index.elts[axis]
    names = [part for part in ast.walk(index) if isinstance(part, ast.Name)] if index else []
    names.sort(key=lambda name: (name.lineno, name.col_offset))
    values = {}
    for name in names:
        variable = frame.variables.get(name.id)
        value = variable.value if variable else None
        if is_number(value) and value.dtype.kind in "iu":
            values[name.id] = int(value[position] if isinstance(value, np.ndarray) else value)
    if len(values) < FEWEST_NAMED:
        return ""
    *most, last = [f"{name} = {value}" for name, value in values.items()]
    return f"{', '.join(most)} and {last}"


def of_block(node: ast.expr, axis: int, frame: Frame) -> bool:
    """Whether an index is computed of the number of the block."""
    index = index_of(node)
    if isinstance(index, ast.Tuple) and axis < len(index.elts):
        index = index.elts[axis]
    return index is not None and depends_on_block(frame.source.tree, index)


FEWEST_NAMED = 2  # variables; the value of a single one is the index itself, or nearly
MOST_NUMBERS = 100_000
NEAR_THE_EDGE = 16  # so far beyond it an index comes that only lacks a guard, as of a stencil
NO_RETURN = (
    "Is a guard missing, or does it compare with another length? It has to be an `if` around this "
    "line, and no `return`: a barrier follows, and all threads have to reach it. Threads without "
    "an element take a neutral value, such as float32(0)."
)


class Wanted(NamedTuple):
    """What the threads of one access ask for: arrays of one number per thread, for each axis."""

    indices: list[np.ndarray]
    lengths: list[np.ndarray]  # of the array that each of them sees
    everybody: bool  # whether all threads take part: no guard has stopped any
    meets_later: bool  # whether all threads have to come to a barrier, or to a shuffle, after it
    first_too: bool  # whether the launch's very first thread is among those that are outside
    made_of: str  # the numbers of one thread's index, as "offset = 512, row = 3"; may be ""
    taken_apart: str  # why row and column, taken out of one number, are others; may be ""
    frame: Frame  # of the function in which they ask


def where_outside(view: ArrayView, axis: int, value: int, length: int) -> str:
    """Which indices this axis has, where a thread asks for another."""
    if value < 0:
        problem = f"index {value} of axis {axis} is negative: it would count from the end"
    elif length:
        problem = f"axis {axis} has only the indices 0 to {length - 1}"
    elif view.memory.dynamic is not None:
        return (
            "dynamic shared memory has no byte: launch with dynamic_shared=BYTES (on a GPU, "
            "kernel[grid, block, stream, BYTES])"
        )
    else:
        return f"axis {axis} is empty"
    if length and view.memory.dynamic is not None:
        problem += ", which is all that the launch gives it with dynamic_shared="
    return problem


def way_back_inside(
    node: ast.expr, view: ArrayView, axis: int, place: Sequence[int], uniform: bool, wanted: Wanted
) -> str:
    """What to do about an index outside its array.

    place: the index of one thread. axis: where it is outside. uniform: whether the index there is
    the same in all threads.
    """
    index = index_of(node)
    if isinstance(index, ast.Tuple) and axis < len(index.elts):
        index = index.elts[axis]
    if isinstance(index, ast.Constant):
        return "That index is written out: indices count from 0."
    if place[axis] < -NEAR_THE_EDGE:
        return wrong_number("It is computed", wanted, "small")
    if place[axis] < 0:
        inside = "Keep it inside with max(index, 0), or leave it out with a guard."
        return f"{inside} Or is something subtracted that does not belong there?"
    if uniform:
        return too_many_rounds(view.memory.space, exchange_helps(wanted, axis))
    if view.memory.space != "global":
        return (
            "The index counts over blocks, and each block has an array of its own: its index "
            "counts within the block, as cuda.threadIdx does. Or is the array smaller than it "
            "should be?"
            if of_block(node, axis, wanted.frame)
            else "Is the array as large as its threads need, and is this the index that was meant?"
        )
    if len(wanted.indices) < len(view.shape) and isinstance(index, ast.BinOp):
        return f"It has {len(view.shape)} dimensions: give an index for each, the row first."
    lengths = [int(length[0]) for length in wanted.lengths]
    of_last = first_is_last(view, wanted.indices, name_of(node, view, lengths))
    if wanted.taken_apart or of_last:
        return wanted.taken_apart or of_last
    if wanted.first_too and wanted.lengths[axis][0] > NEAR_THE_EDGE:
        return wrong_number("Even the first thread is outside", wanted, "large")
    why = hole_in_the_guard(wanted, axis)
    numbers = made_of(wanted)
    if numbers and numbers in why:
        return why
    if isinstance(index, ast.BinOp) and isinstance(index.op, ast.Add):
        return f"{why} Or is something added to the index that does not belong there?{numbers}"
    return why


def too_many_rounds(space: str, exchange: bool) -> str:
    """exchange: whether the indices the other way round would be inside, too."""
    if space != "global":
        return (
            "It is the same in all threads: does a loop go on for too long, or is the array "
            "smaller than it should be?"
        )
    if not exchange:
        return (
            "It is the same in all threads: does a loop go on for too long? Or does it count along "
            "another array than this one?"
        )
    return (
        "It is the same in all threads: does a loop go on for too long? Or are two indices "
        "exchanged? The other way round they are inside in all of these threads."
    )


def wrong_number(why: str, wanted: Wanted, how: str) -> str:
    divides = how == "large" and any(map(is_division, ast.walk(wanted.frame.source.tree)))
    more = ", or too small, if something is divided by it" * divides
    return f"{why}: which of the numbers that it is made of is too {how}{more}?{made_of(wanted)}"


def is_division(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.FloorDiv))


def made_of(wanted: Wanted) -> str:
    """The numbers of one thread's index, as a sentence; "" if there is no more than one."""
    return f" In the first of these threads, {wanted.made_of}." if wanted.made_of else ""


def hole_in_the_guard(wanted: Wanted, axis: int) -> str:
    """Why threads come here that have no element: what all of their indices agree on."""
    outside = [index >= n for index, n in zip(wanted.indices, wanted.lengths, strict=False)]
    if exchange_helps(wanted, axis):
        if wanted.everybody:
            return (
                "Is a guard missing, or are two indices exchanged? (The other way round they are "
                "inside in all of these threads.)"
            )
        guard = " (Or the guard compares each with the length of the other.)"
        return (
            "Are two indices exchanged? The other way round they are inside in all of these "
            f"threads.{guard * by_threads(wanted, axis)}"
        )
    if len(outside) > 1:
        one, other = outside[:2]
        apart = (one & ~other).any() and (other & ~one).any() and not (one & other).any()
        if apart and not wanted.everybody:
            return (
                "Each of these threads is outside in one direction only: does the guard join its "
                "two conditions with the wrong word, `and` or `or`?"
            )
    beyond = wanted.indices[axis] - wanted.lengths[axis]
    if (beyond <= 0).all() and not wanted.everybody:
        return (
            "It is one too large: is it `>` where it must be `>=`, an index + 1 that nothing keeps "
            "inside, a loop that goes too far, or a guard that looks at another number?"
        )
    if missing_numbers(wanted.indices[axis]) == {int(wanted.lengths[axis][0])}:
        return (
            "Threads that are just beyond the end are stopped, and those further out are not: is "
            "it `==` where it must be `>=`?"
        )
    if missing_numbers(wanted.indices[axis]):
        return wrong_number("It is computed", wanted, "large")
    if stopped_elsewhere(wanted, axis):
        return (
            f"Along axis {1 - axis} a guard stops such threads; along axis {axis} it is missing, "
            "or compares with another length."
        )
    if wanted.meets_later:
        return NO_RETURN
    return "Is a guard such as `if i >= n: return` missing, or does it compare with another length?"


def missing_numbers(index: np.ndarray) -> set[int]:
    """The numbers between the least and the largest index that no thread has: none in a count."""
    least, largest = int(index.min()), int(index.max())
    if largest - least > MOST_NUMBERS:
        return {least}
    return set(range(least, largest)) - set(index.tolist())


def exchange_helps(wanted: Wanted, axis: int) -> bool:
    """Whether all threads are inside with two of their indices the other way round.

    axis: where they are outside, which must be one of these two.
    """
    indices, lengths = wanted.indices, wanted.lengths
    return any(
        bool((indices[axis] < lengths[other]).all() and (indices[other] < lengths[axis]).all())
        for other in range(min(len(indices), len(lengths)))
        if other != axis
    )


def by_threads(wanted: Wanted, axis: int) -> bool:
    """Whether another index than that of an axis goes from thread to thread, so far as is seen.

    Of one that is the same in all of them, as of a loop, no guard of threads takes care.
    """
    others = [index for other, index in enumerate(wanted.indices) if other != axis]
    return len(others[0]) < 2 or any(np.ptp(index) > 0 for index in others)


def stopped_elsewhere(wanted: Wanted, axis: int) -> bool:
    """Whether threads go up to the end of the other of the first two axes, and no further."""
    if wanted.everybody or len(wanted.indices) < 2 or axis > 1:
        return False
    index, length = wanted.indices[1 - axis], wanted.lengths[1 - axis]
    varies = bool((index != index[0]).any())
    return varies and bool((index < length).all() and (index == length - 1).any())
