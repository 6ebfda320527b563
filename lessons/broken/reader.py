"""Read a line of the file of broken kernels, and run its program: needs numpy and numba alone.

This file knows nothing of the rest of the project, so it can be copied. README.md beside it says
what the fields of a line mean.

    record = json.loads(line)
    arrays = run(record, record["kernel"], start)  # or record["mended"]
    print(wrong_arrays(record, arrays))  # {} if all numbers are right

where `start(kernel, grid, block, shared, arguments)` runs one launch, with NumPy's arrays.
"""

import base64
import collections
import functools
import linecache
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Record = Mapping[str, Any]


def loaded(source: str, name: str, file: str = "") -> dict[str, Any]:
    """What a source defines. name: of its module; file: where the text stands, if anywhere."""
    file = file or f"{name}.py"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    names: dict[str, Any] = {"__name__": name}
    exec(compile(source, file, "exec"), names)
    return names


def made(recipe: Record) -> np.ndarray:
    """An array: "uniform" numbers of a "seed", its "values", or one number everywhere, "full"."""
    shape, dtype = tuple(recipe["shape"]), np.dtype(recipe["dtype"])
    if "seed" in recipe:
        low, high = recipe["uniform"]
        return np.random.default_rng(recipe["seed"]).uniform(low, high, shape).astype(dtype)
    if "values" in recipe:
        return unpacked(recipe["values"], dtype, shape)
    return np.full(shape, recipe["full"], dtype)


def unpacked(text: str, dtype: Any, shape: Sequence[int]) -> np.ndarray:
    content = zlib.decompress(base64.b64decode(text))
    return np.frombuffer(content, dtype).reshape(shape).copy()


def run(
    record: Record,
    program: Record,
    start: Callable[..., None],
    names: Mapping[str, Any] | None = None,
    put: Callable[[np.ndarray, Record], Any] = lambda array, recipe: array,
) -> list[Any]:
    """Start the launches of a program one after another; returns all arrays as they are then.

    names: what the program's source defines, if it is loaded already. put: what a kernel gets for
    an array, if that is elsewhere.
    """
    defined = names or loaded(program["source"], "broken")
    arrays = [put(made(recipe), recipe) for recipe in record["arrays"]]
    for launch in program["launches"]:
        given = [argument(item, arrays) for item in launch["arguments"]]
        grid, block = tuple(launch["grid"]), tuple(launch["block"])
        start(defined[launch["kernel"]], grid, block, launch["shared"], given)
    return arrays


def argument(item: Any, arrays: Sequence[Any]) -> Any:
    """What stands for an array, a part of one, a number of a type, or a tuple; else a number."""
    if not isinstance(item, dict):
        return item
    if "tuple" in item:
        values = [argument(value, arrays) for value in item["items"]]
        return named(item["tuple"], *item["fields"])(*values) if item["tuple"] else tuple(values)
    if "number" in item:
        return np.dtype(item["number"]).type(item["value"])
    if "shape" not in item:
        return arrays[item["array"]]
    shape = tuple(item["shape"])
    flat = arrays[item["array"]].reshape(-1)
    return flat[item["first"] : item["first"] + int(np.prod(shape))].reshape(shape)


@functools.cache
def named(name: str, *fields: str) -> Any:
    return collections.namedtuple(name, fields)  # its fields come as text


def wrong_arrays(record: Record, arrays: Sequence[np.ndarray]) -> dict[int, np.ndarray]:
    """Number of each array that has wrong elements -> their indices, (n, axes) int64."""
    found = {}
    for one in record["expected"]:
        got = arrays[one["array"]]
        right = unpacked(one["values"], got.dtype, got.shape)
        found[one["array"]] = np.argwhere(differs(got, right, one["tolerance"]))
    return {number: wrong for number, wrong in found.items() if len(wrong)}


def differs(got: np.ndarray, right: np.ndarray, tolerance: float) -> np.ndarray:
    """Which elements are further apart than an absolute tolerance; NaN is near NaN alone."""
    with np.errstate(all="ignore"):
        near = abs(got.astype(np.float64) - right.astype(np.float64)) <= tolerance
    return ~(near | (got == right) | ((got != got) & (right != right)))
