"""`lessons.playground.exercise`: a student's file as a module, here and in a handout."""

import subprocess
import sys

import pytest

import lessons
from kernels.plumbing.errors import InputError
from lessons.__main__ import parse
from lessons.course.exercises import exercise_text, solution_text
from lessons.course.lesson import find_lesson
from lessons.playground import exercise

PLAY = """
import numpy as np
from lessons.lab import checked_run
from lessons.playground import exercise

mine = exercise(3)
uv, target = np.zeros((5, 2), np.float32), np.zeros((5, 3), np.float32)
image = np.full((5, 7, 3), 0.5, np.float32)
mine.launch_sample_batch(image, 1, 1, uv, target, launch=lambda *run: print(checked_run(*run)))
print(np.allclose(target, 0.5))
"""


def test_the_file_of_a_lesson(tmp_path, monkeypatch):
    """In a folder where no student has been yet."""
    for number in ("1", "5b"):
        lesson = find_lesson(number)
        (tmp_path / lesson.name).mkdir()
        (tmp_path / lesson.name / "exercise.py").write_text(exercise_text(lesson), "utf-8")
        for module in (f"lessons.{lesson.name}", f"lessons.{lesson.name}.exercise"):
            monkeypatch.setitem(sys.modules, module, None)  # as it is now, again at the end
            del sys.modules[module]
    monkeypatch.setattr(lessons, "__path__", [str(tmp_path), *lessons.__path__])
    assert exercise(1).grayscale.py_func.__name__ == "grayscale"
    assert exercise("5b").__name__ == "lessons.05b_histogram_and_sum.exercise"
    with pytest.raises(InputError, match="no lesson 99"):
        exercise(99)


@pytest.mark.thorough
def test_in_a_handout_it_builds_on_the_students_own(tmp_path):
    out = tmp_path / "course"
    parsed = parse(["handout", str(out)])
    assert parsed.action(parsed) == 0
    (out / "play.py").write_text(PLAY)

    def play():
        command = [sys.executable, "play.py"]
        run = subprocess.run(command, cwd=out, capture_output=True, text=True, timeout=120)
        assert run.returncode == 0, run.stderr
        return run.stdout

    def solve(number):
        lesson = find_lesson(number)
        (out / "lessons" / lesson.name / "exercise.py").write_text(solution_text(lesson))

    solve("3")
    assert play().splitlines()[-1] == "False"  # lesson 2 is not written yet
    solve("2")
    assert play().splitlines()[-1] == "True"
