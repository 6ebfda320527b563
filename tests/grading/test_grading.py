"""Verdicts, the report, and runs that repeat."""

import json
import os
import queue
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

from lessons.conftest import refuse_side_by_side
from lessons.course.exercises import exercise_text, solution_text
from lessons.course.lesson import ROOT, find_lesson
from lessons.course.source_text import MAX_SOURCE
from lessons.grading.judge.worker_process import WorkerProcess, WorkerStopped
from lessons.grading.walls.planted import planted_beside
from lessons.grading.walls.submission import Submission, unusual_code
from lessons.grading.worker.output import Output
from tests.grading.grade import grade

LESSON = find_lesson(1)
TEXT = solution_text(LESSON)
EVERY_PIXEL = LESSON.check("every_pixel")


def solution_with(old, new):
    """The reference with a change in it."""
    text = solution_text(LESSON)
    assert old in text
    return text.replace(old, new)


@pytest.fixture(scope="module")
def workers(warm):
    """A pool that keeps its process: the files of these tests are no attacks."""
    found = warm.new_pool(trusted=True)
    yield found
    found.stop()


# ---------------------------------------------------------------- verdicts


def test_reference_gets_all_points_and_skeleton_none(workers):
    results = grade(solution_text(LESSON), workers=workers).values()
    assert all(result.status == "passed" for result in results)
    assert sum(result.score for result in results) == LESSON.points
    results = grade(exercise_text(LESSON), workers=workers).values()
    assert all(result.message.startswith("not written yet") for result in results)
    assert sum(result.score for result in results) == 0


@pytest.mark.parametrize("module", ["kernels.field_math", "kernels.image_ops"])
def test_the_solution_cannot_be_imported(module, workers):
    """Nor from a file of kernels/ that imports it from another one."""
    text = solution_text(LESSON)
    own = text[text.index("@register_jitable\ndef luminance") : text.index("@cuda.jit")]
    text = text.replace(own, f"from {module} import luminance\n\n\n")
    for result in grade(text, workers=workers).values():
        assert (
            result.status != "passed" and "luminance of kernels/ is the solution" in result.message
        )
    (result,) = grade(solution_text(LESSON), [EVERY_PIXEL], workers=workers).values()
    assert result.status == "passed", result.message


def test_a_syntax_error_is_told_with_its_line(workers):
    text = solution_text(LESSON) + "\n\ndef broken(:\n    pass\n"
    result = grade(text, [EVERY_PIXEL], workers=workers)["every_pixel"]
    assert result.status == "error"
    assert re.search(r"exercise\.py, line \d+: SyntaxError", result.message)


def test_a_kernel_may_say_its_types_without_a_gpu(workers):
    text = TEXT.replace("@cuda.jit\n", "@cuda.jit('void(float32[:, :, :], float32[:, :])')\n")
    assert text != TEXT
    assert grade(text, [EVERY_PIXEL], workers=workers)["every_pixel"].status == "passed"


def test_a_missing_file_is_told(workers):
    result = grade(None, [EVERY_PIXEL], workers=workers)["every_pixel"]
    assert (result.status, result.score) == ("failed", 0)
    assert "there is no file exercise.py" in result.message


@pytest.mark.slow
def test_prints_of_a_failing_file_are_shown(warm):
    text = solution_with("float32(0.7152)", "float32(0.75)")
    text += "\n\nprint('hello from the file')\n"
    pool = warm.new_pool()
    message = grade(text, [EVERY_PIXEL], workers=pool)["every_pixel"].message
    pool.stop()
    assert "printed: hello from the file" in message
    assert len(message.splitlines()) <= 12


@pytest.mark.slow
def test_same_seed_gives_the_same_inputs_and_another_seed_others(workers):
    text = solution_with("float32(0.7152)", "float32(0.75)")
    results = [grade(text, [EVERY_PIXEL], seed, workers) for seed in (1, 1, 2)]
    seen = [result["every_pixel"].message for result in results]
    assert seen[0] == seen[1] != seen[2]


def test_output_notices_a_write_beside_it():
    output = Output((3, 4), np.float32, None)
    assert output.guards_intact
    output.buffer[0] = 0
    assert not output.guards_intact


def test_unusual_code_is_what_no_exercise_needs():
    assert unusual_code(solution_text(LESSON)) == []
    assert unusual_code("import ctypes\nx = eval('1')\ny = x.__class__\n") == [
        "line 1: imports ctypes, which no exercise needs",
        "line 2: uses eval, which no exercise needs",
        "line 3: uses __class__, which no exercise needs",
    ]
    assert unusual_code("def broken(") == []


def test_worker_process_refuses_to_believe_nonsense(warm):
    worker = WorkerProcess(warm.process)
    try:
        with pytest.raises(WorkerStopped):
            worker.require_alike([np.zeros(3)], [np.zeros(4)])
        assert not worker.alive
        for forged in (
            {"error": 7},
            {"error": {}},
            {"error": {"type": "", "message": "", "line": "x"}},
        ):
            assert isinstance(worker.error_in(forged), WorkerStopped)
    finally:
        worker.stop()


# ---------------------------------------------------------------- pytest lessons


class SlowToTake(queue.Queue):
    """A queue whose waiting reader is late: what it was told of, another has taken."""

    def get(self, block=True, timeout=None):
        while block and self.empty():
            time.sleep(0.01)
        if block:
            time.sleep(0.5)
        return super().get(block, timeout)


def test_who_waits_for_a_worker_that_is_ended_is_told_so(warm):
    worker = WorkerProcess(warm.process)
    worker.replies = SlowToTake(1)
    deadline = time.monotonic() + 60
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(worker.load, b"while True:\n    pass\n", {}, deadline)
        time.sleep(0.2)
        worker.stop()
        with pytest.raises(WorkerStopped):
            waiting.result(timeout=10)


def pytest_lessons(*arguments):
    command = [sys.executable, "-m", "pytest", "-q", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


@pytest.mark.slow
def test_report_has_every_check_even_those_left_out(tmp_path):
    submission = tmp_path / "01_grayscale.py"
    submission.write_text(solution_text(LESSON))
    report = tmp_path / "grade.json"
    run = pytest_lessons(
        "lessons/01_grayscale", "--submission", tmp_path, "--report", report, "--seed", 7,
        "--patience", 10, "-k", "luminance or every_pixel",
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
    assert "5 of  10 points" in run.stdout
    assert set(rows["luminance"]) == {
        "lesson", "check", "score", "max_score", "status", "message", "diagnosis", "backend",
        "device", "seconds",
    }  # fmt: skip


STRANGER = """
from pathlib import Path

Path(__file__).with_name("it_ran").touch()


def pytest_pyfunc_call(pyfuncitem):
    return True
"""


@pytest.mark.parametrize("is_first", [False, True])
def test_a_submission_with_a_conftest_is_refused(tmp_path, is_first):
    (tmp_path / "conftest.py").write_text(STRANGER)
    (tmp_path / "01_grayscale.py").write_text(exercise_text(LESSON))
    words = ["--submission", tmp_path]
    lesson = ["lessons/01_grayscale"]
    run = pytest_lessons(*words, *lesson) if is_first else pytest_lessons(*lesson, *words)
    assert run.returncode != 0
    assert "conftest.py is a file that pytest would use" in run.stderr
    assert "passed" not in run.stdout
    assert not (tmp_path / "it_ran").exists()


@pytest.mark.parametrize("name", ["conftest.py", "pytest.ini", "pytest.toml", "pyproject.toml"])
def test_what_pytest_would_use_is_found_beside_a_file_and_above_it(tmp_path, name):
    (tmp_path / "alice").mkdir()
    file = tmp_path / "alice" / "01_grayscale.py"
    file.touch()
    assert list(planted_beside(["lessons", "--exercise", str(file), "-q"])) == []
    (tmp_path / name).touch()
    assert list(planted_beside(["--exercise", str(file), "lessons"])) == [tmp_path / name]
    assert list(planted_beside([f"--exercise={file}", "lessons", "tests"])) == []
    # Words that no file can have as a name: a long -k, and one of another platform.
    assert list(planted_beside(["-k", "word or " * 60, "a\0b"])) == []


@pytest.mark.skipif(os.name != "posix", reason="makes links and a pipe")
def test_links_pipes_and_what_is_huge_are_not_read(tmp_path):
    (tmp_path / "solution.py").write_text(TEXT)
    (tmp_path / "link.py").symlink_to(tmp_path / "solution.py")
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "huge.py").write_bytes(b"#" * (MAX_SOURCE + 1))
    texts = {
        name: Submission.read(tmp_path / f"{name}.py").text
        for name in ("solution", "link", "pipe", "huge", "missing")
    }
    assert texts == {**dict.fromkeys(texts), "solution": TEXT.encode()}


def test_pytest_xdist_is_refused():
    for config in (
        SimpleNamespace(option=SimpleNamespace(numprocesses=2)),
        SimpleNamespace(option=SimpleNamespace(), workerinput={}),
    ):
        with pytest.raises(pytest.UsageError, match="leave out -n"):
            refuse_side_by_side(config)
    refuse_side_by_side(SimpleNamespace(option=SimpleNamespace(numprocesses=0)))


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["lessons/01_grayscale", "--seed", "-1"], "--seed must not be negative"),
        *[
            pytest.param(["lessons/01_grayscale", *options], words, marks=pytest.mark.slow)
            for options, words in [
                (["--submission", "/no/such/folder"], "there is no"),
                (["--patience", "0"], "--patience must be above 0"),
                (["--report", "/no/such/folder/grade.json"], "--report"),
            ]
        ],
    ],
)
def test_bad_options_get_one_clear_line(arguments, words):
    run = pytest_lessons(*arguments)
    assert run.returncode != 0
    assert words in run.stdout + run.stderr
    assert "Traceback" not in run.stdout + run.stderr
