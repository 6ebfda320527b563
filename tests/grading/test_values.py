"""Which expression has wrong numbers: the comparison, the search, its words, real kernels."""

import ast
from pathlib import Path

import numpy as np
import pytest

from lessons.course.exercises import wrong_text
from lessons.course.lesson import find_lesson
from lessons.grading.checks.compare_values import lines_on_values
from lessons.grading.checks.explain import EFFORT_FOR_A_CLASS, FULL_EFFORT, NO_EFFORT, Failure
from lessons.grading.checks.run import checks_of
from lessons.grading.exchange.computed import (
    Replaced,
    Series,
    place_of,
    read_replaced,
    read_series,
)
from lessons.grading.supervisor.worker_pool import WorkerPool
from lessons.grading.untrusted.submission import Submission
from lessons.grading.values.alike import by_thread, equal, pair_of
from lessons.grading.values.origins import Origins, expressions_by_place
from lessons.grading.values.search import FoundValue, find_value
from lessons.grading.values.words import number_texts, ordinal, sentence

THREADS = np.arange(40, dtype=np.int64)
RNG = np.random.default_rng(3)
A, B, C = (RNG.uniform(1, 2, 40).astype(np.float32) for _ in range(3))


def series(values, threads=THREADS, place=(1, 0, 1, 1)):
    return Series(place, np.asarray(threads, np.int64), np.asarray(values))


# ---------------------------------------------------------------- numbers side by side


def test_numbers_are_compared_by_thread_and_in_the_order_of_time():
    mine = by_thread(series([1, 2, 10, 20], [0, 1, 0, 1]))
    ours = by_thread(series([2, 20, 1, 10], [1, 1, 0, 0]))
    assert equal(pair_of(mine, ours)).all()


def test_threads_that_only_one_file_has_are_left_out():
    mine, ours = series(A), series(A[:30], THREADS[:30])
    pair = pair_of(mine, ours)
    assert len(pair.mine) == 30
    assert equal(pair).all()


def test_a_few_shared_threads_are_not_enough():
    assert pair_of(series(A), series(A[:10], THREADS[:10])) is None


def test_kinds_are_not_mixed():
    whole, real, truth = series(THREADS), series(A), series(A > 1.5)
    assert pair_of(whole, real) is None
    assert pair_of(whole, truth) is None
    assert pair_of(series(THREADS.astype(np.int32)), whole)


def test_rounding_is_no_difference():
    assert equal(pair_of(series(A), series(A * np.float32(1 + 1e-6)))).all()
    assert not equal(pair_of(series(A), series(A * np.float32(1.001)))).any()
    hole = A.copy()
    hole[3] = np.nan
    assert equal(pair_of(series(hole), series(hole))).all()


def test_nothing_is_near_infinity():
    endless = np.full(40, -np.inf, np.float32)
    assert equal(pair_of(series(endless), series(endless))).all()
    assert not equal(pair_of(series(A), series(endless))).any()
    assert not equal(pair_of(series(endless), series(A))).any()


# ---------------------------------------------------------------- what an expression is made of

TEXT = """
def kernel(a, b, out):
    i = cuda.grid(1)
    x = a[i] * 2
    y = x + b[i]
    out[i] = y - 1
"""


def node(text, tree):
    return next(
        one for one in expressions_by_place(tree).values() if ast.unparse(one) == text
    )  # fmt: skip


def origins(*unknown):
    tree = ast.parse(TEXT)
    return tree, Origins(tree, {place_of(node(text, tree)) for text in unknown})


def test_an_expression_is_right_as_far_as_its_parts_and_names_are():
    tree, made_of = origins("x + b[i]")
    assert made_of.right_numbers(node("x + b[i]", tree))
    assert not made_of.right_numbers(node("y - 1", tree))
    tree, made_of = origins("b[i]", "x + b[i]")
    assert not made_of.right_numbers(node("x + b[i]", tree))
    assert made_of.right_numbers(node("a[i] * 2", tree))


def test_what_is_stored_is_known():
    tree, made_of = origins()
    assert made_of.is_stored(node("y - 1", tree))
    assert not made_of.is_stored(node("x + b[i]", tree))


def test_constants_are_not_doubted():
    tree = ast.parse(
        "def f(a):\n    x = cuda.grid(1)\n    return (a - float32(2)) * TILE + x % (TILE + 1)"
    )
    constants = [node(text, tree) for text in ("float32(2)", "TILE", "TILE + 1")]
    made_of = Origins(tree, {place_of(one) for one in constants})
    assert all(made_of.is_constant(one) for one in constants)
    assert not made_of.unknown
    assert made_of.right_numbers(node("a - float32(2)", tree))
    assert not made_of.is_constant(node("a - float32(2)", tree))
    assert not made_of.is_constant(node("x % (TILE + 1)", tree))


def test_what_comes_from_elsewhere_is_not_mended():
    tree = ast.parse(
        "def f(a, out):\n    tile = shared(4)\n    tile[0] = a[1] + 1\n"
        "    out[0] = tile[0] * a.shape[0]"
    )
    made_of = Origins(tree, {place_of(node("a[1] + 1", tree))})
    assert made_of.comes_from_elsewhere(node("tile[0]", tree))  # it holds what is wrong before
    assert made_of.comes_from_elsewhere(node("a.shape[0]", tree))
    assert not made_of.comes_from_elsewhere(node("a[1]", tree))
    assert not made_of.comes_from_elsewhere(node("tile[0] * a.shape[0]", tree))
    assert not Origins(tree, set()).comes_from_elsewhere(node("tile[0]", tree))


# ---------------------------------------------------------------- the search


def found(text, mine, ours, mended_by):
    """mended_by: (text of an expression, the numbers that mend it)."""
    tree = ast.parse(text)
    where, numbers = mended_by
    wanted = place_of(node(where, tree))
    tried = []

    def attempt(others):
        tried.append(others.place)
        mends = others.place == wanted and np.array_equal(others.values, numbers)
        return mends, Replaced("thread 0 of block 0", 0, 1.0, 2.0)

    placed = [series(values, place=place_of(node(what, tree))) for what, values in mine.items()]
    return find_value(tree, placed, [series(values) for values in ours], attempt), tried


def test_the_first_expression_with_wrong_numbers_is_found():
    mine = {"a[i]": A, "a[i] * 2": A * 2, "b[i]": B, "x + b[i]": A * 2 + B, "y - 1": A * 2 + B - 1}
    ours = A, A * 3, B, A * 3 + B, A * 3 + B - 1
    result, tried = found(TEXT, mine, ours, ("a[i] * 2", A * 3))
    assert (result.line, result.text, result.certain) == (4, "a[i] * 2", True)
    assert {place[0] for place in tried} == {4}  # nothing behind it had to be tried


def test_where_some_numbers_are_right_is_tried_first():
    half = np.where(THREADS < 20, B, C)
    mine = {"a[i]": C, "b[i]": half, "x + b[i]": C * 2 + half}
    result, tried = found(TEXT, mine, (A, B, A * 2 + B), ("b[i]", B))
    assert (result.line, result.text) == (5, "b[i]")
    assert len(tried) == 1


def test_a_detour_is_no_mistake():
    mine = {"a[i]": A, "a[i] * 2": A * 2, "b[i]": C, "x + b[i]": A * 2 + C, "y - 1": A * 2 + C - 1}
    ours = A, B, A * 2 + B - 1
    result, _ = found(TEXT, mine, ours, ("b[i]", B))
    assert (result.line, result.text) == (5, "b[i]")


def test_the_result_itself_is_no_explanation():
    mine = {"a[i]": A, "a[i] * 2": A * 2, "x + b[i]": A * 2 + C, "y - 1": A * 2 + C - 1}
    result, _ = found(TEXT, mine, (A, A * B), ("y - 1", A * B))
    assert result is None


def test_numbers_that_the_file_has_are_tried_where_it_does_not_use_them():
    mine = {"a[i]": A, "b[i]": B, "a[i] * 2": A * 2, "x + b[i]": A * 2 + B, "y - 1": A * 2 + B - 1}
    ours = A, B, B * 2, B * 2 + B, B * 2 + B - 1
    result, _ = found(TEXT, mine, ours, ("a[i]", B))
    assert (result.line, result.text) == (4, "a[i]")


def test_nothing_is_told_if_nothing_mends_the_results():
    mine = {"a[i]": A, "a[i] * 2": A * 2, "b[i]": B}
    assert found(TEXT, mine, (A, B, A * 3), ("a[i]", C))[0] is None


# ---------------------------------------------------------------- its words


def test_a_number_is_told_with_its_thread_and_its_turn():
    replaced = Replaced("thread 3 of block 1", 2, 0.25, 0.75)
    assert sentence(FoundValue(7, "a[i]", replaced, True)) == (
        "look at line 7: `a[i]` is 0.25 in thread 3 of block 1, the 3rd time, and should be 0.75. "
        "With the right numbers there, in all threads, the results of this call are right"
    )
    truth = FoundValue(7, "x < 3", Replaced("thread 3", 0, 1.0, 0.0), True, True)
    assert "is true in thread 3, and should be false" in sentence(truth)
    uncertain = sentence(FoundValue(7, "x", replaced, False))
    assert uncertain.startswith("in line 7 a number is wrong: `x` is 0.25 ")
    assert uncertain.endswith("and at the lines that these numbers come from")


def test_as_many_digits_as_differ():
    assert number_texts(0.123456, 0.123457) == ("0.123456", "0.123457")
    assert number_texts(1.0, 2.0) == ("1", "2")
    assert [ordinal(number) for number in (1, 2, 3, 4, 11, 21)] == [
        "1st", "2nd", "3rd", "4th", "11th", "21st",
    ]  # fmt: skip


# ---------------------------------------------------------------- replies that are none

ONE = np.arange(3, dtype=np.int64)


@pytest.mark.parametrize(
    "places, arrays",
    [
        ([[1, 2, 3, 4]], [ONE]),
        ([[1, 2, 3]], [ONE, ONE]),
        ([[1, 2, 3, 4]], [ONE, ONE[:2]]),
        ([[1, 2, 3, 4]], [ONE.astype(np.float32), ONE]),
        ([[1, 2, 3, 4]], [ONE, ONE.astype("U3")]),
        ([["a", 2, 3, 4]], [ONE, ONE]),
        ([[1, 2, 3, 4]] * 2000, [ONE] * 4000),
    ],
)
def test_nonsense_from_a_worker_is_refused(places, arrays):
    with pytest.raises((TypeError, ValueError)):
        read_series(places, arrays)


def test_what_a_worker_tells_is_read():
    (one,) = read_series([[1, 2, 3, 4]], [ONE, A[:3]])
    assert one.place == (1, 2, 3, 4)
    assert read_replaced(None) is None
    assert read_replaced(["thread 0", 1, 0.5, 2]) == Replaced("thread 0", 1, 0.5, 2.0)
    with pytest.raises((TypeError, ValueError)):
        read_replaced(["thread 0", 1])


# ---------------------------------------------------------------- real kernels

HALF = """
from numba import cuda


@cuda.jit
def grayscale(image, gray):
    column, row = cuda.grid(2)
    if row < gray.shape[0] and column < gray.shape[1]:
        red = image[row, column, 0]
        green = image[row, column, 1]
        blue = image[row, column, 2] * image[row, column, 2]
        gray[row, column] = luminance(red, green, blue)
"""


def lines(number, name, text, folder, effort=FULL_EFFORT, diagnosis="wrong"):
    lesson = find_lesson(number)
    path = folder / "wrong.py"
    path.write_text(text, encoding="utf-8")
    submission = Submission(Path("exercise.py"), wrong_text(lesson, path).encode())
    function, check = checks_of(lesson)[name], lesson.check(name)
    failure = Failure(function, lesson, check, submission, 5, diagnosis, "")
    workers = WorkerPool()
    try:
        return lines_on_values(failure, workers, effort)
    finally:
        workers.stop()


def test_the_line_of_a_wrong_kernel_is_told(tmp_path):
    told, quote = lines("1", "every_pixel", HALF, tmp_path)
    assert "`image[row, column, 2] * image[row, column, 2]` is " in told
    assert "in thread (" in told
    assert "blue = image[row, column, 2] * image[row, column, 2]" in quote


def test_nothing_is_run_for_a_class(tmp_path):
    for effort in (NO_EFFORT, EFFORT_FOR_A_CLASS):
        assert lines("1", "every_pixel", HALF, tmp_path, effort) == []


def test_a_mistake_that_has_a_name_is_not_looked_for(tmp_path):
    assert lines("1", "every_pixel", HALF, tmp_path, diagnosis="rounded weights") == []
