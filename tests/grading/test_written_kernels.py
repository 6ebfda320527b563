"""What a check writes from a student's steps: no text of his gets into it, and no solution out."""

import importlib
from pathlib import Path
from types import FunctionType

import pytest

from lessons.course.exercises import solution_text
from lessons.course.lesson import find_lesson
from lessons.grading.judge.worker_pool import WorkerPool
from lessons.grading.prove_checks import run
from lessons.grading.walls.allowed_names import MODULES
from lessons.grading.walls.submission import Submission

LESSON = find_lesson(15)
ATTACK = "print('mine')"


@pytest.fixture(scope="module")
def workers():
    pool = WorkerPool(trusted=True)
    yield pool
    pool.stop()


@pytest.fixture(scope="module")
def solution():
    return solution_text(LESSON)


def graded(text, check, workers):
    return run(text, LESSON, LESSON.check(check), workers)


STEPS = {
    "a name that is code": [(f"loss\n    {ATTACK}", "square", ("x",), ("set",))],
    "a function that is code": [("loss", f"square\n    {ATTACK}", ("x",), ("set",))],
    "an input that is code": [("loss", "square", (f"x); {ATTACK}",), ("set",))],
    "an action that is code": [("loss", "square", ("x",), (f"set\n    {ATTACK}",))],
    "a step of its own": [("loss", "exec", ("x",), ("set",))],
    "numbers": [1, 2, 3],
    "nothing": None,
    "text": "loss",
    "a deep list": [[[[["loss"]]]]],
    "too few actions": [("loss", "square", ("x",), ())],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", STEPS)
def test_only_steps_of_the_tape_are_written(name, workers, solution):
    theirs = f"def backward_steps(steps, result, parameters):\n    return {STEPS[name]!r}\n"
    text = f"{solution}\n\n{theirs}"
    for check in ("backward_steps", "siren"):
        result = graded(text, check, workers)
        assert result.status != "passed" and "mine" not in result.diagnosis
        assert result.diagnosis in ("not on the tape", "no list of steps", "nothing returned")


@pytest.mark.parametrize(
    "end", ['"""', "(", "\\", "if (", "def f(x=[", "'''", "# ----\x00", "\udcff"]
)
def test_what_is_open_at_the_end_of_a_file_swallows_nothing(end):
    """A file that is no Python alone stays alone: its error is told."""
    import importlib.util

    (path,) = LESSON.folder.glob("test_*.py")
    specification = importlib.util.spec_from_file_location("checks_of_lesson_15", path)
    checks = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(checks)

    class Case:
        submission = Submission(
            Path("exercise.py"), f"x = 1\n{end}".encode("utf-8", "surrogatepass")
        )

        def go_on_with(self, text):
            self.submission = self.submission._replace(text=text)

    case = Case()
    before = case.submission
    checks.add_code(case, "y = 2")
    assert case.submission == before
    case.submission = Submission(Path("exercise.py"), b"x = 1\nif x:\n    pass")
    checks.add_code(case, "y = 2")
    checks.add_code(case, "y = 3")
    names = {}
    exec(case.submission.text, names)
    assert names["y"] == 3 and b"y = 2" not in case.submission.text


def test_the_solutions_cannot_be_reached_by_way_of_the_registry():
    """The registry keeps names: what is hidden in `functions` is nowhere else."""
    hidden = {part.module: set(part.functions) & set(LESSON.blank) for part in LESSON.parts}
    codes = {
        getattr(importlib.import_module(module), name).__code__
        for module, names in hidden.items()
        for name in names
    }
    assert len(codes) == len(LESSON.blank)
    for module in MODULES:
        if not module.startswith("kernels"):
            continue
        names = vars(importlib.import_module(module)).items()
        for name, value in names:
            if isinstance(value, FunctionType) and value.__code__ in codes:
                assert name in hidden.get(module, ()), f"{module}.{name} is a solution"


@pytest.mark.slow
def test_a_solution_in_its_own_place_is_refused(workers, solution):
    text = solution.replace(
        "return gradient * sine_of_turns(x * float32(TURNS_PER_RADIAN) + float32(0.25))",
        "return functions.sine_derivative(x, gradient)",
    ).replace("import math\n", "import math\n\nfrom kernels.derivatives import functions\n", 1)
    assert "functions.sine_derivative" in text
    result = graded(text, "sine", workers)
    assert result.status != "passed" and "write your own" in result.message
