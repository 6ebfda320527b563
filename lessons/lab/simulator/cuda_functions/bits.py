"""Bits, and arithmetic that Python has no word for."""

import ast
from collections.abc import Sequence

import numpy as np

from ...numba_types import FLOAT64, Number, common_dtype, convert, truth
from ..context import Context
from ..teams import Mask
from .arguments import numbers


def popc(context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask) -> Number:
    """How many bits are set."""
    (value,) = numbers(node, arguments, 1)
    return shaped(bit_table(value).sum(axis=1).astype(np.int32), value)


def brev(context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask) -> Number:
    """The bits in reverse order."""
    (value,) = numbers(node, arguments, 1)
    bits = bit_table(value)[:, ::-1]
    total = (bits << np.arange(bits.shape[1], dtype=np.uint64)).sum(axis=1, dtype=np.uint64)
    return shaped(total.astype(value.dtype), value)


def clz(context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask) -> Number:
    """How many bits before the highest that is set."""
    (value,) = numbers(node, arguments, 1)
    bits = bit_table(value)[:, ::-1] != 0
    leading = np.where(bits.any(axis=1), bits.argmax(axis=1), bits.shape[1])
    return shaped(leading.astype(np.int32), value)


def ffs(context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask) -> Number:
    """Number of the lowest bit that is set, from 1; 0 if none is."""
    (value,) = numbers(node, arguments, 1)
    bits = bit_table(value) != 0
    first = np.where(bits.any(axis=1), bits.argmax(axis=1) + 1, 0)
    return shaped(first.astype(np.int32), value)


def bit_table(value: Number) -> np.ndarray:
    """(n, bits) uint64 of 0 and 1, the lowest bit first."""
    width = value.dtype.itemsize * 8
    unsigned = value.astype(value.dtype.str.replace("i", "u")).astype(np.uint64)
    return (np.atleast_1d(unsigned)[:, None] >> np.arange(width, dtype=np.uint64)) & np.uint64(1)


def shaped(vector: np.ndarray, like: Number) -> Number:
    return vector if np.ndim(like) else vector[0]


def fma(context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask) -> Number:
    """a * b + c, rounded once."""
    values = numbers(node, arguments, 3)
    a, b, c = (convert(value, FLOAT64) for value in values)
    return convert(a * b + c, common_dtype([value.dtype for value in values]))


def cbrt(context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask) -> Number:
    (value,) = numbers(node, arguments, 1)
    return np.cbrt(value)


def selp(context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask) -> Number:
    """The second argument where the first is true, else the third."""
    condition, yes, no = numbers(node, arguments, 3)
    dtype = common_dtype([yes.dtype, no.dtype])
    return np.where(truth(condition), convert(yes, dtype), convert(no, dtype))
