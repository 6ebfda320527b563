"""Grades that can be trusted: hostile submissions, the report, and runs that repeat."""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from lessons.course.exercises import exercise_text, solution_text, wrong_text
from lessons.course.lesson import ROOT, find_lesson
from lessons.grading.run import Output, Submission, Workers, checks_of, run_check
from lessons.grading.suspicious import remarks
from lessons.grading.worker_process import Worker, WorkerStopped

HOSTILE = sorted((Path(__file__).parent / "hostile").glob("*.py"))
LESSON = find_lesson(1)
TIMEOUT = 3.0  # seconds, for the checks that an attack spoils
GRACE = 15.0  # seconds: starting workers and a busy machine


def grade(text, name="exercise.py", attacked=()):
    """{check: Result} of lesson 1 for a text; the attacked checks get little time."""
    workers = Workers()
    functions = checks_of(LESSON)
    results = {}
    try:
        for check in LESSON.checks:
            if check.name in attacked:
                check = check._replace(timeout=TIMEOUT)
            submission = Submission(Path(name), text.encode("utf-8"))
            results[check.name] = run_check(
                functions[check.name], LESSON, check, submission, workers, seed=5, draw=False
            )
    finally:
        workers.stop()
    return results


# ---------------------------------------------------------------- attacks


@pytest.mark.parametrize("path", HOSTILE, ids=lambda path: path.stem)
def test_attack_costs_its_own_checks_and_gains_nothing(path, request, capsys):
    text = path.read_text(encoding="utf-8")
    if "# needs a GPU" in text and not request.config.getoption("--require-gpu"):
        pytest.skip("needs a GPU: pytest --require-gpu")
    costs = re.search(r"^# costs: (.+)$", text, re.MULTILINE)[1].split()
    status = re.search(r"^# status: (.+)$", text, re.MULTILINE)[1]

    results = grade(wrong_text(LESSON, path), attacked=costs)

    with capsys.disabled():
        for result in results.values():
            if result.check in costs or costs == ["nothing"]:
                print(f"\n{path.stem:<26} {result.check:<12} {result.status:<8} "
                      f"{result.score} points  {result.seconds:5.1f} s", end="")  # fmt: skip
    for check in LESSON.checks:
        result = results[check.name]
        if check.name in costs:
            assert result.status == status, result.message
            assert result.score == 0
        else:
            assert result.status == "passed", result.message
            assert result.score == check.points
        assert result.seconds < TIMEOUT + GRACE
        assert result.max_score == check.points


def test_no_child_is_left_running():
    """Uses what the attack of that name, run above or now, has started."""
    note = Path(tempfile.gettempdir(), "child_left_running.txt")
    note.unlink(missing_ok=True)
    path = Path(__file__).parent / "hostile" / "child_left_running.py"
    grade(wrong_text(LESSON, path))
    child = int(note.read_text())
    deadline = time.monotonic() + 10
    while is_running(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_running(child)


def is_running(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    try:  # whoever adopted it may not have asked for its exit status yet
        return Path(f"/proc/{process}/stat").read_text().split(") ")[1][0] != "Z"
    except OSError:
        return False


def test_remarks_name_what_no_exercise_needs():
    assert remarks(solution_text(LESSON)) == []
    assert remarks("import ctypes\nx = eval('1')\ny = x.__class__\n") == [
        "line 1: imports ctypes, which no exercise needs",
        "line 2: uses eval, which no exercise needs",
        "line 3: uses __class__, which no exercise needs",
    ]
    assert remarks("def broken(") == []


# ---------------------------------------------------------------- verdicts


def test_reference_gets_all_points_and_skeleton_none():
    assert all(result.status == "passed" for result in grade(solution_text(LESSON)).values())
    results = grade(exercise_text(LESSON))
    assert all(result.message.startswith("not written yet") for result in results.values())
    assert sum(result.score for result in results.values()) == 0


def test_a_syntax_error_is_told_with_its_line():
    results = grade(solution_text(LESSON) + "\n\ndef broken(:\n    pass\n")
    result = results["every_pixel"]
    assert result.status == "error"
    assert re.search(r"exercise\.py, line \d+: SyntaxError", result.message)


def test_a_missing_file_is_told():
    workers = Workers()
    check = LESSON.checks[0]
    result = run_check(
        checks_of(LESSON)[check.name], LESSON, check, Submission(Path("gone.py"), None), workers, 1
    )
    workers.stop()
    assert (result.status, result.score) == ("failed", 0)
    assert "gone.py" in result.message


def test_prints_of_a_failing_file_are_shown():
    text = solution_text(LESSON).replace("float32(0.7152)", "float32(0.75)")
    results = grade(text + "\n\nprint('hello from the file')\n")
    message = results["every_pixel"].message
    assert "printed: hello from the file" in message
    assert len(message.splitlines()) <= 12


def test_same_seed_gives_the_same_inputs_and_another_seed_others():
    seen = []
    workers = Workers()
    check = LESSON.check("every_pixel")
    text = solution_text(LESSON).replace("float32(0.7152)", "float32(0.75)").encode()
    for seed in (1, 1, 2):
        result = run_check(
            checks_of(LESSON)["every_pixel"], LESSON, check,
            Submission(Path("x.py"), text), workers, seed, draw=False,
        )  # fmt: skip
        seen.append(result.message)
    workers.stop()
    assert seen[0] == seen[1] != seen[2]


def test_output_notices_a_write_beside_it():
    output = Output((3, 4), np.float32, None)
    assert output.guards_intact
    output.buffer[0] = 0
    assert not output.guards_intact


def test_worker_refuses_to_believe_arrays_of_another_shape():
    worker = Worker()
    try:
        with pytest.raises(WorkerStopped):
            worker.require_alike([np.zeros(3)], [np.zeros(4)])
        assert not worker.alive
    finally:
        worker.stop()


# ---------------------------------------------------------------- pytest lessons


def pytest_lessons(*arguments):
    command = [sys.executable, "-m", "pytest", "-q", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_report_has_every_check_even_those_left_out(tmp_path):
    submission = tmp_path / "01_grayscale.py"
    submission.write_text(solution_text(LESSON))
    report = tmp_path / "grade.json"
    run = pytest_lessons(
        "lessons/01_grayscale", "--submission", tmp_path, "--report", report, "--seed", 7,
        "-k", "luminance or every_pixel",
    )  # fmt: skip
    content = json.loads(report.read_text())
    rows = {row["check"]: row for row in content["checks"]}
    assert set(content) == {"checks", "seed", "files", "remarks", "version"}
    assert content["seed"] == 7
    assert next(iter(content["files"])) == str(submission)
    assert sum(row["max_score"] for row in rows.values()) == 10
    assert rows["luminance"]["status"] == rows["every_pixel"]["status"] == "passed"
    assert rows["every_pixel"]["backend"].startswith("checked")
    assert rows["many_blocks"]["status"] == "error"
    assert "6 of  10 points" in run.stdout
    assert set(rows["luminance"]) == {
        "lesson", "check", "score", "max_score", "status", "message", "diagnosis", "backend",
        "device", "seconds",
    }  # fmt: skip


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["lessons/01_grayscale", "--seed", "-1"], "--seed must not be negative"),
        (["lessons/01_grayscale", "--submission", "/no/such/folder"], "there is no"),
        (["lessons/01_grayscale", "--patience", "0"], "--patience must be above 0"),
        (["lessons/01_grayscale", "--report", "/no/such/folder/grade.json"], "--report"),
    ],
)
def test_bad_options_get_one_clear_line(arguments, words):
    run = pytest_lessons(*arguments)
    assert run.returncode != 0
    assert words in run.stdout + run.stderr
    assert "Traceback" not in run.stdout + run.stderr
