"""The checks of every lesson tell right from wrong: skeleton, reference, and each wrong kernel."""

import pytest

from lessons.course.lesson import lessons
from lessons.course.mistakes import entries_of_kind
from lessons.grading.judge.run import checks_of
from lessons.grading.judge.worker_pool import WorkerPool
from lessons.grading.prove_checks import points_row, reference_row, skeleton_row, wrong_row

ALL = lessons()
EVERY_CHECK = [(lesson, check) for lesson in ALL for check in lesson.checks]


@pytest.fixture(scope="module")
def workers():
    found = WorkerPool(trusted=True)
    yield found
    found.stop()


# Hundreds of files, each graded: the first wrong one of this lesson is a quick test, that of each
# second of the others a slow one, and the rest belongs to the thorough tests.
QUICK = {"1"}


def is_slow(lesson, check):
    """Whether the reference's test is a slow one: of some lessons, the first check is quick."""
    return check is not lesson.checks[0] or lesson.number not in QUICK | {"16"}


def mark_of_mistake(lesson, number):
    if number:
        return pytest.mark.thorough
    return [] if lesson.number in QUICK else pytest.mark.each(2)


def named(lesson, what):
    return f"{lesson.name}-{what}"


@pytest.mark.parametrize("lesson", ALL, ids=[lesson.name for lesson in ALL])
def test_every_check_has_a_test_and_every_test_a_check(lesson):
    # In the same order, too: "as in NAME, above" is said of what has run before.
    assert [*checks_of(lesson)] == [check.name for check in lesson.checks]


@pytest.mark.parametrize("lesson", ALL, ids=[lesson.name for lesson in ALL])
def test_skeleton_is_not_written(lesson, workers):
    for check in lesson.checks:
        row = skeleton_row(lesson, check, workers)
        assert row.ok, row.message


@pytest.mark.parametrize(
    "lesson, check",
    [
        pytest.param(
            lesson,
            check,
            id=named(lesson, check.name),
            marks=[pytest.mark.each(9)] if is_slow(lesson, check) else [],
        )
        for lesson, check in EVERY_CHECK
    ],
)
def test_reference_passes(lesson, check, workers):
    row = reference_row(lesson, check, workers)
    assert row.ok, row.message


@pytest.mark.parametrize(
    "lesson, entry",
    [
        pytest.param(
            lesson,
            entry,
            id=named(lesson, entry.name),
            marks=mark_of_mistake(lesson, number),
        )
        for lesson in ALL
        for number, entry in enumerate(entries_of_kind(lesson, "wrong"))
    ],
)
def test_a_mistake_is_caught_by_its_check(lesson, entry, workers):
    row = wrong_row(lesson, entry, workers)
    assert row.ok and (row.told or not entry.words), row.message


@pytest.mark.parametrize(
    "lesson, entry",
    [
        pytest.param(
            lesson,
            entry,
            id=named(lesson, f"{entry.kind}-{entry.name}"),
            # Those of part two take half a minute each: there the reference stands for them.
            marks=pytest.mark.thorough if number or lesson.part == 2 else pytest.mark.each(2),
        )
        for lesson in ALL
        for number, entry in enumerate(entries_of_kind(lesson, "right", "naive"))
    ],
)
def test_right_ways_get_all_points_and_naive_ones_what_they_say(lesson, entry, workers):
    row = points_row(lesson, entry, workers)
    assert row.ok, f"{row.caught_by}: {row.diagnosis}\n{row.message}"
