"""Large inputs: which engine runs them, and that it is the same on every machine."""

import sys

import numpy as np
import pytest

from lessons.course.exercises import solution_text
from lessons.course.lesson import find_lesson
from lessons.course.mistakes import entries_of_kind, file_of
from lessons.grading.judge.run import run_solutions
from lessons.grading.judge.warm_workers import WarmWorkers
from lessons.grading.worker.worker import MOST_WORK, gave_up, most_rounds
from lessons.lab import compile_verdict
from lessons.lab.simulator.run import checked_run
from tests.grading.grade import grade

LESSON = find_lesson(1)
SOLUTION = solution_text(LESSON)
WHOLE_PHOTO = [LESSON.check("whole_photo")]
STORE = "    gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])\n"
LARGE_ONLY = "    if height > 500:\n        {}\n"


def whole_photo(added="", after=""):
    """The result of that check if lines stand before and after the one that stores a pixel."""
    assert STORE in SOLUTION
    text = SOLUTION.replace(STORE, added + STORE + after)
    (result,) = grade(text, WHOLE_PHOTO).values()
    return result


@pytest.mark.slow
def test_many_threads_that_do_little_run_on_the_checked_simulator():
    result = whole_photo()
    assert (result.status, result.backend) == ("passed", "checked")


@pytest.mark.slow
def test_threads_that_go_round_for_long_run_on_the_native_engine():
    rounds = "    for i in range(1000):\n        height\n"
    result = whole_photo(rounds)
    assert (result.status, result.backend) == ("passed", "checked+native")


@pytest.mark.slow
def test_what_the_simulator_has_written_is_gone_before_the_native_engine_begins():
    lesson = find_lesson("5b")
    add = "    cuda.atomic.add(counts, bin_of(brightness[pixel], counts.shape[0]), 1)\n"
    rounds = "    for i in range(1000):\n        counts.shape[0]\n"
    text = solution_text(lesson)
    assert add in text
    (result,) = grade(
        text.replace(add, add + rounds), [lesson.check("large")], lesson=lesson
    ).values()
    assert (result.status, result.backend) == ("passed", "checked+native"), result.message


@pytest.mark.slow
def test_a_race_that_only_a_large_input_has_is_found():
    result = whole_photo(after=LARGE_ONLY.format("gray[0, 0] = gray[1, 1]"))
    assert (result.diagnosis, result.backend) == ("race", "checked")


def add_one(array):
    for i in range(array.shape[0]):
        array[i] += 1


def forever(array):
    while array.shape[0] > 0:
        pass


def test_only_a_used_up_budget_is_no_mistake_of_the_kernel():
    array = np.zeros(100, np.float32)
    assert gave_up(checked_run(add_one, 1, 1, array, budget=10))
    assert not gave_up(checked_run(add_one, 1, 1, array, budget=1000))
    assert not gave_up(checked_run(forever, 1, 1, array, budget=10_000))


def test_more_threads_get_fewer_rounds():
    assert most_rounds(1, 32) > most_rounds(100, 32) > most_rounds((100, 100), (16, 16))
    assert most_rounds(10**6, 1024) < 1
    assert most_rounds((10, 10), (16, 16)) * 100 * 256 < MOST_WORK


def test_numba_is_asked_once_for_one_row_and_for_many(monkeypatch):
    asked = []
    new_verdict = compile_verdict.new_verdict
    monkeypatch.setattr(
        compile_verdict, "new_verdict", lambda *given: asked.append(given) or new_verdict(*given)
    )

    def fill(rows):
        rows[0, 0] = 1

    for rows in (np.zeros((1, 8), np.float32), np.zeros((5, 8), np.float32)):
        assert checked_run(fill, 1, 1, rows).ok
    assert len(asked) == 1
    checked_run(fill, 1, 1, np.zeros((5, 8), np.float32).T)  # another order in memory: other code
    assert len(asked) == 2


@pytest.mark.thorough
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks, on Linux")
def test_lesson_9_gets_the_same_results_from_warm_workers():
    lesson = find_lesson(9)
    wrong = entries_of_kind(lesson, "wrong")[::20]
    texts = [solution_text(lesson), *(file_of(lesson, entry) for entry in wrong)]
    checks = [check for check in lesson.checks if check.name != "learns"]
    warm = WarmWorkers()
    assert warm.warm_up(lambda pool: run_solutions([lesson], 1, pool))
    for text in texts:
        pool = warm.new_pool()
        assert pool.warm
        quickly = grade(text, checks, workers=pool, lesson=lesson)
        pool.stop()
        fresh = grade(text, checks, lesson=lesson)
        for name, result in quickly.items():
            assert (result.score, result.diagnosis) == (fresh[name].score, fresh[name].diagnosis)
            assert result.message == fresh[name].message
            assert ("native" in result.backend) or result.diagnosis == "waits", name
    warm.stop()
