"""Compare what is not a number: tuples, None, texts, members of an Enum."""

import ast
from collections.abc import Iterable

import numpy as np

from ...numba_types import Condition, compare, is_number
from ..values import EnumValue, as_number

OPERATORS = {"Is": "Eq", "IsNot": "NotEq"}


def compare_others(operator: ast.cmpop, left: object, right: object) -> Condition | None:
    """Where `left operator right` holds; None if the two cannot be compared."""
    name = type(operator).__name__
    if name in OPERATORS and isinstance(left, EnumValue) and isinstance(right, EnumValue):
        if left.kind is not right.kind:
            return np.bool_(name == "IsNot")
    name = OPERATORS.get(name, name)
    if name in ("In", "NotIn"):
        found = contains(right, left)
        return found if found is None or name == "In" else ~found
    if name not in ("Eq", "NotEq"):
        return compare_in_order(name, left, right)
    equal = are_equal(left, right)
    return equal if equal is None or name == "Eq" else ~equal


def are_equal(left: object, right: object) -> Condition | None:
    if left is None or right is None:
        return np.bool_(left is right)
    if isinstance(left, EnumValue) and isinstance(right, EnumValue):
        same_kind = left.kind is right.kind
        if not same_kind and not (left.is_whole_number and right.is_whole_number):
            return np.bool_(False)
        return compare("Eq", left.number, right.number)
    if isinstance(left, tuple) and isinstance(right, tuple):
        if len(left) != len(right):
            return np.bool_(False)
        return combined(zip(left, right, strict=True), np.bitwise_and, np.bool_(True))
    if isinstance(left, (str, bytes)) and isinstance(right, (str, bytes)):
        return np.bool_(left == right)
    if is_text(left) or is_text(right):
        return np.asarray(np.equal(left, right))[()]  # type: ignore[call-overload]
    first, second = as_number(left), as_number(right)
    if first is not None and second is not None:
        return compare("Eq", first, second)
    if isinstance(left, (np.dtype, type)) and isinstance(right, (np.dtype, type)):
        return np.bool_(left == right)
    return None


def is_text(value: object) -> bool:
    """Whether a value is a text from an array."""
    return is_number(value) and value.dtype.kind in "SU"


def combined(
    pairs: Iterable[tuple[object, object]], combine: np.ufunc, found: Condition
) -> Condition | None:
    """Where all pairs are equal, or any. found: of no pair."""
    for one, other in pairs:
        same = are_equal(one, other)
        if same is None:
            return None
        found = combine(found, same)
    return found


def contains(items: object, value: object) -> Condition | None:
    """Where `value in items` holds."""
    if not isinstance(items, tuple):
        return None
    return combined(((item, value) for item in items), np.bitwise_or, np.bool_(False))


def compare_in_order(name: str, left: object, right: object) -> Condition | None:
    """`<` and its like: of tuples, the first items that differ decide."""
    if not (isinstance(left, tuple) and isinstance(right, tuple)):
        first, second = as_number(left), as_number(right)
        return None if first is None or second is None else compare(name, first, second)
    strict = {"Lt": "Lt", "LtE": "Lt", "Gt": "Gt", "GtE": "Gt"}[name]
    shorter = len(left) < len(right) if strict == "Lt" else len(left) > len(right)
    result: Condition = np.bool_(shorter or (len(left) == len(right) and name in ("LtE", "GtE")))
    for one, other in reversed(list(zip(left, right, strict=False))):
        before, same = compare_in_order(strict, one, other), are_equal(one, other)
        if before is None or same is None:
            return None
        result = before | (same & result)
    return result
