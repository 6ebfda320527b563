"""Put a student's own stages in place of ours, for `python train.py --use lessons`."""

import importlib.util
import secrets
import sys
from collections.abc import Callable, Iterable
from functools import partial

from tqdm import tqdm

from kernels.errors import InputError
from kernels.training.backend import ChosenBackend
from kernels.training.devices import why_no_gpu
from kernels.training.staged_backends import CudaBackend, StagedBackend
from kernels.training_step import Order, Stages
from lessons.course.exercises import unwritten
from lessons.course.lesson import Lesson, lessons
from lessons.course.progress import CourseProgress
from lessons.grading.run import checks_of, run_check
from lessons.grading.submission import Submission
from lessons.grading.worker_pool import WorkerPool
from lessons.native_backend import NativeBackend

# What each lesson contributes to a training step: field of `Stages` -> function in exercise.py; for
# lesson 9, field of `Order`.
# Lessons 1, 2 and 5 teach what the others build on; no stage of the step is made of them alone.
CONTRIBUTIONS = {
    3: {"sample_batch": "launch_sample_batch", "pixel_centres": "launch_pixel_centres"},
    4: {"encode": "launch_encode"},
    6: {"mlp_forward": "launch_mlp_forward"},
    7: {"backward": "launch_backward"},
    8: {"adam_weights": "launch_adam_weights", "adam_grid": "launch_adam_grid"},
    9: {"evaluate": "evaluate", "training_steps": "training_steps"},
}
# With the native engine on two cores this takes about a minute, and the lake is to be seen.
NATIVE_STEPS, NATIVE_BATCH = 1000, 4096


def wanted_lessons(text: str) -> list[int] | None:
    """Lesson numbers of "lessons" (None: all that are written) or "lessons:3,4,7"."""
    name, colon, numbers = text.partition(":")
    if name != "lessons" or (colon and not numbers):
        raise InputError(f"--use {text}: write --use lessons, or --use lessons:3,4,7")
    if not colon:
        return None
    chosen = []
    for number in numbers.split(","):
        if not number.strip().isdigit() or int(number) not in CONTRIBUTIONS:
            known = ", ".join(map(str, CONTRIBUTIONS))
            raise InputError(
                f"--use: lesson {number!r} is no part of a training step; choose from {known}"
            )
        chosen.append(int(number))
    return sorted(set(chosen))


def student_backend(use: str, backend: str, force: bool) -> ChosenBackend:
    """A `ChosenBackend` with the student's stages in it.

    use: see `wanted_lessons`. backend: "auto", "cuda" or "native". force: take stages that do not
    pass their checks. Raises `InputError` for lessons that are not written or do not pass.
    """
    known = {lesson.number: lesson for lesson in lessons()}
    written = [number for number in CONTRIBUTIONS if number in known and is_written(known[number])]
    chosen = wanted_lessons(use)
    if chosen is None:
        chosen = written
        if not chosen:
            raise InputError(
                "--use: none of the lessons 3, 4, 6, 7, 8, 9 is written yet; start with lesson 3"
            )
    missing = [number for number in chosen if number not in written]
    if missing:
        raise InputError(
            f"--use: lesson {missing[0]} is not written yet; see python -m lessons, or leave it out"
        )
    if not force:
        refuse_failing([known[number] for number in chosen])
    functions = {
        field: load(known[number], function)
        for number in chosen
        for field, function in CONTRIBUTIONS[number].items()
    }
    stages = Stages(**{name: functions[name] for name in Stages._fields if name in functions})
    order = Order(**{name: functions[name] for name in Order._fields if name in functions})
    base = choose_base(backend)
    factory = partial(base, stages=stages, order=order)
    rest = [number for number in CONTRIBUTIONS if number not in chosen]
    explanation = f"your lessons {', '.join(map(str, chosen))}"
    if rest:
        explanation += f", the rest from kernels/ (lessons {', '.join(map(str, rest))})"
    explanation = f"training with {explanation}, on {base.name}"
    if base is NativeBackend:
        return ChosenBackend(base.name, factory, explanation, NATIVE_STEPS, NATIVE_BATCH)
    return ChosenBackend(base.name, factory, explanation)


def choose_base(backend: str) -> type[StagedBackend]:
    if backend == "cpu":
        raise InputError("--use runs CUDA kernels; choose --backend cuda or native")
    if backend == "native":
        return NativeBackend
    obstacle = why_no_gpu()
    if obstacle and backend == "cuda":
        raise InputError(f"--backend cuda needs a usable NVIDIA GPU, but {obstacle}")
    return NativeBackend if obstacle else CudaBackend


def is_written(lesson: Lesson) -> bool:
    if not lesson.exercise.exists():
        return False
    return not unwritten(lesson.exercise.read_text("utf-8", "replace"), lesson.blank)


def refuse_failing(chosen: Iterable[Lesson]) -> None:
    """Grade the lessons. Raises `InputError` that names the first check that does not pass.

    A lesson that `python -m lessons check` has passed is not graded again until its file changes.
    """
    progress = CourseProgress()
    for lesson in chosen:
        if progress.is_done(lesson) and progress.is_current(lesson):
            continue
        functions = checks_of(lesson)
        workers = WorkerPool()
        submission = Submission.read(lesson.exercise)
        bar = tqdm(lesson.checks, lesson.name, leave=False, disable=not sys.stderr.isatty())
        try:
            for check in bar:
                result = run_check(
                    functions[check.name], lesson, check, submission, workers, secrets.randbits(32)
                )
                if result.status == "passed":
                    continue
                raise InputError(
                    f"--use: {lesson.name} does not pass its check {check.name} "
                    f"({result.diagnosis}); see python -m lessons check {lesson.number}, "
                    "or add --force"
                )
        finally:
            bar.close()
            workers.stop()


def load(lesson: Lesson, function: str) -> Callable:
    """A function of a student's file; the file is imported only once."""
    name = f"exercise_of_lesson_{lesson.number}"
    module = sys.modules.get(name)
    if module is None:
        specification = importlib.util.spec_from_file_location(name, lesson.exercise)
        assert specification and specification.loader, "a file that ends in .py has a loader"
        module = importlib.util.module_from_spec(specification)
        sys.modules[name] = module
        try:
            specification.loader.exec_module(module)
        except Exception as error:
            del sys.modules[name]
            raise InputError(
                f"{lesson.exercise} cannot be imported: {type(error).__name__}: {error}"
            ) from None
    if not hasattr(module, function):
        raise InputError(f"{lesson.exercise} has no function {function}")
    return getattr(module, function)
