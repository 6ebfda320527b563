"""Elements, rows and slices of arrays."""

import ast
from typing import Any

import numpy as np

from lessons.lab.numba_types import Number, convert, is_number
from lessons.lab.simulator.context import Context
from lessons.lab.simulator.expressions.evaluator import Evaluator
from lessons.lab.simulator.memory.arrays import ArrayView
from lessons.lab.simulator.stops import Unsupported
from lessons.lab.simulator.teams import Mask

INT64 = np.dtype(np.int64)


class Indexing:
    """Evaluates subscripts."""

    def __init__(self, context: Context, evaluator: Evaluator) -> None:
        self.launch = context.launch
        self.memory = context.memory
        self.evaluator = evaluator

    def subscript(self, node: ast.Subscript, mask: Mask) -> object:
        value = self.evaluator.evaluate(node.value, mask)
        if isinstance(value, tuple):
            return self.item_of_tuple(node, value, mask)
        view, indices = self.view_and_indices(node, value, mask)
        if indices is None:
            return view
        return self.memory.load(view, indices, mask, node)

    def item_of_tuple(self, node: ast.Subscript, value: tuple, mask: Mask) -> object:
        index: Any = self.evaluator.evaluate(node.slice, mask)
        if np.ndim(index) != 0:
            raise Unsupported(node, "a tuple's index must be the same number in all threads")
        if not -len(value) <= index < len(value):
            raise Unsupported(node, f"a tuple of {len(value)} has no element {index}")
        return value[int(index)]

    def view_and_indices(
        self, node: ast.Subscript, value: object, mask: Mask
    ) -> tuple[ArrayView, list[Number] | None]:
        """(array, one number per index); for a slice: (smaller array, None)."""
        if not isinstance(value, ArrayView):
            raise Unsupported(node, f"`{ast.unparse(node.value)}` is not an array")
        if any(isinstance(part, ast.Slice) for part in index_parts(node.slice)):
            return self.slice(node, value, mask), None
        index = self.evaluator.evaluate(node.slice, mask)
        indices: list[Number] = []
        for part in index if isinstance(index, tuple) else (index,):
            if not is_number(part):
                raise Unsupported(
                    node, f"`{ast.unparse(node.slice)}` cannot index an array in a kernel"
                )
            indices.append(part)
        if len(indices) > len(value.shape):
            raise Unsupported(
                node, f"{value.memory.name} has {len(value.shape)} dimensions, not {len(indices)}"
            )
        self.note_signed(node, value, indices)
        return value, indices

    def view_and_element(
        self, node: ast.Subscript, value: object, mask: Mask, problem: str
    ) -> tuple[ArrayView, list[Number]]:
        """(array, one number per dimension). Raises `Unsupported(problem)` for rows and slices."""
        view, indices = self.view_and_indices(node, value, mask)
        if indices is None or len(indices) < len(view.shape):
            raise Unsupported(node, problem)
        return view, indices

    def note_signed(self, node: ast.Subscript, view: ArrayView, indices: list[Number]) -> None:
        """Remember the first global access by a signed index that differs between threads."""
        if self.launch.signed_index is None and view.memory.space == "global":
            if any(np.ndim(index) and index.dtype.kind == "i" for index in indices):
                self.launch.signed_index = (node.lineno, ast.unparse(node))

    def slice(self, node: ast.Subscript, view: ArrayView, mask: Mask) -> ArrayView:
        parts = index_parts(node.slice)
        offset, shape, strides = view.offset, [], []
        for axis, (length, stride) in enumerate(zip(view.shape, view.strides, strict=True)):
            part = parts[axis] if axis < len(parts) else ast.Slice()
            if not isinstance(part, ast.Slice):
                along_axis = ArrayView(view.memory, offset, (length,), (stride,))
                index = self.evaluator.number(part, mask)
                offset, _ = self.memory.locate(along_axis, [index], mask, node)
                continue
            if part.step is not None:
                raise Unsupported(node, "the checked simulator knows slices without a step only")
            begin = self.slice_end(part.lower, 0, length, mask)
            end = self.slice_end(part.upper, length, length, mask)
            offset = offset + begin * stride
            shape.append(np.maximum(end - begin, 0))
            strides.append(stride)
        if any(np.ndim(length) for length in shape):
            raise Unsupported(
                node, "the checked simulator needs slices of the same length in all threads"
            )
        return ArrayView(view.memory, offset, tuple(int(n) for n in shape), tuple(strides))

    def slice_end(self, node: ast.expr | None, default: int, length: int, mask: Mask) -> Any:
        """Where a slice begins or ends, one int64 or one per thread, within the axis."""
        if node is None:
            return np.int64(default)
        value = convert(self.evaluator.number(node, mask), INT64)
        return np.clip(np.where(value < 0, value + length, value), 0, length)[()]


def index_parts(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else [node]
