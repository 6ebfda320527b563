"""A handout: no solution is left in it, and every check runs."""

import json
import shutil
import subprocess
import sys

import pytest

from kernels.plumbing.errors import InputError
from lessons.__main__ import parse
from lessons.course.exercises import SourceFile, exercise_text, solution_text, unwritten
from lessons.course.lesson import ROOT, lessons
from lessons.course.mistakes import file_of, find_entry
from lessons.grading.explain.known import read

LESSONS = lessons()
DISTINCTIVE = 30  # characters of a line that is not found in other code by chance


@pytest.fixture(scope="module")
def handout(tmp_path_factory):
    out = tmp_path_factory.mktemp("handout") / "course"
    parsed = parse(["handout", str(out)])
    assert parsed.action(parsed) == 0
    return out


def lines_of_solutions():
    """Lines of the functions that students write, and that neither exercise nor story shows."""
    found = set()
    for lesson in LESSONS:
        file = SourceFile(solution_text(lesson), None)
        story = (lesson.folder / "README.md").read_text(encoding="utf-8")
        given = set(map(str.strip, (exercise_text(lesson) + story).splitlines()))
        for name in lesson.blank:
            body = file.text_of(file.functions[name]).splitlines()
            found |= {line.strip() for line in body} - given
    return {line for line in found if len(line) >= DISTINCTIVE and not line.startswith("#")}


def test_no_line_of_a_solution_is_left(handout):
    secret = lines_of_solutions()
    assert len(secret) > 40
    for path in handout.rglob("*"):
        if path.suffix in (".py", ".md", ".toml", ".txt", ".json", ".ipynb"):
            lines = set(map(str.strip, path.read_text(encoding="utf-8").splitlines()))
            left = secret & lines
            # What is given, examples of the lab and stories may share a line or two, no more.
            assert len(left) < 3, f"{path.relative_to(handout)}: {left}"
    for lesson in LESSONS:
        assert not {"mistakes.diff", "other_ways.diff"} & {
            p.name for p in (handout / lesson.folder.relative_to(ROOT)).iterdir()
        }
        for part in lesson.parts:
            names = [name for name in part.functions if name in lesson.blank]
            assert unwritten((handout / part.file).read_text(), names) == names


def test_what_an_earlier_lesson_gives_is_known(handout):
    text = (handout / "lessons" / "04_encode" / "earlier.json").read_text()
    assert "neighbours" in text and "corner_weights" in text and "random_uv" not in text
    nine = (handout / "lessons" / "09_train" / "earlier.json").read_text()
    for name in ("random_uv", "encode", "mlp_forward", "backward", "adam_step", "adam_grid"):
        assert f'"{name}"' in nine
    # Lessons 12 and 16 both ask for `gelu`: 15 calls the one of 12, and 16 its own.
    fifteen = json.loads((handout / "lessons" / "15_derivatives" / "earlier.json").read_text())
    assert fifteen["12_product_ladder"] == {"kernels.field_math": ["gelu"]}
    assert '"gelu"' not in (handout / "lessons" / "16_classifier" / "earlier.json").read_text()


def test_the_course_starts_in_it(handout):
    command = [sys.executable, "-m", "lessons"]
    ran = subprocess.run(command, cwd=handout, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "") and "grayscale" in ran.stdout


def test_what_a_lesson_calls_it_is_said_to_build_on(handout):
    for lesson in LESSONS:
        text = (handout / "lessons" / lesson.name / "earlier.json").read_text()
        called = {other.number for other in LESSONS if other.name in json.loads(text)}
        assert lesson.part == 1 or called <= set(lesson.builds_on), lesson.name


def test_what_the_checks_import_is_there(handout):
    for path in handout.glob("lessons/*/test_*.py"):
        for name in SourceFile(path.read_text(encoding="utf-8"), None).imports.values():
            if name.module.startswith("kernels."):
                assert handout.joinpath(*name.module.split(".")).with_suffix(".py").exists()


def test_an_exercise_begins_as_in_the_project(handout):
    for lesson in LESSONS:
        folder = handout / "lessons" / lesson.name
        assert (folder / "exercise.py").read_text() == exercise_text(lesson)


def test_the_command_of_a_lesson_says_that_it_is_not_there(handout):
    ran = subprocess.run(
        [sys.executable, "-m", "lessons.16_classifier", "--use", "lessons"],
        cwd=handout, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 2 and ran.stdout == ""
    assert ran.stderr.startswith("error: ") and ran.stderr.count("\n") == 1
    assert not (handout / "lessons" / "01_grayscale" / "__main__.py").exists()


def test_it_is_not_written_over_something(handout):
    parsed = parse(["handout", str(handout)])
    with pytest.raises(InputError, match="exists already"):
        parsed.action(parsed)


def check(handout, number):
    command = [sys.executable, "-m", "lessons", "check", str(number)]
    return subprocess.run(command, cwd=handout, capture_output=True, text=True).stdout


@pytest.mark.slow
def test_a_handout_names_a_mistake_as_the_project_does(handout, tmp_path):
    course = tmp_path / "course"
    shutil.copytree(handout, course)
    lesson = LESSONS[0]
    named = next(one for one in read(lesson) if one.check == lesson.checks[0].name)
    text = file_of(lesson, find_entry(lesson, named.name))
    (course / "lessons" / lesson.name / "exercise.py").write_text(text)
    assert named.sentence in " ".join(check(course, 1).split())


@pytest.mark.slow
def test_the_functions_of_an_earlier_lesson_are_the_students_own_or_dropped_in(handout, tmp_path):
    course = tmp_path / "course"
    shutil.copytree(handout, course)
    two, four = LESSONS[1], LESSONS[3]
    exercise = course / "lessons" / four.name / "exercise.py"
    exercise.write_text(solution_text(four))
    assert "there is missing: corner_weights, neighbours" in " ".join(check(course, 4).split())
    wrong = solution_text(two).replace("float32(size) - float32(0.5)", "float32(size)")
    assert wrong != solution_text(two)
    (course / "lessons" / two.name / "exercise.py").write_text(wrong)
    assert "10 of 10" not in check(course, 4)
    (course / "solutions" / f"{two.name}.py").write_text(solution_text(two))
    assert "10 of 10" in check(course, 4)


@pytest.mark.thorough  # two minutes
def test_every_check_runs_in_a_handout_that_is_solved(handout, tmp_path):
    course = tmp_path / "course"
    shutil.copytree(handout, course)
    for lesson in LESSONS:
        (course / "lessons" / lesson.name / "exercise.py").write_text(solution_text(lesson))
    command = [sys.executable, "-m", "lessons", "grade", "lessons", "--single", "--patience", "10"]
    run = subprocess.run(command, cwd=course, capture_output=True, text=True)
    assert f"{10 * len(LESSONS)} of {10 * len(LESSONS)} points" in run.stdout, run.stdout
