"""Exercises come from kernels/, and lessons say what they must."""

import ast
import re
import subprocess
import sys
from importlib.util import find_spec
from shutil import which

import pytest

from kernels.plumbing.errors import InputError
from lessons.course.exercises import SourceFile, exercise_text, kernels_of, solution_text, unwritten
from lessons.course.lesson import LESSONS, ROOT, find_lesson, lessons, read_lesson
from lessons.course.mistakes import entries_of_kind

ALL = lessons()
NAMES = [lesson.name for lesson in ALL]


def test_the_lessons_are_in_order():
    assert [lesson.number for lesson in ALL if lesson.part == 1] == "1 2 3 4 5 5b 6 7 8 9".split()
    part_two = [int(lesson.number) for lesson in ALL if lesson.part == 2]
    assert part_two == sorted(set(part_two)) and ALL == sorted(ALL, key=lambda one: one.part)


@pytest.mark.parametrize("lesson", ALL, ids=NAMES)
def test_exercise_is_what_the_generator_makes(lesson):
    """A student's own work in it is no error of the project: then there is nothing to compare."""
    command = ["git", "diff", "--quiet", "HEAD", "--", lesson.exercise]
    if not which("git") or subprocess.run(command, cwd=ROOT).returncode:
        pytest.skip(f"{lesson.name}/exercise.py holds a student's work")
    text = lesson.exercise.read_text(encoding="utf-8")
    assert text == exercise_text(lesson), "run python -m lessons.course.exercises --all"


@pytest.mark.parametrize("lesson", ALL, ids=NAMES)
def test_exercise_lacks_exactly_what_is_to_be_written(lesson):
    assert unwritten(exercise_text(lesson), lesson.blank) == lesson.blank
    assert unwritten(solution_text(lesson), lesson.blank) == []
    for text in (exercise_text(lesson), solution_text(lesson)):
        compile(text, lesson.name, "exec")
        assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("lesson", ALL, ids=NAMES)
def test_folder_has_readme_picture_and_mistakes(lesson):
    readme = (lesson.folder / "README.md").read_text(encoding="utf-8")
    assert "picture.png" in readme and (lesson.folder / "picture.png").exists()
    assert "<details>" in readme
    for name in lesson.blank:
        assert f"`{name}" in readme, f"the README does not name {name}"
    assert len(entries_of_kind(lesson, "wrong")) >= 6


def test_the_table_of_lessons_is_true():
    table = (LESSONS / "README.md").read_text(encoding="utf-8")
    for lesson in ALL:
        (row,) = [line for line in table.splitlines() if f"({lesson.name}/README.md)" in line]
        assert row.startswith(f"| [{lesson.number} ")
        assert row.split("|")[2].strip() == f"{lesson.hours:g}"
    hours = sum(lesson.hours for lesson in ALL if lesson.part == 1)
    assert f"{hours:g} hours in all" in table.replace("\n", " ")


def test_what_a_lesson_builds_on_is_told():
    """In its lesson.toml and in the table."""
    table = (LESSONS / "README.md").read_text(encoding="utf-8")
    for lesson in ALL:
        numbers = [earlier.number for earlier in ALL[: ALL.index(lesson)]]
        assert [n for n in numbers if n in lesson.builds_on] == lesson.builds_on
        assert bool(lesson.builds_on) == (lesson.part == 2)
        if lesson.builds_on:
            (row,) = [line for line in table.splitlines() if f"({lesson.name}/README.md)" in line]
            assert row.split("|")[5].strip() == ", ".join(lesson.builds_on)


def test_the_map_names_what_there_is():
    """Which kernel returns where: each was written in the lesson that the map says."""
    text = (LESSONS / "README.md").read_text(encoding="utf-8")
    table = text.partition("### Which kernel returns where")[2].partition("Part two builds")[0]
    header, *rows = [line for line in table.splitlines() if line.startswith("| ")]
    columns = re.findall(r" (\d+) ", header)
    assert columns == [lesson.number for lesson in ALL if lesson.part == 2]
    numbers = []
    for row in rows:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        number = re.search(r"\((\w+)\)$", cells[0])[1]
        written = {name for part in find_lesson(number).parts for name in part.functions}
        assert set(re.findall(r"`(\w+)`", cells[0])) <= written, cells[0]
        assert set(cells[1 : 1 + len(columns)]) == {"x", ""}, row
        numbers.append(number)
    assert set(numbers) == {lesson.number for lesson in ALL if lesson.part == 1}


@pytest.mark.parametrize("lesson", ALL, ids=NAMES)
def test_the_readme_tells_every_check_and_its_points(lesson):
    readme = (lesson.folder / "README.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| `([a-z0-9_]+)` \| (\d+) \|", readme, re.M)
    assert told == [(check.name, str(check.points)) for check in lesson.checks]


def test_a_lesson_yields_its_kernels():
    assert kernels_of(find_lesson(2)) == ["downsample", "upsample"]
    assert kernels_of(find_lesson(9)) == ["evaluate", "training_step", "training_steps"]


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


def test_comments_stay_where_they_guide():
    text = exercise_text(find_lesson(5))
    assert "# Both tiles have to be complete" in text
    assert "total +=" not in text


@pytest.mark.parametrize("lesson", ALL, ids=NAMES)
def test_comments_go_with_the_code_that_they_speak_of(lesson):
    """They stay in functions that lesson.toml lists, and there each has something to say."""
    text = exercise_text(lesson)
    lines = text.splitlines()
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name in lesson.blank:
            body = lines[node.body[0].lineno - 1 : node.end_lineno]
            has_comments = any(line.lstrip().startswith("#") for line in body)
            assert has_comments == (node.name in lesson.keep_comments), node.name


@pytest.mark.parametrize("lesson", ALL, ids=NAMES)
def test_no_more_than_two_empty_lines_stand_together(lesson):
    """Also where there is nothing to import, as in lesson 9."""
    for text in (exercise_text(lesson), solution_text(lesson)):
        assert "\n\n\n\n" not in text
        assert text.endswith("\n") and not text.endswith("\n\n")


@pytest.mark.skipif(find_spec("ruff") is None, reason="needs ruff: .ci/requirements.txt")
@pytest.mark.parametrize("command", [["format", "--check"], ["check"]], ids=" ".join)
def test_exercises_and_solutions_are_in_the_style_of_the_project(tmp_path, command):
    for lesson in ALL:
        for name, text in (("exercise", exercise_text), ("solution", solution_text)):
            path = tmp_path / "lessons" / f"{lesson.name}_{name}" / "exercise.py"
            path.parent.mkdir(parents=True)
            path.write_text(text(lesson), encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text("utf-8"), "utf-8")
    ruff = [sys.executable, "-m", "ruff", *command, "--no-cache", "."]
    run = subprocess.run(ruff, cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


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
        ("points = 3", "points = 4", "points sum to 11"),
        ('blank = ["luminance", ', 'blank = ["brightness", ', "no part holds it"),
        ("timeout = 20", "timeout =", "cannot be used"),
        ('needs = ["luminance"]', 'needs = ["sepia"]', "needs sepia"),
        ("blank = [", 'keep_comments = ["sepia"]\nblank = [', "sepia keeps its comments"),
        ("blank = [", 'warm_ups = ["sepia"]\nblank = [', "sepia is a warm-up"),
        ("blank = [", 'warm_ups = ["luminance"]\nblank = [', "without a warm-up"),
        ('title = "Grayscale', 'name = "Grayscale', "cannot be used"),
        ("hours = 1.5", 'hours = "one"', "cannot be used"),
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
    with pytest.raises(InputError, match="there is no lesson 99"):
        find_lesson(99)
    with pytest.raises(InputError, match="has no check 'nothing'"):
        find_lesson(1).check("nothing")


def statements_of(function):
    """The statements of a function as text, but for short ones; of a block its first line."""
    texts = (
        ast.unparse(node).partition("\n")[0].rstrip(":")
        for node in ast.walk(function)
        if isinstance(node, ast.stmt) and node is not function
    )
    return {text for text in texts if len(text) >= 8 and not text.startswith(("'", '"'))}


def told_by(hint, function):
    """The share of a function's statements that stand in a hint, spaces aside; 0 for a single one
    of several."""
    there = "".join(hint.split()).replace("`", "")
    statements = statements_of(function)
    found = [text for text in statements if "".join(text.split()) in there]
    return 0 if len(found) < 2 < len(statements) else len(found) / max(1, len(statements))


@pytest.mark.parametrize("lesson", ALL, ids=NAMES)
def test_no_hint_is_a_solution(lesson):
    solution = SourceFile(solution_text(lesson), None)
    for check in lesson.checks:
        for name in check.needs:
            function = solution.functions[name]
            for hint in check.hints:
                assert told_by(hint, function) <= 1 / 3, f"{check.name}, {name}: {hint}"
            whole = ast.unparse(ast.Module(function.body, []))
            assert told_by(whole, function) > 0.9
