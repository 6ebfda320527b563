"""Workers that are forked from a warm one: the same verdicts, as separate, and none is left."""

import os
import sys
import time
from pathlib import Path

import pytest

from lessons.course.lesson import find_lesson
from lessons.grading.judge.run import run_solutions
from lessons.grading.judge.warm_workers import WarmWorkers
from lessons.grading.judge.worker_process import WorkerProcess
from lessons.grading.walls.submission import Submission
from lessons.grading.walls.system_calls import is_known
from tests.grading.grade import grade
from tests.grading.made_class import SOLUTION

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks, on Linux")

LESSON = find_lesson(1)
FLEES = """
import os
import time

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        with open({note!r}, "w") as file:
            file.write(str(os.getpid()))
        time.sleep(600)
    os._exit(0)
os.wait()
while not os.path.exists({note!r}):
    time.sleep(0.01)
"""


def verdicts(results):
    return [(result.score, result.diagnosis, result.message) for result in results.values()]


@pytest.mark.thorough
def test_verdicts_are_those_of_fresh_workers():
    warm = WarmWorkers()
    # The warm process itself has run native kernels, then.
    assert warm.warm_up(lambda pool: run_solutions([LESSON], 1, pool))
    wrong = SOLUTION[1].replace("0.7152", "0.75")
    for text in (SOLUTION[1], wrong, "1 +"):
        pool = warm.new_pool()
        results = grade(text, workers=pool)
        pool.stop()
        assert verdicts(results) == verdicts(grade(text))
    warm.stop()
    assert "SyntaxError" in results["luminance"].message


def test_a_check_that_goes_on_after_its_worker_has_ended_gets_another(forks):
    pool = forks.new_pool()
    submission = Submission(LESSON.exercise, SOLUTION[1].encode())
    first = pool.with_file(submission, {}, time.monotonic() + 60)
    pool.after_error()
    assert not first.alive
    second = pool.with_file(submission, {}, time.monotonic() + 60)
    assert second.alive and second is not first
    pool.stop()


def test_a_worker_sees_nothing_of_another(forks):
    pool = forks.new_pool(any_code=True)
    leaves = SOLUTION[1] + "\nimport numpy\nnumpy.left_behind = 1\n"
    grade(leaves, LESSON.checks[:1], workers=pool)
    looks = SOLUTION[1] + "\nimport numpy\nassert not hasattr(numpy, 'left_behind')\n"
    result = grade(looks, LESSON.checks[:1], workers=pool)["luminance"]
    pool.stop()
    assert result.status == "passed", result.message


@pytest.mark.parametrize("status, words", [(0, "exit status 0"), (-9, "SIGKILL")])
def test_how_a_worker_ended_is_told(forks, status, words):
    pool = forks.new_pool(any_code=True)
    does = "os._exit(0)" if status == 0 else "os.kill(os.getpid(), 9)"
    text = f"{SOLUTION[1]}\nimport os\n{does}\n"
    result = grade(text, LESSON.checks[:1], workers=pool)["luminance"]
    pool.stop()
    assert result.diagnosis == "crash"
    assert words in result.message


@pytest.mark.skipif(is_known(), reason="no process can be started here")
def test_a_process_that_flees_is_ended(forks):
    pool = forks.new_pool(any_code=True)
    result = grade(SOLUTION[1] + FLEES.format(note="note"), LESSON.checks[:1], workers=pool)
    assert result["luminance"].status == "passed", result["luminance"].message
    fled = int((pool.worker.folder / "note").read_text())
    assert Path(f"/proc/{fled}").exists()
    pool.stop()
    deadline = time.monotonic() + 20
    while Path(f"/proc/{fled}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not Path(f"/proc/{fled}").exists()


@pytest.mark.slow
def test_without_the_warm_process_workers_are_fresh():
    workers = WarmWorkers()
    assert workers.warm_up()
    os.kill(workers.server.process.pid, 9)
    workers.server.process.wait()
    worker = WorkerProcess(workers.process)
    assert worker.alive
    worker.stop()
    workers.stop()
