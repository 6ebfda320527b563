"""Which index is meant to be negative, and why one lies outside its array."""

import ast
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ...names import CudaName, resolve
from ...numba_types import is_number
from ...source import Source, called_source, names_in, parts_of
from ..frames import Frame
from .arrays import ArrayView, row_major_strides
from .data_flow import depends_on_block

# ---------------------------------------------------------------- a part of an array


FEWEST_AXES = 3  # of two, an index too far is more often one that a guard should stop


def is_outside(
    node: ast.expr, view: ArrayView, place: Sequence[int], shape: Sequence[int], problem: str
) -> str:
    """What a finding says of an index outside, of a part of an array by the name of the part.

    place, shape: the index, and the view's shape, of one thread. problem: as `where_outside`.
    """
    name = name_of(node, view, shape)
    text = f"{name}{place} is outside its shape {shape}: {problem}"
    if name == view.memory.name:
        return text
    whole = tuple(int(n) for n in view.memory.shape)
    how = "a part" if math.prod(shape) < math.prod(whole) else "another view"
    return f"{text} (`{name}` is {how} of {view.memory.name}, whose shape is {whole})"


def name_of(node: ast.expr, view: ArrayView, shape: Sequence[int]) -> str:
    """The array by its own name; or, of a part with another shape, as the kernel writes it."""
    memory = view.memory
    known = memory.space == "global" and memory.whole is None
    if known and tuple(shape) != tuple(int(n) for n in memory.shape):
        return written(node) or memory.name
    return memory.name


def written(node: ast.expr) -> str:
    """How the kernel writes the array of a subscript, or the one that an atomic is given."""
    if isinstance(node, ast.Subscript):
        return ast.unparse(node.value)
    if isinstance(node, ast.Call) and node.args:
        return ast.unparse(node.args[0])
    return ""


def first_is_last(view: ArrayView, indices: Sequence[np.ndarray], name: str) -> str:
    """Why indices of `array[k]` are outside, if k was meant for the array's last axis; else "".

    indices: of all threads that take part, an array for each axis of the view. name: as `name_of`.
    """
    whole = tuple(int(n) for n in view.memory.shape)
    rows = row_major_strides(whole)
    if view.memory.strides not in (None, rows) or len(whole) < FEWEST_AXES:
        return ""
    if tuple(map(str, view.shape + view.strides)) != tuple(map(str, whole[1:] + rows[1:])):
        return ""
    first = np.asarray(view.offset) // rows[0]  # the index that the part was taken with
    fit = [index.size and index.max() < n for index, n in zip(indices, whole, strict=False)]
    if len(fit) != len(whole) - 1 or not all(fit) or first.max() >= whole[-1]:
        return ""
    if indices[-1].max() < whole[-1]:  # only a guard is missing, for the axis before
        return ""
    lengths = " and ".join(map(str, whole[:-1]))
    return (
        f"`{name}` was taken with the first index of {view.memory.name}. The indices here would "
        f"fit its first axes, {lengths}: should the number that is the first index now be the last?"
    )


# ---------------------------------------------------------------- row and column of a flat index


DIVISIONS = (ast.FloorDiv, ast.Mod)


def taken_apart(index: ast.expr | None, lengths: Sequence[int], frame: Frame) -> str:
    """Why `index` is outside: "row and column are taken out of `n` ..."; "" if they are not.

    index: of an array of these lengths, with an index for each axis.
    """
    if not isinstance(index, ast.Tuple) or len(index.elts) < 2 or len(lengths) < 2:
        return ""
    whole, rest = (made_by(part, frame) for part in index.elts[:2])
    if not whole or not rest or not isinstance(whole.op, ast.FloorDiv):
        return ""
    number, divisor = ast.unparse(whole.left), ast.unparse(whole.right)
    same = (number, divisor) == (ast.unparse(rest.left), ast.unparse(rest.right))
    length = value_of(whole.right, frame)
    # Any other divisor may be the width of a tile that is too large.
    if not isinstance(rest.op, ast.Mod) or not same or length != lengths[0] != lengths[1]:
        return ""
    return (
        f"Row and column are taken out of `{number}` with `{divisor}`, which is {length}, the "
        f"number of rows. But a row has {lengths[1]} elements: `//` and `%` need that length, and "
        "so does whatever counts the elements row by row."
    )


def made_by(node: ast.expr, frame: Frame) -> ast.BinOp | None:
    """The division that an index is, or that a name in its place was given."""
    found = node
    if isinstance(node, ast.Name):
        given = [value for name, value in assigned(frame.source.tree) if name == node.id]
        if len(given) != 1:
            return None
        found = given[0]
    if isinstance(found, ast.BinOp) and isinstance(found.op, DIVISIONS):
        return found
    return None


def assigned(function: ast.FunctionDef) -> Iterator[tuple[str, ast.expr]]:
    """Names and what they are given, also in `row, column = n // width, n % width`, and divmod."""
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            if isinstance(target, ast.Name):
                yield target.id, node.value
            elif isinstance(target, ast.Tuple):
                names = [part.id for part in target.elts if isinstance(part, ast.Name)]
                if len(names) == len(target.elts):
                    yield from zip(names, values_in(node.value), strict=False)


def values_in(value: ast.expr) -> list[ast.expr]:
    """What several names are given at once."""
    match value:
        case ast.Tuple(values):
            return values
        case ast.Call(ast.Name("divmod"), [left, right]):
            return [ast.BinOp(left, operator(), right) for operator in DIVISIONS]
    return []


def value_of(node: ast.expr, frame: Frame) -> int | None:
    """A variable that is the same in all threads, or a length; None if it is not known."""
    value: object
    if isinstance(node, ast.Name) and node.id in frame.variables:
        value = frame.variables[node.id].value
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        value = length_of(node.value, node.slice.value, frame)
    else:
        return None
    return int(value) if isinstance(value, (int, np.integer)) else None


def length_of(node: ast.expr, axis: object, frame: Frame) -> object:
    """`array.shape[axis]` of an array that the function knows by a name."""
    if not isinstance(node, ast.Attribute) or node.attr != "shape":
        return None
    variable = frame.variables.get(ast.unparse(node.value))
    view = variable.value if variable else None
    if isinstance(view, ArrayView) and isinstance(axis, int) and axis < len(view.shape):
        return view.shape[axis]
    return None


# ---------------------------------------------------------------- barriers behind a line


# What all threads of a block, of a warp or of the grid have to come to.
MEETINGS = (
    "syncthreads", "syncwarp", "shfl", "ballot_sync", "all_sync", "any_sync", "eq_sync", "match",
    "grid_group",
)  # fmt: skip


def meets_later(places: Iterable[tuple[Source, int]]) -> bool:
    """Whether threads meet after a line, or in a loop around it.

    places: the line in the function that is running, then where that is called, up to the kernel.
    """
    return any(meets_after(source, line) for source, line in places)


def meets_after(source: Source, line: int) -> bool:
    loops = (node for node in ast.walk(source.tree) if isinstance(node, (ast.For, ast.While)))
    around = [loop for loop in loops if loop.lineno <= line <= (loop.end_lineno or line)]
    begin = min((loop.lineno for loop in around), default=line)
    return any(meeting > begin for meeting in lines_of_meetings(source, frozenset()))


def lines_of_meetings(source: Source, callers: frozenset[object]) -> Iterator[int]:
    """Lines where threads meet, there or in a function that is called there.

    callers: the functions that have called it; one that calls itself is looked at once.
    """
    callers = callers | {source.function}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and meets(source, node, callers):
            yield node.lineno


def meets(source: Source, call: ast.Call, callers: frozenset[object]) -> bool:
    called = resolve(source, call.func)
    if isinstance(called, CudaName):
        return called.path.startswith(MEETINGS)
    if isinstance(call.func, ast.Attribute) and call.func.attr == "sync":  # of `this_grid()`
        return True
    inner = called_source(called)
    if inner is None or inner.function in callers:
        return False
    return any(lines_of_meetings(inner, callers))


# ---------------------------------------------------------------- an index outside its array


def counts_from_end(source: Source, node: ast.expr, axis: int) -> bool:
    """Whether whoever wrote an index meant it to count from the end, as in `x[-1]`, `x[-1 - i]`.

    `x[i - 1]` in the first thread is a mistake; an index that begins with a minus, or the name of a
    negative constant, is not. node: the subscript, or the call of an atomic.
    """
    index = index_along(node, axis)
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


def index_along(node: ast.expr, axis: int) -> ast.expr | None:
    """The index of one axis; None if it is not written out."""
    index = index_of(node)
    return index and next(iter(parts_of(index)[axis:]), None)


def numbers_in(node: ast.expr, axis: int, frame: Frame, position: int) -> str:
    """The variables of a computed index, as they are in one thread: "offset = 512, row = 3"."""
    index = index_along(node, axis) or index_of(node)
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
    index = index_along(node, axis) or index_of(node)
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
        problem += (
            ", which is all that the launch gives it, by its fourth number or dynamic_shared="
        )
    return problem


def way_back_inside(
    node: ast.expr, view: ArrayView, axis: int, place: Sequence[int], uniform: bool, wanted: Wanted
) -> str:
    """What to do about an index outside its array.

    place: the index of one thread. axis: where it is outside. uniform: whether the index there is
    the same in all threads.
    """
    index = index_along(node, axis) or index_of(node)
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
    why = wrongly_joined(wanted, index) or hole_in_the_guard(wanted, axis)
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


def wrongly_joined(wanted: Wanted, index: ast.expr | None) -> str:
    """Whether `if x >= n and y >= m: return` stands before it, or `if x < n or y < m:` around it.

    Either lets threads pass that are outside in one direction, and none that are in both.
    """
    outside = [one >= n for one, n in zip(wanted.indices, wanted.lengths, strict=False)]
    if index is None or len(outside) < 2 or (outside[0] & outside[1]).any():
        return ""
    for node in ast.walk(wanted.frame.source.tree):
        if not (isinstance(node, ast.If) and isinstance(node.test, ast.BoolOp)):
            continue
        last, leaves = node.body[-1], isinstance(node.body[-1], ast.Return)
        signs = (ast.Gt, ast.GtE) if leaves else (ast.Lt, ast.LtE)
        word, other = ("and", "or") if leaves else ("or", "and")
        joined = isinstance(node.test.op, ast.And if leaves else ast.Or) and all(
            isinstance(one, ast.Compare) and isinstance(one.ops[0], signs)
            for one in node.test.values
        )
        guards = node.lineno <= index.lineno and (leaves or index.lineno <= (last.end_lineno or 0))
        if joined and guards and names_in(index) & names_in(node.test):
            return f"Is the `{word}` of line {node.lineno} meant to be `{other}`?"
    return ""


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
