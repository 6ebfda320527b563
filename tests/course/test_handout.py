"""A handout: no solution is left in it, and every check runs."""

import ast
import json
import re
import shutil
import subprocess
import sys

import pytest

from kernels.plumbing.errors import InputError
from lessons.__main__ import parse
from lessons.course.exercises import SourceFile, exercise_text, solution_text, unwritten
from lessons.course.lesson import ROOT, find_lesson, lessons
from lessons.course.mistakes import file_of, find_entry
from lessons.grading.explain.known import read
from lessons.grading.walls.fingerprint import RUN, words_of

LESSONS = lessons()
DISTINCTIVE = 30  # characters of a line that is not found in other code by chance
MOST_ALIKE = 0.5  # of a function that stands elsewhere
# What is written in the way of a function that the exercise gives.
MODELS = {
    ("sum_of_block", "largest_of_block"),
    ("product_nt", "product_registers"),
    ("product_tn", "product_registers"),
}


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


@pytest.mark.slow
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


@pytest.mark.slow
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


def test_a_handout_makes_no_site(handout, tmp_path):
    """Its gallery would show mistakes as changes of our solutions, which are not there."""
    command = [sys.executable, "-m", "lessons", "site", "--to", str(tmp_path / "site")]
    ran = subprocess.run(command, cwd=handout, capture_output=True, text=True)
    assert ran.returncode == 2 and ran.stderr.startswith("error: this copy of the course has no mi")


def test_what_a_command_fills_is_there(handout):
    """A page beside the file that fills it, which is no Python."""
    assert (
        (handout / "kernels" / "training" / "page.html").read_text("utf-8").startswith("<!doctype")
    )


def test_an_exercise_begins_as_in_the_project(handout):
    for lesson in LESSONS:
        folder = handout / "lessons" / lesson.name
        assert (folder / "exercise.py").read_text() == exercise_text(lesson)


def runs_of(node):
    """All runs of neighbouring words of a function's syntax tree, as `fingerprint` has them."""
    words = list(words_of(node))
    return {tuple(words[i : i + RUN]) for i in range(len(words) - RUN + 1)}


def copies_in(folder):
    """(function that students write, file, function there) where most of the first stands."""
    there = [
        (path.relative_to(folder).as_posix(), node.name, runs_of(node))
        for path in sorted(folder.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    ]
    for lesson in LESSONS:
        file = SourceFile(solution_text(lesson), None)
        for name in lesson.blank:
            wanted = runs_of(file.functions[name])
            for path, other, runs in there:
                alike = len(wanted & runs) > MOST_ALIKE * len(wanted)
                if alike and (name, other) not in MODELS:
                    yield name, path, other


@pytest.mark.slow
def test_no_function_that_a_student_writes_stands_elsewhere(handout, tmp_path):
    assert list(copies_in(handout)) == []
    (tmp_path / "other.py").write_text(
        "class Smooth:\n"
        "    def smooth(value):\n"
        "        cubic = float32(SCALE) * (value + float32(CUBE) * value * value * value)\n"
        "        return float32(0.5) * value * (float32(1) + math.tanh(cubic))\n"
    )
    assert {("gelu", "other.py", "smooth")} == set(copies_in(tmp_path))


def test_no_link_of_a_handout_is_dead(handout):
    links = 0
    for page in handout.rglob("*.md"):
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for target in re.findall(r"\]\(([\w./-]*\w[./][\w./-]*)(?:#[^)]*)?\)", text):
            links += 1
            assert (page.parent / target).exists(), f"{page}: {target}"
    assert links > 150


@pytest.mark.slow
def test_solutions_of_other_lessons_are_put_in_and_counted(tmp_path):
    out = tmp_path / "course"
    parsed = parse(["handout", str(out), "--with", "1-4,5b"])
    assert parsed.action(parsed) == 0
    given = {LESSONS[i].name for i in (0, 1, 2, 3, 5)}
    assert {path.stem for path in (out / "solutions").iterdir()} == given
    command = [sys.executable, "-m", "lessons"]
    ran = subprocess.run(command, cwd=out, capture_output=True, text=True, check=True)
    assert ran.stdout.count("(given, in solutions)") == 5
    assert "->  5 " in ran.stdout and "0 of 100 points, and 5 lessons are given" in ran.stdout


def capstone(course, *options):
    command = [sys.executable, "-m", *options, "--quiet", "--backend", "native"]
    return subprocess.run(command, cwd=course, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_command_of_a_lesson_names_the_lesson_that_it_waits_for(handout):
    ran = capstone(handout, "lessons.11_many_become_one")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("error: 01_grayscale is not written yet")
    assert not (handout / "lessons" / "01_grayscale" / "__main__.py").exists()


CAPSTONES = {
    "10": [], "11": [], "12": [], "13": ["--steps", "3", "--limit", "16"],
    "14": ["--steps", "3", "--limit", "32"], "15": ["--steps", "3"], "16": ["--epochs", "1"],
    "17": ["--epochs", "1", "--limit", "32"], "18": ["--steps", "2"], "19": ["--steps", "2"],
    "20": ["--steps", "3", "--limit", "64"],
}  # fmt: skip


@pytest.fixture(scope="module")
def given(handout, tmp_path_factory):
    """A handout with all solutions given, by the teacher's one command."""
    course = tmp_path_factory.mktemp("given") / "course"
    shutil.copytree(handout, course)
    parsed = parse(["solution", "--all", "--to", str(course / "solutions")])
    assert parsed.action(parsed) == 0
    return course


@pytest.mark.thorough  # each compiles for half a minute
@pytest.mark.parametrize("number", CAPSTONES)
def test_the_command_of_a_lesson_runs_in_a_handout_with_solutions(given, number):
    lesson = find_lesson(number)
    ran = capstone(given, f"lessons.{lesson.name}", *CAPSTONES[number])
    assert ran.returncode == 0 and f"runs/{lesson.name}" in ran.stdout, ran.stderr
    has_page = (given / "runs" / lesson.name / "index.html").exists()
    assert has_page == (int(number) >= 13)


@pytest.mark.thorough
def test_the_command_of_a_lesson_runs_the_students_own_functions(given, tmp_path):
    course = tmp_path / "course"
    shutil.copytree(given, course, ignore=shutil.ignore_patterns("runs"))
    first, contrast = LESSONS[0], find_lesson(11)
    for lesson in (first, contrast):
        (course / "solutions" / f"{lesson.name}.py").unlink()
    brighter = solution_text(first).replace("return float32", "return float32(8) * float32")
    (course / "lessons" / first.name / "exercise.py").write_text(brighter)
    (course / "lessons" / contrast.name / "exercise.py").write_text(solution_text(contrast))
    name = f"lessons.{contrast.name}"
    assert f"{first.name} does not pass its check" in capstone(course, name).stderr
    assert capstone(course, name, "--force").returncode == 0
    twice = json.loads((course / "runs" / contrast.name / "summary.json").read_text())
    assert twice["mean_brightness"] > 1  # the student's own grayscale, wrong as it is


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


@pytest.mark.thorough
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
