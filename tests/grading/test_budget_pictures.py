"""The picture of a budget that is exceeded: bars as long as the counts, and nothing cut off."""

import numpy as np
import pytest
from PIL import Image

from lessons.course.lesson import find_lesson
from lessons.course.mistakes import file_of, find_entry
from lessons.grading.explain.budget_picture import BARS, LENGTH, MARGIN, OURS, OVER, draw_budget
from lessons.grading.judge.explain_failure import NO_EFFORT
from lessons.grading.judge.run import checks_of, run_check
from lessons.grading.walls.submission import Submission
from tests.grading.grade import PATIENCE


def drawn(path, yours, ours, allowed, title="a title", what="reads per number", code=()):
    draw_budget(title, what, yours, ours, allowed, "Fetch it once. " * 20, code, path)
    return np.asarray(Image.open(path).convert("RGB"))


def width_of(picture, colour):
    """Of a bar, without the line of what is allowed that may stand in it."""
    columns = np.flatnonzero((picture == colour).all(axis=2).any(axis=0))
    return columns[-1] - columns[0] if len(columns) else 0


@pytest.mark.parametrize("yours, ours, allowed", [(64, 4, 8.8), (5, 1, 4.5), (12, 0, 0)])
def test_bars_are_as_long_as_the_counts(tmp_path, yours, ours, allowed):
    picture = drawn(tmp_path / "budget.png", yours, ours, allowed)
    assert abs(width_of(picture, OVER) - LENGTH) <= 2
    assert abs(width_of(picture, OURS) - LENGTH * ours / yours) <= 2


def test_what_is_long_stays_on_the_sheet(tmp_path):
    line = "  7 | total += " + "a[row, k] * " * 40
    words = {"title": "a lesson " * 40, "what": "reads of global memory " * 20, "code": [line]}
    picture = drawn(tmp_path / "budget.png", 1.5e9, 1e-3, 2e9, **words)
    edge = picture[:, -MARGIN + 4 :]
    assert (edge == 255).all() and picture.shape[1] > BARS + LENGTH


@pytest.mark.thorough
def test_a_check_whose_budget_is_exceeded_leaves_a_picture(warm, tmp_path):
    lesson = find_lesson(1)
    check = lesson.check("one_thread_per_pixel")
    text = file_of(lesson, find_entry(lesson, "one_thread_for_all"))
    submission = Submission(lesson.exercise, text.encode())
    pool = warm.new_pool()
    try:
        result = run_check(
            checks_of(lesson)[check.name], lesson, check, submission, pool, 5, PATIENCE,
            pictures=tmp_path, effort=NO_EFFORT,
        )  # fmt: skip
    finally:
        pool.stop()
    assert result.diagnosis == "threads without work"
    picture = np.asarray(Image.open(tmp_path / "01" / f"{check.name}.png").convert("RGB"))
    assert width_of(picture, OVER) > 4 * width_of(picture, OURS) > 0
