"""One mistake costs once: other checks run with ours in the place of the function that is wrong."""

from pathlib import Path

import pytest

from lessons.course.exercises import solution_text
from lessons.course.lesson import find_lesson
from lessons.grading.judge.explain_failure import NO_EFFORT
from lessons.grading.judge.in_place import main_functions, only_doubles, replaceable
from lessons.grading.judge.run import checks_of, run_check
from lessons.grading.judge.worker_pool import WorkerPool
from lessons.grading.walls.submission import Submission

LESSON = find_lesson(1)
RIGHT = solution_text(LESSON)
GREEN = "float32(0.7152) * green"
STORE = "gray[y, x] = luminance("
# what is changed, and the points of luminance, every_pixel and float32
CHANGED = {
    "the helper": ([(GREEN, "float32(0.5) * green")], [0, 3, 1]),
    "the main function": ([(STORE, "gray[y, x] = float32(0.5) * luminance(")], [2, 0, 1]),
    "both": ([(GREEN, "green"), (STORE, "gray[y, x] = float32(2) * luminance(")], [0, 0, 0]),
    "the helper, in doubles": ([(GREEN, "0.5 * green")], [0, 3, 0]),
}


def graded(text, names, pool):
    functions, results = checks_of(LESSON), []
    submission = Submission(Path("exercise.py"), text.encode())
    for name in names:
        results.append(
            run_check(
                functions[name],
                LESSON,
                LESSON.check(name),
                submission,
                pool,
                5,
                10.0,
                draw=False,
                before=results,
                effort=NO_EFFORT,
            )
        )
    return results


@pytest.fixture(scope="module")
def pool():
    pool = WorkerPool(trusted=True)
    yield pool
    pool.stop()


@pytest.mark.each(3)
@pytest.mark.parametrize("what", CHANGED)
def test_a_mistake_costs_the_checks_of_its_function(what, pool):
    changes, points = CHANGED[what]
    text = RIGHT
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    results = graded(text, ("luminance", "every_pixel", "float32"), pool)
    assert [result.score for result in results] == points, results
    if what == "the helper":
        assert "passed with ours in place of `luminance`" in results[1].message


def test_ours_never_stand_for_all_that_a_check_is_about():
    every_pixel = LESSON.check("every_pixel")
    wrong = {"luminance": ("luminance",)}
    assert replaceable(LESSON, every_pixel, wrong) == ("luminance",)
    both = {**wrong, "every_pixel": ("grayscale",)}
    assert replaceable(LESSON, every_pixel, both) == ()
    assert main_functions(LESSON, ["luminance", "grayscale"]) == {"grayscale"}
    assert not replaceable(LESSON, LESSON.check("luminance"), wrong)


def test_a_check_is_about_doubles_alone_if_others_look_at_the_values():
    assert only_doubles(LESSON, LESSON.check("float32"))
    sixth = find_lesson(6)
    assert [one.name for one in sixth.checks if only_doubles(sixth, one)] == ["float32"]
