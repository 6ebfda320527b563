"""Whole arrays in one statement: `a[:] = 0`, `row[::2] = other`, `np.add(a, b, out)`, `a.sum()`.

A thread works on the elements one after another, and so does the simulator.
"""

import ast
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ...numba_types import Number, is_number
from ..context import Context
from ..memory.arrays import ArrayView, Memory, row_major_strides
from ..stops import Unsupported
from ..teams import Mask
from ..values import as_number


class WholeArrays:
    """Loads and stores all elements of an array."""

    def __init__(self, context: Context) -> None:
        self.team = context.team
        self.memory = context.memory

    def places(self, view: ArrayView, mask: Mask) -> Iterator[tuple[list[np.int64], Mask]]:
        """(indices, mask) of each element; the mask: of the threads whose array has so many."""
        longest = [
            int(self.team.full(np.int64(length))[mask].max(initial=0)) for length in view.shape
        ]
        for place in itertools.product(*map(range, longest)):
            here = mask
            for index, length in zip(place, view.shape, strict=True):
                if np.ndim(length):
                    here = here & (index < length)
            if here.any():
                yield [np.int64(index) for index in place], here

    def elements(self, node: ast.expr, view: ArrayView, mask: Mask) -> list[Any]:
        """The value of every element, row by row."""
        return [
            self.memory.load(view, indices, here, node) for indices, here in self.places(view, mask)
        ]

    def fill(self, node: ast.expr, target: ArrayView, value: object, mask: Mask) -> None:
        """target[:] = value, a number for all or an array or tuple that fits."""
        if isinstance(value, ArrayView) and value.is_record and target.dtype.fields is None:
            raise Unsupported(node, "a record cannot be stored in an array of numbers")
        if isinstance(value, tuple):
            value = self.array_of(node, value, mask)
        if not isinstance(value, ArrayView):
            for indices, here in self.places(target, mask):
                self.store(node, target, indices, value, here)
            return
        source = broadcast(node, value, target)
        # All loads come first: the two arrays may overlap.
        values = self.elements(node, source, mask)
        places = list(self.places(target, mask))
        if len(values) != len(places):
            raise Unsupported(node, "the two arrays have not the same length")
        for (indices, here), item in zip(places, values, strict=True):
            self.store(node, target, indices, item, here)

    def store(
        self, node: ast.expr, target: ArrayView, indices: list[Any], value: object, mask: Mask
    ) -> None:
        """One element: a number, or a record, field by field."""
        if target.dtype.fields is None:
            if not is_number(value):
                raise Unsupported(node, "only a number can be stored in an array's element")
            self.memory.store(target, indices, value, mask, node)
            return
        record = self.memory.load(target, indices, mask, node)
        assert isinstance(record, ArrayView)
        if not isinstance(value, ArrayView) or not value.is_record:
            raise Unsupported(node, "only a record can be stored in an array of records")
        self.copy_record(node, record, value, mask)

    def copy_record(self, node: ast.expr, target: ArrayView, value: ArrayView, mask: Mask) -> None:
        for name in target.dtype.fields or ():
            if name not in (value.dtype.fields or ()):
                raise Unsupported(node, f"the record on the right has no field `{name}`")
            self.fill(node, target.part(name), value.part(name), mask)

    def array_of(self, node: ast.expr, items: tuple, mask: Mask) -> ArrayView:
        numbers = [item for item in items if is_number(item)]
        if not numbers or len(numbers) != len(items):
            raise Unsupported(node, "only a tuple of numbers can be stored in an array")
        dtype = np.result_type(*numbers)
        return self.temporary((len(items),), dtype, numbers, mask, node)

    def temporary(
        self, shape: tuple[int, ...], dtype: np.dtype, values: list[Number], mask: Mask,
        node: ast.expr,
    ) -> ArrayView:  # fmt: skip
        """An array of a thread's own that holds these values, row by row."""
        size = len(values)
        data = np.zeros(size * self.team.size, dtype)
        for place, value in enumerate(values):
            data[place::size] = value
        memory = Memory("array", "local", data, size, shape)
        memory.initialised = None
        offset = np.arange(self.team.size, dtype=np.int64) * size
        return ArrayView(memory, offset, shape, row_major_strides(shape))

    def apply(
        self, node: ast.expr, function: Callable[..., Number], operands: list[Any], mask: Mask
    ) -> ArrayView:
        """function of the elements of arrays and numbers, as a new array."""
        views = [operand for operand in operands if isinstance(operand, ArrayView)]
        like = ArrayView(views[0].memory, 0, *common_shape(node, views))
        columns = [self.column(node, operand, like, mask) for operand in operands]
        values = [function(*row) for row in zip(*columns, strict=False)]
        dtype = values[0].dtype if values else np.dtype(np.float64)
        return self.temporary(like.shape, dtype, values, mask, node)

    def column(self, node: ast.expr, operand: Any, like: ArrayView, mask: Mask) -> Iterable[Any]:
        """The operand's value for each element of an array like `like`."""
        if isinstance(operand, ArrayView) and not operand.dtype.fields:
            return self.elements(node, broadcast(node, operand, like), mask)
        number = as_number(operand)
        if number is None:
            raise Unsupported(node, "arrays are combined with arrays and numbers only")
        return itertools.repeat(number)


def common_shape(
    node: ast.expr, views: Sequence[ArrayView]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(shape, strides) of an array for a value of each element."""
    if any(np.ndim(length) for view in views for length in view.shape):
        raise Unsupported(node, "these arrays must have the same length in all threads")
    try:
        shape = np.broadcast_shapes(*(tuple(map(int, view.shape)) for view in views))
    except ValueError:
        shapes = " and ".join(str(tuple(map(int, view.shape))) for view in views)
        raise Unsupported(node, f"arrays of the shapes {shapes} do not fit") from None
    return shape, row_major_strides(shape)


def broadcast(node: ast.expr, view: ArrayView, target: ArrayView) -> ArrayView:
    """`view` with the shape of `target`, its elements repeated where it has fewer."""
    missing = len(target.shape) - len(view.shape)
    shape: list[Any] = [1] * missing + list(view.shape)
    strides: list[Any] = [0] * missing + list(view.strides)
    if missing < 0:
        raise Unsupported(node, f"an array of {len(view.shape)} dimensions does not fit here")
    for axis, length in enumerate(target.shape):
        if np.ndim(shape[axis]) == 0 and int(shape[axis]) == 1:
            shape[axis], strides[axis] = length, 0
        elif np.ndim(length) == 0 and np.ndim(shape[axis]) == 0 and shape[axis] != length:
            raise Unsupported(
                node, f"{shape[axis]} elements cannot be stored in {length} along axis {axis}"
            )
    return ArrayView(view.memory, view.offset, tuple(shape), tuple(strides))
