"""What follows a dot: `x.shape`, `record.field`, `z.real`, `array.reshape(2, 3)`."""

import ast
import enum
import functools
import types
from typing import Any

import numpy as np

from ... import names
from ...compile_words import ARRAYS_HAVE
from ...libdevice import bits_of
from ...names import CudaName
from ...numba_types import Number, convert, dtype_of_type, is_number
from ..context import Context
from ..cuda_functions.threads import position_value
from ..memory.arrays import ArrayView
from ..stops import Unsupported
from ..teams import Mask
from ..values import Call, EnumValue, Method, Vector, as_numbers, enum_value
from .indexing import Indexing, WholeArrays
from .numpy_functions import NumpyFunctions
from .variables import Variables

ARRAY_METHODS = (
    "all", "any", "argmax", "argmin", "conj", "conjugate", "copy", "fill", "flatten", "item",
    "max", "mean", "min", "prod", "ravel", "reshape", "std", "sum", "transpose", "var", "view",
)  # fmt: skip
as_text = functools.lru_cache(maxsize=1024)(ast.unparse)
NUMBER_METHODS = ("bit_count", "conjugate", "is_integer", "view")


class Attributes:
    """Evaluates `owner.name`."""

    def __init__(self, context: Context, variables: Variables, indexing: Indexing) -> None:
        self.context = context
        self.variables = variables
        self.indexing = indexing

    def attribute(self, node: ast.Attribute, value: object, mask: Mask) -> object:
        if isinstance(value, CudaName):
            return self.of_cuda(node, value)
        if isinstance(value, ArrayView):
            return self.of_array(node, value, mask)
        if isinstance(value, tuple) and node.attr in getattr(value, "_fields", ()):
            return getattr(value, node.attr)
        if isinstance(value, types.ModuleType):
            if not hasattr(value, node.attr):
                raise Unsupported(node, f"{value.__name__} has no `{node.attr}`")
            text = as_text(node)
            found = self.variables.frozen.get(
                (self.variables.stack.source.function, text), getattr(value, node.attr)
            )
            return self.variables.from_outside(node, found, text)
        found = of_value(value, node.attr)
        if found is None:
            raise Unsupported(
                node, f"`{ast.unparse(node)}`: a kernel cannot look up `.{node.attr}` there"
            )
        return found

    def of_cuda(self, node: ast.Attribute, owner: CudaName) -> object:
        found = names.below(owner, node.attr)
        if not isinstance(found, CudaName):
            return found
        path = found.path
        number = position_value(self.context, path)
        if number is not None:
            return number
        if not names.is_known(path):
            raise Unsupported(node, names.unknown(path))
        return found

    def of_array(self, node: ast.Attribute, view: ArrayView, mask: Mask) -> object:
        if node.attr in (view.dtype.fields or ()):
            return self.indexing.field(node, view, node.attr, mask)
        found = of_array(view, node.attr)
        if found is None:
            if not hasattr(np.ndarray, node.attr):
                raise Unsupported(node, f"an array has no `.{node.attr}`; {ARRAYS_HAVE}")
            raise Unsupported(
                node,
                f"`{ast.unparse(node)}`: this operation of NumPy on a whole array does not exist "
                "in a kernel; write a loop over the elements",
            )
        return found


def of_array(view: ArrayView, name: str) -> object:
    if name == "shape":
        return tuple(map(as_index, view.shape))
    if name == "strides":
        return tuple(as_index(stride * view.memory.pitch) for stride in view.strides)
    if name == "size":
        return as_index(view.size)
    if name == "ndim":
        return np.int64(len(view.shape))
    if name == "itemsize":
        return np.int64(view.dtype.itemsize)
    if name == "nbytes":
        return as_index(view.size * view.dtype.itemsize)
    if name == "dtype":
        return view.dtype
    if name == "T":
        return ArrayView(view.memory, view.offset, view.shape[::-1], view.strides[::-1])
    if name == "ctypes":
        return AddressOf(view)
    if name in ("real", "imag") and view.dtype.kind == "c":
        return view.part(name)
    return Method(view, name) if name in ARRAY_METHODS else None


class AddressOf:
    """`array.ctypes`, of which kernels ask the address."""

    def __init__(self, view: ArrayView) -> None:
        self.view = view

    def bytes(self) -> Number:
        """Where the array begins: counted from the beginning of its own memory."""
        memory = self.view.memory
        element = self.view.offset
        if memory.space in ("shared", "local"):
            element = element % memory.instance
        return as_index(memory.address + element * memory.pitch).astype(np.uint64)


def as_index(length: Any) -> Number:
    """A length, one for all threads or one per thread, as int64."""
    return length.astype(np.int64) if np.ndim(length) else np.int64(length)


def of_value(value: object, name: str) -> object:
    """An attribute of a number, a member of an Enum, a vector or a type; None if it has none."""
    if is_number(value):
        return of_number(value, name)
    if isinstance(value, EnumValue):
        if name == "value":
            return value.number
        return of_number(value.number, name) if value.is_whole_number else None
    if isinstance(value, type) and issubclass(value, enum.Enum):
        member = value.__members__.get(name)
        return None if member is None else enum_value(member)
    if isinstance(value, Vector) and len(name) == 1 and name in value.kind.fields:
        return value.values[value.kind.fields.index(name)]
    if isinstance(value, AddressOf) and name == "data":
        return value.bytes()
    if isinstance(value, np.dtype) and name == "type":
        return value
    if isinstance(value, np.dtype) and name == "itemsize":
        return np.int64(value.itemsize)
    return None


def of_number(value: Number, name: str) -> object:
    if name == "real":
        return np.asarray(np.real(value))[()]
    if name == "imag":
        return (
            np.asarray(np.imag(value))[()]
            if value.dtype.kind == "c"
            else convert(value * 0, value.dtype)
        )
    return Method(value, name) if name in NUMBER_METHODS else None


class Methods:
    """Calls methods of arrays and of numbers."""

    def __init__(self, context: Context, arrays: WholeArrays, numpy: NumpyFunctions) -> None:
        self.memory = context.memory
        self.arrays = arrays
        self.numpy = numpy

    def call(self, method: Method, call: Call) -> object:
        owner, name = method.owner, method.name
        node, arguments, mask = call.node, call.arguments, call.mask
        if is_number(owner):
            return self.of_number(node, owner, name, arguments)
        assert isinstance(owner, ArrayView)
        if name == "reshape":
            return self.reshape(node, owner, arguments)
        if name in ("ravel", "flatten"):
            return self.reshape(node, owner, [np.int64(-1)])
        if name == "transpose":
            return ArrayView(owner.memory, owner.offset, owner.shape[::-1], owner.strides[::-1])
        if name == "view":
            return self.view(node, owner, arguments)
        if name == "copy":
            values = self.arrays.elements(node, owner, mask)
            shape = tuple(map(int, owner.shape))
            return self.arrays.temporary(shape, owner.dtype, values)
        if name == "item":
            return self.memory.load(owner, arguments, mask, node)
        if name == "fill":
            self.arrays.fill(node, owner, arguments[0], mask)
            return None
        if name in ("conj", "conjugate"):
            return self.arrays.apply(node, np.conjugate, [owner], mask)
        as_function = call._replace(arguments=[owner, *arguments])
        return self.numpy.per_thread(getattr(np, name), as_function)

    def of_number(self, node: ast.Call, owner: Any, name: str, arguments: list[Any]) -> object:
        if name == "conjugate":
            return np.conjugate(owner) if owner.dtype.kind == "c" else owner
        if name == "bit_count" and owner.dtype.kind in "iu":
            counts = bits_of(np.abs(owner)).sum(axis=1).astype(np.int64)
            return counts if np.ndim(owner) else counts[0]
        if name == "is_integer":
            return np.isfinite(owner) & (owner == np.floor(owner))
        dtype = dtype_of_type(arguments[0]) if arguments else None
        if name == "view" and dtype is not None and dtype.itemsize == owner.dtype.itemsize:
            return owner.view(dtype)
        raise Unsupported(node, f"`{ast.unparse(node)}` cannot be called in a kernel")

    def reshape(self, node: ast.Call, view: ArrayView, arguments: list[Any]) -> ArrayView:
        shape = arguments[0] if len(arguments) == 1 else tuple(arguments)
        sizes = as_numbers(shape if isinstance(shape, tuple) else (shape,))
        if sizes is None or any(map(np.ndim, sizes)):
            raise Unsupported(node, "a new shape must be the same in all threads")
        try:
            return view.reshaped(tuple(map(int, sizes)))
        except ValueError as error:
            raise Unsupported(node, f"`{ast.unparse(node)}`: {error}") from None

    def view(self, node: ast.Call, view: ArrayView, arguments: list[Any]) -> ArrayView:
        """The same bytes as elements of another type."""
        dtype = dtype_of_type(arguments[0]) if len(arguments) == 1 else None
        if dtype is None:
            raise Unsupported(node, f"`{ast.unparse(node)}` needs one type")
        try:
            return view.viewed_as(dtype)
        except ValueError as error:
            raise Unsupported(node, f"`{ast.unparse(node)}`: {error}") from None
