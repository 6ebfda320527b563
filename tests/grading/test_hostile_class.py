"""Hostile files, graded as a class: no point is gained, no grade lost, nothing left or changed.

Once by the documented command, which runs only what kernels are made of; and once with all of
Python, to see that the walls behind that hold. The tables:

    python -m pytest tests/grading/test_hostile_class.py -m ""
"""

import csv
import hashlib
import html
import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from lessons.course.lesson import LESSONS, ROOT, find_lesson, lessons
from lessons.grading.classroom.grade_class import ClassGrader
from lessons.grading.classroom.grade_submission import Settings
from lessons.grading.classroom.intake import handed_in
from lessons.grading.classroom.journal import JOURNAL, Journal, Run
from lessons.grading.classroom.outputs import harmless
from lessons.grading.judge.explain_failure import NO_EFFORT
from lessons.grading.walls.confine import version
from lessons.grading.walls.system_calls import is_known
from tests.grading.hostile_texts import HANDED, SEARCHES, SOLUTION, TEXTS, read_attacks
from tests.grading.made_class import put

LESSON = find_lesson("1")
FILES = read_attacks()
SEED = 3
LEFT = "left_by_a_student"
# Each of another kind.
QUICK = (
    "honest", "outside", "findings_through_frames", "kill_the_group", "zeros", "no_luminance",
    "answer_beyond_the_file", "findings_through_compiled_code",
)  # fmt: skip

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="attacks on Linux; elsewhere no wall stands"
)


def submissions(folder, names):
    """A class of these files, each as if the student had added it to the solution."""
    for name in names:
        files = HANDED.get(name)
        if files is None:
            content = TEXTS.get(name) or SOLUTION + b"\n\n" + FILES[name].code.encode()
            files = {f"{LESSON.name}.py": content}
        for path, content in files.items():
            put(folder / name / path, content() if callable(content) else content)
    return folder


def state_of_project():
    """Content, mode and time of every file that a grading depends on."""
    found = {}
    for path in sorted([*LESSONS.rglob("*"), *(ROOT / "kernels").rglob("*")]):
        if path.is_file() and not {"__pycache__", "runs"} & set(path.parts):
            known = path.stat()
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            found[path] = digest, known.st_mode, known.st_mtime_ns
    return found


def left_behind():
    """What an attack of these files would leave."""
    places = [Path(place, LEFT) for place in ("/tmp", "/var/tmp", "/dev/shm", "/run", Path.home())]
    names = ("sitecustomize.py", "usercustomize.py", "json.py", "planted.pth", "conftest.py")
    places += [Path(folder, name) for folder in sys.path if folder for name in names]
    places = [place for place in places if not place.is_relative_to(ROOT)]
    found = {str(place) for place in places if place.exists()}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            is_worker = Path(os.readlink(process / "cwd")).name.startswith("lesson-")
            # Others may grade on this machine at the same time.
            if is_worker and str(ROOT).encode() in (process / "environ").read_bytes():
                found.add(f"process {process.name}")
    return found


class Graded:
    """What came of a class. points: student -> points; rows: student -> rows of the journal."""

    def __init__(self, out):
        lines = [json.loads(line) for line in (out / JOURNAL).read_text().splitlines()]
        self.rows = {}
        for line in lines[1:]:
            self.rows.setdefault(line["student"], []).append(line["row"])
        self.points = {name: sum(row["score"] for row in rows) for name, rows in self.rows.items()}


def graded_by_command(folder, out, *options):
    command = [sys.executable, "-m", "lessons", "grade", folder, "--out", out, "--seed", SEED,
               "--lessons", "1", "--limit", "40", "--patience", "2", *options]  # fmt: skip
    run = subprocess.run(
        list(map(str, command)), cwd=ROOT, capture_output=True, text=True, errors="replace"
    )
    assert run.returncode == 0, run.stderr
    assert "Traceback" not in run.stderr + run.stdout, run.stderr
    with open(out / "grades.csv", encoding="utf-8-sig", newline="") as file:
        students = {harmless(path.name) for path in folder.iterdir()}
        assert {row[0] for row in list(csv.reader(file))[1:]} == students
    return Graded(out)


def graded_with(new_pool, folder, out):
    """As the command does it, in this process, with workers of one's own."""
    settings = Settings(
        [LESSON],
        SEED,
        2,
        2.0,
        40.0,
        lambda student: out / "students" / student,
        new_pool,
        NO_EFFORT,
    )
    out.mkdir()
    journal = Journal(out, Run(SEED, 2.0, "", {}), seed_is_chosen=True)
    try:
        ClassGrader(settings, journal).grade(handed_in(folder, lessons()), lambda handed: None)
    finally:
        journal.close()
    return Graded(out)


def like(name):
    """The submission with the same kernel and no attack; None: it does not even run."""
    if name.endswith("_in_a_launch"):
        return "zeros"
    if name in HANDED:
        kinds = {"notebook": "honest", "archive": "honest", "search": "no_luminance"}
        return kinds.get(name.partition("_")[0], "zeros")
    if name in TEXTS:
        return "honest" if SOLUTION in TEXTS[name] else None
    return None if FILES[name].like == "nothing" else FILES[name].like


def require_no_gain(graded, names):
    for name in sorted(names):
        control = like(name)
        allowed = graded.points[control] if control else 0
        print(f"{name:<36} {title(name):<86.86} {graded.points.get(name, 0):2} of {allowed:2}")
    gains = {
        name: graded.points[name]
        for name in names
        if graded.points.get(name, 0) > (graded.points[like(name)] if like(name) else 0)
    }
    assert gains == {}


def require_no_solution(out, names):
    """No line of ours stands in what is told of these, but for lines that they have written."""
    ours = {
        line.strip() for line in SOLUTION.decode().splitlines() if "=" in line or "return" in line
    }
    for name in names:
        own = HANDED[name][f"{LESSON.name}.py"].decode()
        for path in (out / "students" / name).rglob("*.*"):
            text = html.unescape(path.read_text("utf-8", "replace"))
            assert [line for line in ours if line in text and line not in own] == [], (name, path)


def title(name):
    return "" if name not in FILES else FILES[name].title


def require_unharmed(graded, names):
    assert graded.points["honest"] == LESSON.points
    for name in names:
        rows = graded.rows.get(name, [])
        assert len(rows) in (0, len(LESSON.checks)), name  # none: not read, and that is told
        assert not [row for row in rows if row["diagnosis"] == "grader"], rows


@pytest.mark.slow
def test_a_few_hostile_files(warm, tmp_path, capsys):
    graded = graded_with(warm.new_pool, submissions(tmp_path / "in", QUICK), tmp_path / "out")
    with capsys.disabled():
        print()
        require_no_gain(graded, QUICK)
    require_unharmed(graded, QUICK)


@pytest.mark.thorough
def test_all_hostile_files_through_the_command(tmp_path, capsys):
    names = [*FILES, *TEXTS, *HANDED]
    before, left = state_of_project(), left_behind()
    graded = graded_by_command(submissions(tmp_path / "in", names), tmp_path / "out", "--jobs", 2)
    with capsys.disabled():
        print("\nonly what kernels are made of")
        require_no_gain(graded, names)
    require_unharmed(graded, names)
    assert left_behind() <= left  # other processes may end meanwhile
    assert state_of_project() == before
    require_no_solution(tmp_path / "out", [f"search_that_{name}" for name in SEARCHES])
    page = (tmp_path / "out" / "students" / "message_for_the_terminal" / "index.html").read_text()
    assert "<script" not in page
    assert "\x1b" not in page


@pytest.mark.thorough
def test_searches_for_the_lines_of_hostile_files(tmp_path, capsys):
    names = ["honest", "zeros", *(name for name in FILES if name.startswith(("search_", "lines_")))]
    folder = submissions(tmp_path / "in", names)
    graded = graded_by_command(folder, tmp_path / "out", "--jobs", 2, "--explain")
    with capsys.disabled():
        print("\nwith --explain")
        require_no_gain(graded, names)
    require_unharmed(graded, names)
    told = {name: graded.rows[name][1]["message"] for name in names}
    text = (folder / "lines_that_are_none" / f"{LESSON.name}.py").read_text()
    line = 1 + text.count("\n", 0, text.index("gray[y, x] = 0 *"))
    assert f"  {line} | gray[y, x] = 0 * " in told["lines_that_are_none"]
    page = (tmp_path / "out" / "students" / "lines_that_are_none" / "index.html").read_text()
    assert "<script" not in page and "\x1b" not in page and "\u202e" not in page


@pytest.mark.thorough
@pytest.mark.skipif(version() < 6 or not is_known(), reason="needs the walls of a newer Linux")
def test_all_hostile_files_with_all_of_python(forks, tmp_path, capsys):
    names = [*FILES, *TEXTS, *HANDED]
    before, left = state_of_project(), left_behind()
    folder = submissions(tmp_path / "in", names)
    graded = graded_with(lambda: forks.new_pool(any_code=True), folder, tmp_path / "out")
    with capsys.disabled():
        print("\nall of Python")
        # Findings can be dropped from within: that is why not all of Python runs.
        require_no_gain(graded, [name for name in names if not name.startswith("findings_")])
    require_unharmed(graded, names)
    assert left_behind() <= left  # other processes may end meanwhile
    assert state_of_project() == before
