"""The checks of every lesson tell right from wrong: skeleton, reference, and each wrong kernel."""

import inspect

import pytest

from lessons.course.lesson import lessons
from lessons.grading.prove_checks import read_wrong_kernel, reference_row, skeleton_row, wrong_row
from lessons.grading.run import checks_of
from lessons.grading.worker_pool import WorkerPool

ALL = lessons()
EVERY_CHECK = [(lesson, check) for lesson in ALL for check in lesson.checks]


@pytest.fixture(scope="module")
def workers():
    found = WorkerPool(trusted=True)
    yield found
    found.stop()


WRONG_KERNELS_AT_ONCE = 1  # per lesson; the others are slow tests


def is_slow(lesson, check):
    """Whether a check compiles the reference for the CPU, in a lesson after the first."""
    return lesson.number > 1 and '"native"' in inspect.getsource(checks_of(lesson)[check.name])


def named(lesson, what):
    return f"{lesson.name}-{what}"


@pytest.mark.parametrize("lesson", ALL, ids=[lesson.name for lesson in ALL])
def test_every_check_has_a_test_and_every_test_a_check(lesson):
    assert set(checks_of(lesson)) == {check.name for check in lesson.checks}


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
            marks=[pytest.mark.slow] if is_slow(lesson, check) else [],
        )
        for lesson, check in EVERY_CHECK
    ],
)
def test_reference_passes(lesson, check, workers):
    row = reference_row(lesson, check, workers)
    assert row.ok, row.message


@pytest.mark.parametrize(
    "lesson, path",
    [
        pytest.param(
            lesson,
            path,
            id=named(lesson, path.stem),
            marks=[pytest.mark.slow] if number >= WRONG_KERNELS_AT_ONCE else [],
        )
        for lesson in ALL
        for number, path in enumerate(sorted((lesson.folder / "wrong").glob("*.py")))
    ],
)
def test_wrong_kernel_is_caught_by_its_check_with_its_diagnosis(lesson, path, workers):
    row = wrong_row(lesson, read_wrong_kernel(path), workers)
    assert row.ok, row.message
