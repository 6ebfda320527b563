"""Which stages a training step has called, in which order, and with which numbers.

Numbers alone seldom tell why a step went wrong; the calls do. The worker hands the student's
functions `Stages` that note each call, and `arrays` by which it knows what was passed. What is
noted explains a wrong result; it does not make one right.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, NamedTuple

import numpy as np

from kernels.training_step import Arrays, Stages
from lessons.grading.worker.text import printable

MOST_CALLS = 100_000
PARAMETERS = "arrays.parameters."
# Parameter of a stage -> the array that belongs there.
BELONGS = {
    "sample_batch": {"image": "arrays.image", "uv": "arrays.uv", "target": "arrays.target"},
    "encode": {
        "uv": "arrays.uv",
        "feature_grid": PARAMETERS + "feature_grid",
        "features": "arrays.features",
    },
    "mlp_forward": {
        "features": "arrays.features",
        "weights": PARAMETERS + "weights",
        "hidden": "arrays.hidden",
        "outputs": "arrays.outputs",
    },
    "backward": {
        **{
            name: f"arrays.{name}"
            for name in (
                "uv", "features", "hidden", "outputs", "target", "grad_weights",
                "grad_feature_grid", "loss_sum",
            )
        },
        "weights": PARAMETERS + "weights",
    },
    "adam_weights": {
        "weights": PARAMETERS + "weights",
        "grad_weights": "arrays.grad_weights",
        "m": PARAMETERS + "weights_m",
        "v": PARAMETERS + "weights_v",
        "corrections": "arrays.corrections",
    },
    "adam_grid": {
        "feature_grid": PARAMETERS + "feature_grid",
        "grad_feature_grid": "arrays.grad_feature_grid",
        "m": PARAMETERS + "grid_m",
        "v": PARAMETERS + "grid_v",
        "steps": PARAMETERS + "grid_steps",
        "corrections": "arrays.corrections",
    },
}  # fmt: skip
MOST_LOOKED_AT = 100  # calls of stages: a whole training would be copied again and again
CLEARED, TIMES, CUT_OFF, OTHERWISE = "cleared", "times", "cut off", "otherwise"
WAYS = CLEARED, TIMES, CUT_OFF, OTHERWISE
ROUNDING = 1e-5  # of a product, as a part of it


class Change(NamedTuple):
    array: str  # such as "arrays.loss_sum"
    how: str
    amount: float  # the factor, or the largest size that is left


def read_change(received: Any) -> Change:
    """A change in a worker's reply. Raises `ValueError` or `TypeError` for nonsense."""
    array, how, amount = received
    if how not in WAYS:
        raise ValueError("no way to change an array")
    return Change(printable(str(array)[:100]), how, float(amount))


class OwnChanges:
    """Looks at arrays at each call of a stage, up to `MOST_LOOKED_AT` calls."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self.left: dict[str, np.ndarray] = {}  # what they held after the last stage
        self.looks = 0

    def watch(self, arrays: Mapping[str, Any]) -> None:
        """Begin anew with these; on a GPU they are elsewhere, and none is watched."""
        self.arrays = {name: a for name, a in arrays.items() if isinstance(a, np.ndarray)}
        self.looks = 0
        self.keep()

    def keep(self) -> None:
        """What the arrays hold now is no change of the student's."""
        self.looks += 1
        enough = self.looks > MOST_LOOKED_AT
        self.left = {} if enough else {name: a.copy() for name, a in self.arrays.items()}

    def since(self) -> list[Change]:
        """What has changed since."""
        return [
            Change(name, *how_changed(before, self.arrays[name]))
            for name, before in self.left.items()
            if before.tobytes() != self.arrays[name].tobytes()
        ]


def how_changed(before: np.ndarray, after: np.ndarray) -> tuple[str, float]:
    """(how, amount) of a `Change`."""
    if not np.isfinite(before).all() or not np.isfinite(after).all():
        return OTHERWISE, 0.0
    before, after = before.astype(np.float64), after.astype(np.float64)
    if not after.any():
        return CLEARED, 0.0
    largest = float(np.abs(after).max())
    if np.array_equal(after, np.clip(before, -largest, largest)):
        return CUT_OFF, largest
    at = np.unravel_index(np.abs(before).argmax(), before.shape)
    factor = float(after[at] / before[at]) if before[at] else 0.0
    if np.allclose(after, factor * before, rtol=ROUNDING, atol=ROUNDING * largest):
        return TIMES, factor
    return OTHERWISE, 0.0


class LaunchForgotten(Exception):
    """A stage was called without saying where its kernel is to run."""


class WrongArray(Exception):
    """A stage was given a number, or one of the arrays, where another one belongs."""


class StageCall(NamedTuple):
    stage: str  # field of `Stages`; "" for the end, if something was changed after the last one
    numbers: dict[str, Any]  # parameter -> number, or list of numbers
    others: dict[str, str]  # parameter -> what belongs there, and it was another array
    changed: list[Change]  # by the student's file itself, since the stage before


class StageCalls:
    """The worker's end: notes what is called. `made` can travel as JSON."""

    def __init__(self) -> None:
        self.made: list[tuple[str, dict[str, Any], dict[str, str], list[Change]]] = []
        self.own = OwnChanges()
        self.names: dict[int, str] = {}  # of arrays, by id
        self.arrays: dict[str, Any] = {}  # by name

    def watched(self, arguments: Sequence[object]) -> list[object]:
        """The arguments of a student's function, with stages that note their calls."""
        self.made = []
        self.names, self.arrays = {}, {}
        for value in arguments:
            if isinstance(value, Arrays):
                self.learn("arrays.", value)
                self.learn(PARAMETERS, value.parameters)
        self.own.watch(self.arrays if any(isinstance(a, Stages) for a in arguments) else {})
        return [self.noting(a) if isinstance(a, Stages) else a for a in arguments]

    def at_the_end(self) -> None:
        """Called when the student's function has returned."""
        changed = self.own.since()
        if changed:
            self.made.append(("", {}, {}, changed))

    def learn(self, prefix: str, fields: Any) -> None:
        for name, value in fields._asdict().items():
            self.names[id(value)] = prefix + name
            self.arrays[prefix + name] = value

    def noting(self, stages: Stages) -> Stages:
        return Stages(**{name: self.noted(name, f) for name, f in stages._asdict().items()})

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
            others = self.other_arrays(stage, given)
            if len(self.made) < MOST_CALLS:
                self.made.append((stage, numbers_of(given), others, self.own.since()))
            function(*arguments, **named)
            self.own.keep()

        return call

    def other_arrays(self, stage: str, given: dict[str, object]) -> dict[str, str]:
        """parameter -> what belongs there, for arrays that are none of ours.

        They may be right: a part, or one that the results do not show. Raises `WrongArray` if a
        number, or another of our arrays, stands in an array's place.
        """
        others = {}
        for parameter, right in BELONGS.get(stage, {}).items():
            value = given.get(parameter)
            name = str(value) if is_number(value) else self.name_of(value, right)
            if name and name != right:
                raise WrongArray(
                    f"stages.{stage} gets {name} as `{parameter}`, where {right} belongs"
                )
            if not name:
                others[parameter] = right
        return others

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


def numbers_of(given: dict[str, object]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for parameter, value in given.items():
        numbers: list[Any] = list(value) if isinstance(value, tuple) else [value]
        if parameter == "launch" or not all(is_number(number) for number in numbers):
            continue
        plain = [float(number) for number in numbers]
        found[parameter] = plain if isinstance(value, tuple) else plain[0]
    return found


def is_number(value: Any) -> bool:
    try:
        return getattr(value, "shape", ()) == () and float(value) == float(value)
    except (TypeError, ValueError):
        return False


def read_calls(received: Any) -> list[StageCall]:
    """The calls in a worker's reply. Raises `ValueError` or `TypeError` for nonsense."""
    if len(received) > MOST_CALLS:
        raise ValueError("more calls than any check makes")
    return [
        StageCall(
            str(stage),
            {str(name): as_numbers(value) for name, value in numbers.items()},
            {printable(str(name)[:100]): printable(str(right)[:100]) for name, right in o.items()},
            [read_change(change) for change in changed],
        )
        for stage, numbers, o, changed in received
    ]


def as_numbers(value: Any) -> Any:
    return [float(item) for item in value] if isinstance(value, list) else float(value)
