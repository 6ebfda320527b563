"""Methods in a kernel: `array.reshape(2, 3)`, `array.sum()`, `z.conjugate()`."""

import ast
from typing import Any

import numpy as np

from ...numba_types import dtype_of_type, is_number
from ..context import Context
from ..cuda_functions.bits import bit_table
from ..memory.arrays import ArrayView
from ..stops import Unsupported
from ..teams import Mask
from ..values import Method, as_number
from .numpy_functions import NumpyFunctions
from .whole_arrays import WholeArrays


class Methods:
    """Calls methods of arrays and of numbers."""

    def __init__(self, context: Context, arrays: WholeArrays, numpy: NumpyFunctions) -> None:
        self.team = context.team
        self.memory = context.memory
        self.arrays = arrays
        self.numpy = numpy

    def call(
        self,
        node: ast.Call,
        method: Method,
        arguments: list[Any],
        keywords: dict[str, Any],
        mask: Mask,
    ) -> object:
        owner, name = method.owner, method.name
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
            return self.arrays.temporary(shape, owner.dtype, values, mask, node)
        if name == "item":
            return self.memory.load(owner, arguments, mask, node)
        if name == "fill":
            self.arrays.fill(node, owner, arguments[0], mask)
            return None
        if name in ("conj", "conjugate"):
            return self.arrays.apply(node, np.conjugate, [owner], mask)
        function = getattr(np, name)
        return self.numpy.per_thread(node, function, [owner, *arguments], keywords, mask)

    def of_number(self, node: ast.Call, owner: Any, name: str, arguments: list[Any]) -> object:
        if name == "conjugate":
            return np.conjugate(owner) if owner.dtype.kind == "c" else owner
        if name == "bit_count" and owner.dtype.kind in "iu":
            counts = bit_table(np.abs(owner)).sum(axis=1).astype(np.int64)
            return counts if np.ndim(owner) else counts[0]
        if name == "is_integer":
            return np.isfinite(owner) & (owner == np.floor(owner))
        dtype = dtype_of_type(arguments[0]) if arguments else None
        if name == "view" and dtype is not None and dtype.itemsize == owner.dtype.itemsize:
            return owner.view(dtype)
        raise Unsupported(node, f"`{ast.unparse(node)}` cannot be called in a kernel")

    def reshape(self, node: ast.Call, view: ArrayView, arguments: list[Any]) -> ArrayView:
        shape = arguments[0] if len(arguments) == 1 else tuple(arguments)
        sizes = [as_number(n) for n in (shape if isinstance(shape, tuple) else (shape,))]
        if any(size is None or np.ndim(size) for size in sizes):
            raise Unsupported(node, "a new shape must be the same in all threads")
        try:
            return view.reshaped(tuple(int(size) for size in sizes if size is not None))
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
