"""A function of x that is wrong is drawn as two curves over x; what is wrong is red."""

import numpy as np
import pytest
from PIL import Image

from lessons.course.lesson import find_lesson
from lessons.course.mistakes import file_of, find_entry
from lessons.grading.explain.curves import EXPECTED, GOT, WRONG, draw_curves
from lessons.grading.judge.explain_failure import NO_EFFORT
from lessons.grading.judge.run import checks_of, run_check
from lessons.grading.walls.submission import Submission
from tests.grading.grade import PATIENCE

X = np.linspace(-3, 3, 25)


def places(path, colour):
    """(rows, columns) of a colour below the words."""
    picture = np.asarray(Image.open(path).convert("RGB"))[80:]
    return np.nonzero((picture == colour).all(axis=2))


def drawn(path, got, x=X):
    expected = np.tanh(x)
    wrong = ~(np.abs(got - expected) <= 1e-6)
    draw_curves(x, expected, got, wrong, path, "a lesson, a check: tanh")
    return path


def test_only_what_is_wrong_is_red_and_it_is_where_it_is_wrong(tmp_path):
    got = np.tanh(X)
    got[20:] = 0
    rows, columns = places(drawn(tmp_path / "a.png", got), WRONG)
    width = Image.open(tmp_path / "a.png").width
    assert len(rows) and columns.min() > width / 2
    for colour in (EXPECTED, GOT):
        assert len(places(tmp_path / "a.png", colour)[0]) > 50
    assert not len(places(drawn(tmp_path / "b.png", np.tanh(X)), WRONG)[0])


@pytest.mark.parametrize("got", [np.nan, np.inf, -1e30])
def test_what_is_far_out_or_not_finite_stays_on_the_sheet(tmp_path, got):
    rows, _ = places(drawn(tmp_path / "far.png", np.full(25, got), np.append(X[:-1], 1e6)), WRONG)
    assert len(rows)


def test_numbers_in_any_order_and_a_single_one_are_drawn(tmp_path):
    order = np.random.default_rng(3).permutation(25)
    one, other = (drawn(tmp_path / name, np.sin(x), x) for name, x in (("a", X), ("b", X[order])))
    assert one.read_bytes() == other.read_bytes()
    drawn(tmp_path / "c", np.ones(1), np.zeros(1))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "name", "colour"),
    [(15, "cube_for_the_square", EXPECTED), (10, "copy_without_a_stream", (240, 205, 205))],
)
def test_a_failed_check_leaves_such_a_picture(warm, tmp_path, number, name, colour):
    """Of a function, curves; of host code, the time that the host waits, in both timelines."""
    lesson = find_lesson(number)
    entry = find_entry(lesson, name)
    submission = Submission(lesson.exercise, file_of(lesson, entry).encode())
    pool = warm.new_pool(trusted=True)
    try:
        result = run_check(
            checks_of(lesson)[entry.check], lesson, lesson.check(entry.check), submission, pool, 5,
            PATIENCE, pictures=tmp_path, effort=NO_EFFORT,
        )  # fmt: skip
    finally:
        pool.stop()
    assert "picture: " in result.message
    assert len(places(tmp_path / str(number) / f"{entry.check}.png", colour)[0]) > 50
