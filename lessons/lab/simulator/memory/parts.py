"""An index outside a part of an array: what the part is called, and whether it is the right one."""

import ast
import math
from collections.abc import Sequence

import numpy as np

from .arrays import ArrayView, row_major_strides

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
