"""Put a student's own stages in place of ours, for `python train.py --use lessons`."""

from collections.abc import Mapping, Sequence
from functools import partial

from kernels.plumbing.errors import InputError
from kernels.training.backend import ChosenBackend
from kernels.training.devices import why_no_gpu
from kernels.training.staged_backends import CudaBackend, StagedBackend
from kernels.training_step import Order, Stages
from lessons.course.lesson import lessons
from lessons.native_backend import NativeBackend
from lessons.student_functions import failures_of, is_written, load

# What each lesson contributes to a training step: field of `Stages` -> function in exercise.py; for
# lesson 9, field of `Order`.
# Lessons 1, 2, 5 and 5b teach what the others build on; no stage of the step is made of them alone.
CONTRIBUTIONS = {
    "3": {"sample_batch": "launch_sample_batch", "pixel_centres": "launch_pixel_centres"},
    "4": {"encode": "launch_encode"},
    "6": {"mlp_forward": "launch_mlp_forward"},
    "7": {"backward": "launch_backward"},
    "8": {"adam_weights": "launch_adam_weights", "adam_grid": "launch_adam_grid"},
    "9": {"evaluate": "evaluate", "training_steps": "training_steps"},
}
# With the native engine on two cores this takes about a minute, and the lake is to be seen.
NATIVE_STEPS, NATIVE_BATCH = 1000, 4096


def wanted_lessons(text: str) -> list[str] | None:
    """Lesson numbers of "lessons" (None: all that are written) or "lessons:3,4,7"."""
    name, colon, numbers = text.partition(":")
    if name != "lessons" or (colon and not numbers):
        raise InputError(f"--use {text}: write --use lessons, or --use lessons:3,4,7")
    if not colon:
        return None
    chosen = [number.strip().lstrip("0") for number in numbers.split(",")]
    for number in chosen:
        if number not in CONTRIBUTIONS:
            known = ", ".join(CONTRIBUTIONS)
            raise InputError(
                f"--use: lesson {number!r} is no part of a training step; choose from {known}"
            )
    return [number for number in CONTRIBUTIONS if number in chosen]


def student_backend(use: str, backend: str, force: bool) -> ChosenBackend:
    """A `ChosenBackend` with the student's stages in it.

    use: see `wanted_lessons`. backend: "auto", "cuda" or "native". force: take stages that do not
    pass their checks. Raises `InputError` for lessons that are named and not written, or do not
    pass. Where none is named, ours take the place of those that fail, unless all do.
    """
    base = choose_base(backend)
    known = {lesson.number: lesson for lesson in lessons()}
    written = [number for number in CONTRIBUTIONS if number in known and is_written(known[number])]
    named = wanted_lessons(use)
    chosen = written if named is None else named
    if not chosen:
        raise InputError(
            f"--use: none of the lessons {', '.join(CONTRIBUTIONS)} is written yet; start with "
            f"lesson {next(iter(CONTRIBUTIONS))}"
        )
    missing = [number for number in chosen if number not in written]
    if missing:
        raise InputError(
            f"--use: lesson {missing[0]} is not written yet; see python -m lessons, or leave it out"
        )
    failures = {} if force else failures_of([known[number] for number in chosen])
    if failures and (named is not None or len(failures) == len(chosen)):
        raise InputError(f"--use: {next(iter(failures.values()))}, or add --force")
    chosen = [number for number in chosen if number not in failures]
    functions = {
        field: load(known[number], function)
        for number in chosen
        for field, function in CONTRIBUTIONS[number].items()
    }
    stages = Stages(**{name: functions[name] for name in Stages._fields if name in functions})
    order = Order(**{name: functions[name] for name in Order._fields if name in functions})
    factory = partial(base, stages=stages, order=order)
    explanation = explanation_of(chosen, failures, base.name)
    if base is NativeBackend:
        return ChosenBackend(base.name, factory, explanation, NATIVE_STEPS, NATIVE_BATCH)
    return ChosenBackend(base.name, factory, explanation)


def explanation_of(chosen: Sequence[str], failures: Mapping[str, str], engine: str) -> str:
    """Whose stages train: a line, and one more for each lesson that fails its checks."""
    rest = [number for number in CONTRIBUTIONS if number not in chosen]
    ours = f", the rest from kernels/ (lessons {', '.join(rest)})" if rest else ""
    first = f"training with your lessons {', '.join(chosen)}{ours}, on {engine}"
    return "\n".join([first, *(f"not with yours: {reason}" for reason in failures.values())])


def choose_base(backend: str) -> type[StagedBackend]:
    if backend == "cpu":
        raise InputError("--use runs CUDA kernels; choose --backend cuda or native")
    if backend == "native":
        return NativeBackend
    obstacle = why_no_gpu()
    if obstacle and backend == "cuda":
        raise InputError(f"--backend cuda needs a usable NVIDIA GPU, but {obstacle}")
    return NativeBackend if obstacle else CudaBackend
