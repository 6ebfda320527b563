"""Honest ways to write what surrounds the work, from `honest.txt`: none of them costs a point."""

import re
from pathlib import Path

import pytest

from lessons.course.exercises import solution_text
from lessons.course.lesson import find_lesson
from tests.grading.grade import grade

HEAD = re.compile(r"^=== (\w+)( \| kernels)?\n", re.MULTILINE)
_, *PARTS = HEAD.split((Path(__file__).parent / "honest.txt").read_text("utf-8"))
STYLES = dict(zip(PARTS[::3], zip(PARTS[1::3], PARTS[2::3], strict=True), strict=True))
SURROUND = [name for name, (kernels, _) in STYLES.items() if not kernels]
# A lesson, a function of it, and a check that calls it: around kernels, around device functions,
# code of the host, and plain functions.
CALLED = [
    ("1", "launch_over_pixels", "every_pixel"),
    ("5", "launch_matmul_tiled", "one_tile"),
    ("8", "launch_adam_weights", "weights"),
    ("2", "launch_over_pixels", "upsample"),
    ("10", "gray_in_a_queue", "queue"),
    ("10", "shrink_on_gpu", "there_and_back"),
    ("10", "blocks_to_cover", "blocks"),
    ("15", "needs_gradient", "needs_gradient"),
]
# (kind, line of lesson 1's solution, what is put above, what stands in its place)
LINES = []
for part in (Path(__file__).parent / "honest_lines.txt").read_text("utf-8").split("\n=== ")[1:]:
    (kind, _, line), _, ways = part.split("\n")[0].partition(" | "), "", part.split("\n", 1)[1]
    for way in ways.strip("\n").split("\n\n"):
        above = [one[2:] for one in way.splitlines() if one.startswith("^ ")]
        LINES.append((kind, line, "\n".join(above), way.splitlines()[len(above) :]))
QUICK = ("enum",)


@pytest.fixture(scope="module")
def workers(warm):
    pool = warm.new_pool()
    yield pool
    pool.stop()


def points_lost(lesson, text, workers, only=None):
    """check -> message, of the checks that do not pass."""
    found = find_lesson(lesson)
    checks = [check for check in found.checks if only in (None, check.name)]
    results = grade(solution_text(found) + text, checks, lesson=found, workers=workers)
    return {name: one.message for name, one in results.items() if one.status != "passed"}


def around(style, function):
    return f"\n\ninner = {function}\n\n{STYLES[style][1].replace('FUNCTION', function)}"


@pytest.mark.parametrize("style", QUICK)
def test_a_few_honest_styles(style, workers):
    assert points_lost("1", around(style, "launch_over_pixels"), workers, "every_pixel") == {}


@pytest.mark.each(6)
@pytest.mark.parametrize(("lesson", "function", "only"), CALLED)
def test_all_honest_styles_around_one_function(lesson, function, only, workers):
    """Each calls the one before it."""
    text = ""
    for style in SURROUND:
        text += re.sub(r"\b(inner|_?Way|way|WAY)\b", rf"\1_{style}", around(style, function))
    assert points_lost(lesson, text, workers, only) == {}


@pytest.mark.thorough
@pytest.mark.parametrize(("lesson", "function", "only"), CALLED)
@pytest.mark.parametrize("style", SURROUND)
def test_honest_styles(style, lesson, function, only, workers):
    assert points_lost(lesson, around(style, function), workers, only) == {}


@pytest.mark.each(2)
@pytest.mark.parametrize("style", [name for name in STYLES if name not in SURROUND])
def test_honest_kernels(style, workers):
    assert points_lost("1", "\n\n" + STYLES[style][1], workers) == {}


def with_line(line, above, ways):
    """Lesson 1's solution with other lines in place of one, and more above its functions."""
    text = solution_text(find_lesson("1"))
    (old,) = (
        one for one in text.splitlines(keepends=True) if one.strip() == line and one[0] in " @d"
    )
    indent = old[: len(old) - len(old.lstrip())]
    text = text.replace(old, "".join(f"{indent}{one}\n" for one in ways))
    start = text.index("@register_jitable" if "@register_jitable\n" in text else ways[0])
    return f"{text[:start]}{above}\n\n\n{text[start:]}"


@pytest.mark.thorough
@pytest.mark.parametrize(("kind", "line", "above", "ways"), LINES)
def test_honest_lines(kind, line, above, ways, workers):
    results = grade(with_line(line, above, ways), workers=workers)
    assert {name: one.message for name, one in results.items() if one.status != "passed"} == {}


@pytest.mark.parametrize("kind", ["kernel", "device"])
def test_there_are_many_honest_lines(kind):
    assert sum(one[0] == kind for one in LINES) + 6 * (kind == "kernel") >= 60
