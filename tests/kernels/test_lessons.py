"""The kernels of lessons 17 to 20 by the lessons' own checks, on each engine there is.

A check looks at a student's kernels on the checked simulator, and counts there. Here it looks at
ours, wherever kernel tests run; sizes, inputs, guard zones and the float64 reference are its own.
"""

import importlib
from pathlib import Path

import numpy as np
import pytest

from lessons.course.exercises import solution_text
from lessons.course.lesson import find_lesson
from lessons.grading.explain.messages import call_text
from lessons.grading.judge.result import Attempt
from lessons.grading.judge.run import checks_of
from lessons.grading.judge.runs import Engines, Runs
from lessons.grading.judge.verdict import Verdict
from lessons.grading.walls.submission import Submission
from lessons.grading.worker.outcome import Counts
from lessons.grading.worker.output import Output
from tests.engines import ENGINES

LESSONS = [find_lesson(number) for number in (17, 18, 19, 20)]
NEARER = {"naive": 1e-6, "flash": 1e-6}  # than a student's results have to be
# The check of all functions at once is quick, and stands for the others.
CHECKS = [
    pytest.param(
        lesson,
        check._replace(tolerance=NEARER.get(check.name, check.tolerance)),
        id=f"{lesson.name}-{check.name}",
        marks=[] if check.name == "float32" else pytest.mark.slow,
    )
    for lesson in LESSONS
    for check in lesson.checks
]


class OnEngine(Runs):
    """Runs our functions on an engine, and counts nothing."""

    def __init__(self, attempt, engine):
        # What is large takes the checked simulator too long.
        only_checked = type(engine) is ENGINES["checked"]
        super().__init__(attempt, None, Engines(deadline=0, only_checked=only_checked))
        self.engine = engine

    def run(self, backend, function, arguments, **how):
        self.note(backend, call_text(function, arguments))
        to_device, to_host = self.engine.to_device, self.engine.to_host
        buffers = {
            place: to_device(one.buffer if isinstance(one, Output) else np.ascontiguousarray(one))
            for place, one in enumerate(arguments)
            if isinstance(one, Output | np.ndarray)
        }
        given = [
            buffers[place][one.guard : -one.guard].reshape(one.shape)
            if isinstance(one, Output)
            else buffers.get(place, one)
            for place, one in enumerate(arguments)
        ]
        self.function(function)(*given, launch=self.engine.launch)
        for place, buffer in buffers.items():
            if isinstance(arguments[place], Output):
                arguments[place].buffer = to_host(buffer)
            else:
                np.testing.assert_array_equal(to_host(buffer), arguments[place])
        return Counts(arguments, ())

    def call(self, function, arguments):
        found = self.function(function)
        with np.errstate(all="ignore"):
            return getattr(found, "py_func", found)(*arguments)

    def function(self, name):
        (module,) = (part.module for part in self.lesson.parts if name in part.functions)
        return getattr(importlib.import_module(module), name)


@pytest.mark.gpu
@pytest.mark.slow_on("native")
@pytest.mark.parametrize(("lesson", "check"), CHECKS)
def test_our_kernels_pass(engine, lesson, check):
    file = Submission(Path("exercise.py"), solution_text(lesson).encode())
    attempt = Attempt(lesson, check, file, seed=20260)
    checks_of(lesson)[check.name](Verdict(attempt, OnEngine(attempt, engine)))
