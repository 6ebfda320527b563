"""Elements, rows and slices of arrays, read and stored; whole arrays, element by element."""

import ast
import enum
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ...numba_compiler import is_of_user
from ...numba_types import INT64, Number, convert, is_number
from ...source import parts_of
from ..context import Context
from ..memory.arrays import ArrayView, Memory, row_major_strides
from ..stops import Unsupported
from ..teams import Mask, first_of
from ..values import as_number, enum_value
from .evaluator import Evaluator


class Indexing:
    """Evaluates subscripts."""

    def __init__(self, context: Context, expressions: Evaluator) -> None:
        self.launch = context.launch
        self.memory = context.memory
        self.reporter = context.reporter
        self.team = context.team
        self.expressions = expressions

    def subscript(self, node: ast.Subscript, mask: Mask) -> object:
        value = self.expressions.evaluate(node.value, mask)
        if isinstance(value, tuple):
            return self.item_of_tuple(node, value, mask)
        if isinstance(value, type) and issubclass(value, enum.Enum):
            return self.member_of_enum(node, value, mask)
        view, indices = self.place(node, value, mask)
        if indices is None or (not indices and view.shape):
            return view
        return self.memory.load(view, indices, mask, node)

    def field(self, node: ast.expr, view: ArrayView, name: str, mask: Mask) -> object:
        """The value of a field: a number, an array, a record."""
        part = view.part(name)
        return part if part.shape else self.memory.load(part, [], mask, node)

    def item_of_tuple(self, node: ast.Subscript, value: tuple, mask: Mask) -> object:
        if isinstance(node.slice, ast.Slice):
            ends = (node.slice.lower, node.slice.upper, node.slice.step)
            numbers = [self.constant_index(node, end, mask) for end in ends]
            if numbers[2] == 0:
                raise Unsupported(node, "the step of a slice must not be 0")
            return value[slice(*numbers)]
        index: Any = self.expressions.evaluate(node.slice, mask)
        if not is_number(index) or index.dtype.kind not in "iu":
            raise Unsupported(node, "a tuple's index must be a whole number")
        if np.ndim(index) != 0:
            return self.varying_item(node, value, convert(index, INT64), mask)
        if not -len(value) <= index < len(value):
            if not value or isinstance(node.slice, (ast.Constant, ast.UnaryOp)):
                raise Unsupported(node, f"a tuple of {len(value)} has no element {index}")
            self.report_outside_tuple(node, len(value), index, mask)
            return value[0]
        return value[int(index)]

    def constant_index(self, node: ast.Subscript, end: ast.expr | None, mask: Mask) -> int | None:
        value = None if end is None else self.expressions.number(end, mask)
        if value is not None and np.ndim(value):
            raise Unsupported(node, "a part of a tuple must be the same in all threads")
        if value is not None and value.dtype.kind not in "iu":
            raise Unsupported(node, "the ends of a slice must be whole numbers")
        return None if value is None else int(value)

    def varying_item(self, node: ast.Subscript, items: tuple, index: Number, mask: Mask) -> object:
        """Each thread takes its own item of a tuple, whose items are all of one kind."""
        outside = mask & ((index < -len(items)) | (index >= len(items)))
        if outside.any():
            self.report_outside_tuple(node, len(items), index, outside)
        if not items:
            raise Unsupported(node, "an empty tuple has no elements")
        index = np.where(index < 0, index + len(items), index)
        found = items[0]
        for number, item in enumerate(items[1:], start=1):
            found = self.expressions.variables.select(node, index == number, item, found)
        return found

    def report_outside_tuple(
        self, node: ast.Subscript, length: int, index: Number, outside: Mask
    ) -> None:
        position = first_of(outside)
        self.reporter.add(
            "out-of-bounds",
            node,
            f"a tuple of {length} has no element {int(self.team.full(index)[position])}: "
            f"{self.reporter.name_all(outside)}",
            place=self.reporter.place_of(position),
        )

    def member_of_enum(self, node: ast.Subscript, kind: type[enum.Enum], mask: Mask) -> object:
        name = self.expressions.evaluate(node.slice, mask)
        if not isinstance(name, str) or name not in kind.__members__:
            raise Unsupported(node, f"{kind.__name__} has no member {name}")
        return enum_value(kind.__members__[name])

    def place(
        self, node: ast.Subscript, value: object, mask: Mask
    ) -> tuple[ArrayView, list[Number] | None]:
        """(array, one number per index); for a slice: (smaller array, None)."""
        if not isinstance(value, ArrayView):
            raise Unsupported(node, f"`{ast.unparse(node.value)}` is not an array")
        if any(map(is_whole, parts_of(node.slice))):
            return self.slice(node, value, mask), None
        index = self.expressions.evaluate(node.slice, mask)
        if value.is_record and is_number(index) and np.ndim(index) == 0:
            index = field_number(value, int(index))
        if isinstance(index, str) and value.dtype.fields:
            if index not in value.dtype.fields:
                raise Unsupported(node, f"{value.memory.name} has no field `{index}`")
            return value.part(index), []
        indices: list[Number] = []
        for part in index if isinstance(index, tuple) else (index,):
            if isinstance(part, ArrayView) and not part.shape:
                part = self.memory.load(part, [], mask, node)
            number = as_number(part)
            if number is None:
                raise Unsupported(
                    node, f"`{ast.unparse(node.slice)}` cannot index an array in a kernel"
                )
            indices.append(number)
        if len(indices) > len(value.shape):
            raise Unsupported(
                node, f"{value.memory.name} has {len(value.shape)} dimensions, not {len(indices)}"
            )
        self.note_signed(node, value, indices)
        return value, indices

    def note_signed(self, node: ast.Subscript, view: ArrayView, indices: list[Number]) -> None:
        """Remember the first global access by a signed index that differs between threads.

        Nobody can change one in a function of Numba's own.
        """
        if self.launch.signed_index is None and view.memory.space == "global":
            source = self.reporter.stack.source
            signed = any(np.ndim(index) and index.dtype.kind == "i" for index in indices)
            if signed and is_of_user(source.filename):
                self.launch.signed_index = (source.filename, node.lineno, ast.unparse(node))

    def slice(self, node: ast.Subscript, view: ArrayView, mask: Mask) -> ArrayView:
        parts = without_ellipsis(parts_of(node.slice), len(view.shape))
        offset: Any = view.offset
        shape: list[Any] = []
        strides: list[Any] = []
        axis = 0
        for part in parts:
            if is_new_axis(part):
                shape.append(1)
                strides.append(0)
                continue
            if axis >= len(view.shape):
                raise Unsupported(node, f"{view.memory.name} has only {len(view.shape)} dimensions")
            length, stride = view.shape[axis], view.strides[axis]
            axis += 1
            if isinstance(part, ast.Slice):
                begin, count, step = self.slice_limits(node, part, length, mask)
                offset = offset + begin * stride
                shape.append(count)
                strides.append(stride * step)
                continue
            along_axis = ArrayView(view.memory, offset, (length,), (stride,))
            index = self.expressions.number(part, mask)
            offset, _ = self.memory.locate(along_axis, [index], mask, node)
        shape += view.shape[axis:]
        strides += view.strides[axis:]
        return ArrayView(view.memory, offset, tuple(shape), tuple(strides))

    def slice_limits(
        self, node: ast.Subscript, part: ast.Slice, length: Any, mask: Mask
    ) -> tuple[Any, Any, Any]:
        """(begin, count, step) of a slice, each an int64 or one per thread."""
        step = self.slice_end(part.step, mask)
        step = np.int64(1) if step is None else step
        if np.any(mask & (step == 0)):
            raise Unsupported(node, "the step of a slice must not be 0")
        forward = step > 0
        first = np.where(forward, 0, length - 1)
        last = np.where(forward, length, -1)
        begin = self.within(part.lower, first, length, forward, mask)
        end = self.within(part.upper, last, length, forward, mask)
        count = np.maximum(-((begin - end) // np.where(step == 0, 1, step)), 0)
        return begin[()], as_int(count), as_int(step)

    def within(
        self, end: ast.expr | None, default: Any, length: Any, forward: Any, mask: Mask
    ) -> Any:
        """Where a slice begins or ends, within the axis."""
        value = self.slice_end(end, mask)
        if value is None:
            return default
        value = np.where(value < 0, value + length, value)
        lowest, highest = np.where(forward, 0, -1), np.where(forward, length, length - 1)
        return np.clip(value, lowest, highest)

    def slice_end(self, node: ast.expr | None, mask: Mask) -> Any:
        if node is None:
            return None
        value = self.expressions.evaluate(node, mask)
        if value is None:
            return None
        number = self.expressions.number(node, mask)
        if number.dtype.kind not in "iu":
            raise Unsupported(node, f"`{ast.unparse(node)}` is no whole number: a slice needs one")
        return convert(number, INT64)


def field_number(record: ArrayView, number: int) -> str:
    """The name of a field from its number; "" if there is none."""
    names = record.dtype.names or ()
    return names[number] if -len(names) <= number < len(names) else ""


def as_int(value: Any) -> Any:
    """One number for all threads as a Python int; one per thread as it is."""
    return int(value) if np.ndim(value) == 0 else value


def is_whole(part: ast.expr) -> bool:
    """Whether an index leaves more than one element: a slice, `...`, a new axis."""
    return isinstance(part, ast.Slice) or is_ellipsis(part) or is_new_axis(part)


def is_ellipsis(part: ast.expr) -> bool:
    return isinstance(part, ast.Constant) and part.value is Ellipsis


def is_new_axis(part: ast.expr) -> bool:
    return isinstance(part, ast.Constant) and part.value is None


def without_ellipsis(parts: list[ast.expr], dimensions: int) -> list[ast.expr]:
    """`...` written out as `:`, once for each dimension that no other index names."""
    named = sum(not is_ellipsis(part) and not is_new_axis(part) for part in parts)
    result: list[ast.expr] = []
    for part in parts:
        if is_ellipsis(part):
            result += [ast.Slice()] * (dimensions - named)
        else:
            result.append(part)
    return result


# ---------------------------------------------------------------- whole arrays

# A thread works on the elements one after another, and so does the simulator.


class WholeArrays:
    """Loads and stores all elements of an array."""

    def __init__(self, context: Context) -> None:
        self.team = context.team
        self.memory = context.memory

    def longest(self, view: ArrayView, mask: Mask) -> list[int]:
        """How long each axis is in any of the threads.

        Where none is at work, as behind an `and` that nobody passes, the types still count: so it
        is asked of all threads then.
        """
        asked = mask if mask.any() else slice(None)
        return [int(self.team.full(np.int64(each))[asked].max(initial=0)) for each in view.shape]

    def places(self, view: ArrayView, mask: Mask) -> Iterator[tuple[list[np.int64], Mask]]:
        """(indices, mask) of each element; the mask: of the threads whose array has so many."""
        at_work = mask.any()
        for place in itertools.product(*map(range, self.longest(view, mask))):
            here = mask
            for index, length in zip(place, view.shape, strict=True):
                if np.ndim(length):
                    here = here & (index < length)
            if here.any() or not at_work:
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
        return self.temporary((len(items),), np.result_type(*numbers), numbers)

    def temporary(self, shape: tuple[int, ...], dtype: np.dtype, values: list[Number]) -> ArrayView:
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
        return self.temporary(like.shape, dtype, values)

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
