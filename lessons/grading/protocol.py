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

import numpy as np

LENGTH_BYTES = 8
MAX_JSON = 1 << 24  # bytes
MAX_ARRAY = 1 << 31  # bytes

# The classes an argument may have, besides plain tuples, by the name that travels.
CLASSES = {
    "AdamRates": "kernels.config",
    "Arrays": "kernels.training_step",
    "Config": "kernels.config",
    "Stages": "kernels.training_step",
    "State": "kernels.state",
}


class BadMessage(Exception):
    """What arrived is no message of ours."""


def send(pipe, content, arrays=()):
    text = json.dumps(content).encode("utf-8")
    pipe.write(len(text).to_bytes(LENGTH_BYTES, "little") + text)
    pipe.write(len(arrays).to_bytes(LENGTH_BYTES, "little"))
    for array in arrays:
        file = io.BytesIO()
        np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)
        pipe.write(len(file.getbuffer()).to_bytes(LENGTH_BYTES, "little"))
        pipe.write(file.getbuffer())
    pipe.flush()


def receive(pipe):
    """(content, arrays). Raises `EOFError` if the pipe ends and `BadMessage` for nonsense."""
    try:
        content = json.loads(read_exactly(pipe, read_length(pipe, MAX_JSON)))
        arrays = []
        for _ in range(read_length(pipe, 10_000)):
            data = io.BytesIO(read_exactly(pipe, read_length(pipe, MAX_ARRAY)))
            arrays.append(np.lib.format.read_array(data, allow_pickle=False))
    except (ValueError, TypeError, KeyError) as error:
        raise BadMessage(str(error)) from None
    if not isinstance(content, dict):
        raise BadMessage("a message is a JSON object")
    return content, arrays


def read_length(pipe, limit):
    length = int.from_bytes(read_exactly(pipe, LENGTH_BYTES), "little")
    if length > limit:
        raise BadMessage(f"a part of {length:,} bytes; the limit is {limit:,}")
    return length


def read_exactly(pipe, length):
    data = pipe.read(length)
    if len(data) < length:
        raise EOFError("the pipe has ended")
    return data


# ---------------------------------------------------------------- values


class Student:
    """Stands for a function of the student's file, which only the worker has."""

    def __init__(self, name):
        self.name = name


class Packer:
    """Turns arguments into JSON; arrays are put into `arrays`, each once."""

    def __init__(self, output_class=()):
        self.output_class = output_class  # what has `buffer`, `guard` and `shape`
        self.originals = []
        self.arrays = []

    def pack(self, value):
        if isinstance(value, np.ndarray):
            return {"array": self.place_of(value, value)}
        if self.output_class and isinstance(value, self.output_class):
            place = self.place_of(value, value.buffer)
            return {"array": place, "guard": value.guard, "shape": list(value.shape)}
        if isinstance(value, Student):
            return {"student": value.name}
        if isinstance(value, np.generic):
            return {"scalar": value.item(), "dtype": value.dtype.name}
        if value is None or isinstance(value, (bool, int, float, str)):
            return {"value": value}
        if isinstance(value, list):
            return {"list": [self.pack(item) for item in value]}
        if isinstance(value, tuple):
            items = [self.pack(item) for item in value]
            name = type(value).__name__ if hasattr(value, "_fields") else None
            return {"tuple": items, "class": name}
        if dataclasses.is_dataclass(value):
            fields = {key: self.pack(item) for key, item in dataclasses.asdict(value).items()}
            return {"fields": fields, "class": type(value).__name__}
        if callable(value) and getattr(value, "__module__", "").startswith("kernels."):
            return {"function": value.__name__, "module": value.__module__}
        raise TypeError(f"a {type(value).__name__} cannot be sent between judge and worker")

    def place_of(self, original, array):
        for place, known in enumerate(self.originals):
            if known is original:
                return place
        self.originals.append(original)
        self.arrays.append(array)
        return len(self.arrays) - 1


class Unpacker:
    """Turns JSON back into values.

    arrays: what came with it (or the same on a GPU). find_student: gives a function of the
    student's file by name; None where there is no such file.
    """

    def __init__(self, arrays, find_student=None):
        self.arrays = arrays
        self.find_student = find_student

    def unpack(self, packed):
        if "array" in packed:
            return self.view(packed)
        if "student" in packed and self.find_student:
            return self.find_student(packed["student"])
        if "scalar" in packed:
            return np.dtype(packed["dtype"]).type(packed["scalar"])
        if "value" in packed:
            return packed["value"]
        if "list" in packed:
            return [self.unpack(item) for item in packed["list"]]
        if "tuple" in packed:
            items = [self.unpack(item) for item in packed["tuple"]]
            return known_class(packed["class"])(*items) if packed["class"] else tuple(items)
        if "fields" in packed:
            fields = {key: self.unpack(item) for key, item in packed["fields"].items()}
            return known_class(packed["class"])(**fields)
        if "function" in packed and self.find_student:
            return getattr(importlib.import_module(packed["module"]), packed["function"])
        raise BadMessage(f"no value: {packed}")

    def view(self, packed):
        array = self.arrays[packed["array"]]
        if "guard" not in packed:
            return array
        guard = packed["guard"]
        return array[guard : array.shape[0] - guard].reshape(tuple(packed["shape"]))


def known_class(name):
    if name not in CLASSES:
        raise BadMessage(f"no class: {name}")
    return getattr(importlib.import_module(CLASSES[name]), name)
