"""Exercises come from kernels/, lessons say what they must, and checks catch what they should."""

import ast

import pytest

from kernels.errors import InputError
from lessons.course.exercises import exercise_text, solution_text, unwritten
from lessons.course.lesson import LESSONS, find_lesson, lessons, read_lesson
from lessons.grading.prove_checks import rows_of, wrong_kernels
from lessons.grading.run import Workers, checks_of

ALL = lessons()
NAMES = [lesson.name for lesson in ALL]


@pytest.fixture(scope="module")
def workers():
    found = Workers(trusted=True)
    yield found
    found.stop()


def test_there_are_nine_lessons_in_order():
    assert [lesson.number for lesson in ALL] == list(range(1, 10))


@pytest.mark.parametrize("lesson", ALL, ids=NAMES)
def test_exercise_is_what_the_generator_makes(lesson):
    """A student's own work in it is not an error of the project: then there is nothing to compare."""
    text = lesson.exercise.read_text(encoding="utf-8")
    if len(unwritten(text, lesson.blank)) < len(lesson.blank):
        pytest.skip(f"{lesson.name}/exercise.py holds a student's work")
    assert text == exercise_text(lesson), "run python -m lessons.course.exercises --all"


@pytest.mark.parametrize("lesson", ALL, ids=NAMES)
def test_exercise_lacks_exactly_what_is_to_be_written(lesson):
    assert unwritten(exercise_text(lesson), lesson.blank) == lesson.blank
    assert unwritten(solution_text(lesson), lesson.blank) == []
    for text in (exercise_text(lesson), solution_text(lesson)):
        compile(text, lesson.name, "exec")
        assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("lesson", ALL, ids=NAMES)
def test_every_check_has_a_test_and_every_test_a_check(lesson):
    assert set(checks_of(lesson)) == {check.name for check in lesson.checks}


@pytest.mark.parametrize("lesson", ALL, ids=NAMES)
def test_folder_has_readme_picture_and_wrong_kernels(lesson):
    readme = (lesson.folder / "README.md").read_text(encoding="utf-8")
    assert "picture.png" in readme and (lesson.folder / "picture.png").exists()
    assert "<details>" in readme
    for name in lesson.blank:
        assert f"`{name}" in readme, f"the README does not name {name}"
    assert len(wrong_kernels(lesson)) >= 6


@pytest.mark.parametrize("lesson", ALL, ids=NAMES)
def test_checks_tell_right_from_wrong(lesson, workers):
    """The skeleton fails, the reference passes, each wrong kernel gets its check and diagnosis."""
    wrong = [row for row in rows_of(lesson, workers) if not row.ok]
    assert not wrong, "\n".join(f"{row.kernel}: {row.message}" for row in wrong)


# ---------------------------------------------------------------- the generator


def test_unwritten_sees_through_bodies_that_do_nothing():
    text = '''
def a():
    """Only words."""
def b():
    pass
def c(): ...
def d():
    """Words."""
    raise NotImplementedError("write me")
def e():
    return 1
def f():
    raise ValueError
g = e
'''
    assert unwritten(text, list("abcdefgh")) == ["a", "b", "c", "d", "h"]
    assert unwritten("def broken(", ["a"]) == []


def test_comments_of_the_reference_stay_as_guidance():
    text = exercise_text(find_lesson(5))
    assert "# Both tiles have to be complete" in text
    assert "total +=" not in text


def test_kept_functions_use_those_of_the_student():
    """What the exercise holds is not imported as well: it would hide the student's own."""
    for lesson in ALL:
        tree = ast.parse(exercise_text(lesson))
        held = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        imported = {
            alias.asname or alias.name
            for node in tree.body
            if isinstance(node, (ast.Import, ast.ImportFrom))
            for alias in node.names
        }
        assert not held & imported


# ---------------------------------------------------------------- lesson.toml


@pytest.mark.parametrize(
    "old, new, words",
    [
        ("points = 4", "points = 5", "points sum to 11"),
        ('blank = ["luminance", ', 'blank = ["brightness", ', "no part holds it"),
        ("timeout = 20", "timeout =", "cannot be used"),
        ('needs = ["luminance"]', 'needs = ["sepia"]', "needs sepia"),
        ('title = "Grayscale', 'name = "Grayscale', "cannot be used"),
    ],
)
def test_a_lesson_that_cannot_be_graded_is_refused(tmp_path, old, new, words):
    text = (LESSONS / "01_grayscale" / "lesson.toml").read_text(encoding="utf-8")
    assert old in text
    folder = tmp_path / "01_grayscale"
    folder.mkdir()
    (folder / "lesson.toml").write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError, match=words):
        read_lesson(folder)


def test_unknown_lessons_and_checks_are_named():
    with pytest.raises(InputError, match="there is no lesson 12"):
        find_lesson(12)
    with pytest.raises(InputError, match="has no check 'nothing'"):
        find_lesson(1).check("nothing")
