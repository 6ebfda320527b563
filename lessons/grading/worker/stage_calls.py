"""Which stages a training step has called, and whether each got the arrays that belong there.

The worker hands the student's functions `Stages` that note each call, and `arrays` by which it
knows what was passed. What is noted does not make a result right.
"""

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from kernels.training_step import Arrays, Stages

MOST_CALLS = 100_000
HOST = "the host"  # in place of a stage's name: what no kernel has changed
# The arrays of each stage; those with a star are fields of `arrays.parameters`. A parameter whose
# array has another name stands before it.
ARRAYS_OF = {
    "sample_batch": "image uv target",
    "encode": "uv *feature_grid features",
    "mlp_forward": "features *weights hidden outputs",
    "backward": (
        "uv features hidden outputs target grad_weights grad_feature_grid loss_sum *weights"
    ),
    "adam_weights": "*weights grad_weights m=*weights_m v=*weights_v corrections",
    "adam_grid": (
        "*feature_grid grad_feature_grid m=*grid_m v=*grid_v steps=*grid_steps corrections"
    ),
}


def full_name(array: str) -> str:
    return f"arrays.{array.replace('*', 'parameters.')}"


# Stage -> parameter -> the array that belongs there.
BELONGS = {
    stage: {
        word.partition("=")[0].removeprefix("*"): full_name(word.rpartition("=")[2])
        for word in words.split()
    }
    for stage, words in ARRAYS_OF.items()
}


class LaunchForgotten(Exception):
    """A stage was called without saying where its kernel is to run."""


class WrongArray(Exception):
    """A stage was given a number, or one of the arrays, where another one belongs."""


class StageCalls:
    """The worker's end: notes what is called. `made` can travel as JSON."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.names: dict[int, str] = {}  # of arrays, by id
        self.arrays: dict[str, Any] = {}  # by name

    def watched(self, arguments: Sequence[object]) -> list[object]:
        """The arguments of a student's function, with stages that note their calls."""
        self.made = []
        self.names, self.arrays = {}, {}
        for value in arguments:
            if isinstance(value, Arrays):
                self.learn("arrays.", value)
                self.learn("arrays.parameters.", value.parameters)
        return [
            Stages(**{name: self.noted(name, f) for name, f in value._asdict().items()})
            if isinstance(value, Stages)
            else value
            for value in arguments
        ]

    def note_host(self) -> None:
        """The host has changed an array itself, between two launches."""
        if HOST not in self.made:
            self.made.append(HOST)

    def learn(self, prefix: str, fields: Any) -> None:
        for name, value in fields._asdict().items():
            self.names[id(value)] = prefix + name
            self.arrays[prefix + name] = value

    def noted(self, stage: str, function: Callable) -> Callable:
        signature = inspect.signature(function)

        @wraps(function)
        def call(*arguments: object, **named: object) -> None:
            given = signature.bind(*arguments, **named).arguments
            if "launch" not in given:
                raise LaunchForgotten(
                    f"stages.{stage} is called without launch=launch: it does not know where to "
                    "run its kernel, and would look for a GPU. Pass on the launch that you got"
                )
            self.require_its_arrays(stage, given)
            if len(self.made) < MOST_CALLS:
                self.made.append(stage)
            function(*arguments, **named)

        return call

    def require_its_arrays(self, stage: str, given: dict[str, object]) -> None:
        """Raise `WrongArray` for a number, or another of our arrays, in an array's place.

        Arrays that are none of ours may be right: a part, or one that the results do not show.
        """
        for parameter, right in BELONGS.get(stage, {}).items():
            value = given.get(parameter)
            name = str(value) if is_number(value) else self.name_of(value, right)
            if name and name != right:
                raise WrongArray(
                    f"stages.{stage} gets {name} as `{parameter}`, where {right} belongs"
                )

    def name_of(self, value: object, right: str) -> str:
        """Of an array, or of the one that it is a view of; "" for one that is none of ours."""
        ours = self.arrays.get(right)
        if not isinstance(ours, np.ndarray) or not isinstance(value, np.ndarray):
            return self.names.get(id(value), right)
        if same_place(value, ours):
            return right
        shared = [
            name
            for name, array in self.arrays.items()
            if isinstance(array, np.ndarray) and np.may_share_memory(array, value)
        ]
        return shared[0] if shared and right not in shared else ""


def same_place(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two arrays have the same elements in the same memory."""
    keys = "data", "shape", "strides", "typestr"
    first, second = one.__array_interface__, other.__array_interface__
    return all(first[key] == second[key] for key in keys)


def is_number(value: Any) -> bool:
    try:
        return getattr(value, "shape", ()) == () and float(value) == float(value)
    except (TypeError, ValueError):
        return False


def read_calls(received: Any) -> list[str]:
    """The calls in a worker's reply. Raises `ValueError` or `TypeError` for nonsense."""
    if len(received) > MOST_CALLS:
        raise ValueError("more calls than any check makes")
    return [str(stage) for stage in received]
