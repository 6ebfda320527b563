"""How judge and worker talk: a line of JSON and raw arrays, over a pipe of their own.

Nothing that is received can run: no pickle, only numbers, text and `.npy` bytes. A message is

    8 bytes    length of the JSON
    JSON       any value; an array stands in it as {"array": i}
    8 bytes    length of array 0, then the array as .npy, and so on

`Packer` turns Python values into such JSON, `Unpacker` turns them back.
"""

import dataclasses
import importlib
import io
import json
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import IO, Any

import numpy as np

from lessons.grading.worker.output import Output

Json = dict[str, Any]  # an object of JSON

LENGTH_BYTES = 8
MAX_JSON = 1 << 23  # bytes
MAX_ARRAYS = 1 << 31  # bytes of all arrays of a message
MAX_HEADER = 1 << 10  # bytes of an array's .npy that are not its numbers

# The classes an argument may have, besides plain tuples, by the name that travels.
CLASSES = {
    "AdamRates": "kernels.config",
    "Arrays": "kernels.training_step",
    "Config": "kernels.config",
    "Network": "kernels.classifier.network",
    "Stages": "kernels.training_step",
    "State": "kernels.state",
}


class BadMessage(Exception):
    """What arrived is no message of ours."""


def whole(received: Any) -> int:
    """A number in a reply as an int that any arithmetic can bear. Raises `ValueError`."""
    number = int(received)
    if not -(1 << 62) < number < 1 << 62:
        raise ValueError("a number that nothing here counts to")
    return number


def send(pipe: IO[bytes], content: Json, arrays: Sequence[np.ndarray] = ()) -> None:
    text = json.dumps(content).encode("utf-8")
    pipe.write(len(text).to_bytes(LENGTH_BYTES, "little") + text)
    pipe.write(len(arrays).to_bytes(LENGTH_BYTES, "little"))
    for array in arrays:
        file = io.BytesIO()
        np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)
        pipe.write(len(file.getbuffer()).to_bytes(LENGTH_BYTES, "little"))
        pipe.write(file.getbuffer())
    pipe.flush()


def receive(
    pipe: IO[bytes], most_bytes: Callable[[], int] = lambda: MAX_ARRAYS
) -> tuple[Json, list[np.ndarray]]:
    """(content, arrays). most_bytes: how many the arrays may have, asked when the first comes.

    Raises `EOFError` if the pipe ends and `BadMessage` for nonsense.
    """
    try:
        content = json.loads(read_exactly(pipe, read_length(pipe, MAX_JSON)))
        arrays: list[np.ndarray] = []
        left = most_bytes()
        for _ in range(read_length(pipe, 10_000)):
            data = read_exactly(pipe, read_length(pipe, left + MAX_HEADER))
            left -= max(0, len(data) - MAX_HEADER)
            arrays.append(np.lib.format.read_array(io.BytesIO(data), allow_pickle=False))
    except (ValueError, TypeError, KeyError, RecursionError, MemoryError, SyntaxError) as error:
        raise BadMessage(str(error)) from None
    if not isinstance(content, dict):
        raise BadMessage("a message is a JSON object")
    return content, arrays


def read_length(pipe: IO[bytes], limit: int) -> int:
    length = int.from_bytes(read_exactly(pipe, LENGTH_BYTES), "little")
    if length > limit:
        raise BadMessage(f"a part of {length:,} bytes; the limit is {limit:,}")
    return length


def read_exactly(pipe: IO[bytes], length: int) -> bytes:
    data = pipe.read(length)
    if len(data) < length:
        raise EOFError("the pipe has ended")
    return data


# ---------------------------------------------------------------- values


class Student:
    """Stands for a function of the student's file, which only the worker has."""

    def __init__(self, name: str) -> None:
        self.name = name


class Packer:
    """Turns arguments into JSON; arrays are put into `arrays`, each once."""

    def __init__(self) -> None:
        self.originals: list[np.ndarray | Output] = []
        self.arrays: list[np.ndarray] = []

    def packed(self, values: Sequence[object]) -> list[Json]:
        return [self.pack(value) for value in values]

    def pack(self, value: object) -> Json:
        if isinstance(value, np.ndarray):
            return {"array": self.index_of(value, value)}
        if isinstance(value, Output):
            index = self.index_of(value, value.buffer)
            return {"array": index, "guard": value.guard, "shape": list(value.shape)}
        if isinstance(value, Student):
            return {"student": value.name}
        if isinstance(value, np.generic):
            return {"scalar": value.item(), "dtype": value.dtype.name}
        if value is None or isinstance(value, (bool, int, float, str)):
            return {"value": value}
        if isinstance(value, list):
            return {"list": self.packed(value)}
        if isinstance(value, tuple):
            name = type(value).__name__ if hasattr(value, "_fields") else None
            return {"tuple": self.packed(value), "class": name}
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = {key: self.pack(item) for key, item in dataclasses.asdict(value).items()}
            return {"fields": fields, "class": type(value).__name__}
        if isinstance(value, FunctionType) and value.__module__.startswith("kernels."):
            return {"function": value.__name__, "module": value.__module__}
        raise TypeError(f"a {type(value).__name__} cannot be sent between judge and worker")

    def index_of(self, original: np.ndarray | Output, array: np.ndarray) -> int:
        for index, known in enumerate(self.originals):
            if known is original:
                return index
        self.originals.append(original)
        self.arrays.append(array)
        return len(self.arrays) - 1


class Unpacker:
    """Turns JSON back into values.

    arrays: what came with it (or the same on a GPU). find_student: gives a function of the
    student's file by name; None where there is no such file.
    """

    def __init__(
        self, arrays: Sequence[Any], find_student: Callable[[str], object] | None = None
    ) -> None:
        self.arrays = arrays
        self.find_student = find_student

    def unpacked(self, values: Sequence[Json]) -> list[Any]:
        return [self.unpack(value) for value in values]

    def unpack(self, packed: Json) -> Any:
        if "array" in packed:
            return self.view(packed)
        if "student" in packed and self.find_student:
            return self.find_student(packed["student"])
        if "scalar" in packed:
            return np.dtype(packed["dtype"]).type(packed["scalar"])
        if "value" in packed:
            return packed["value"]
        if "list" in packed:
            return self.unpacked(packed["list"])
        if "tuple" in packed:
            items = self.unpacked(packed["tuple"])
            return known_class(packed["class"])(*items) if packed["class"] else tuple(items)
        if "fields" in packed:
            fields = {key: self.unpack(item) for key, item in packed["fields"].items()}
            return known_class(packed["class"])(**fields)
        if "function" in packed and self.find_student:
            return getattr(importlib.import_module(packed["module"]), packed["function"])
        raise BadMessage(f"no value: {packed}")

    def view(self, packed: Json) -> Any:
        """An array, or the part of it between its guards."""
        array = self.arrays[packed["array"]]
        if "guard" not in packed:
            return array
        guard = packed["guard"]
        return array[guard : array.shape[0] - guard].reshape(tuple(packed["shape"]))


def known_class(name: str) -> type:
    if name not in CLASSES:
        raise BadMessage(f"no class: {name}")
    return getattr(importlib.import_module(CLASSES[name]), name)
