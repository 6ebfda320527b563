"""Which inputs a wrong element comes from: the search in made-up files, its words, real kernels."""

import time
from contextlib import suppress
from pathlib import Path

import numba
import numpy as np
import pytest

from lessons.course.exercises import wrong_text
from lessons.course.lesson import find_lesson
from lessons.grading.checks.compare_inputs import lines_on_inputs
from lessons.grading.checks.explain import EFFORT_FOR_A_CLASS, FULL_EFFORT, NO_EFFORT, Failure
from lessons.grading.checks.repeated_calls import outputs_in
from lessons.grading.checks.run import checks_of
from lessons.grading.exchange.output import Output
from lessons.grading.influence.inputs import (
    VARIANTS,
    Change,
    inputs_of,
    other_values,
    with_change,
)
from lessons.grading.influence.measure import Budget, Element
from lessons.grading.influence.recipe import recipe_of
from lessons.grading.influence.search import Search
from lessons.grading.influence.words import lines_of, sentences
from lessons.grading.supervisor.worker_errors import WorkerError
from lessons.grading.supervisor.worker_pool import WorkerPool
from lessons.grading.supervisor.worker_process import WorkerProcess
from lessons.grading.untrusted.submission import Submission

RNG = np.random.default_rng(5)
A = RNG.uniform(-1, 1, (6, 40)).astype(np.float32)
B = RNG.uniform(-1, 1, (40, 5)).astype(np.float32)
BIAS = RNG.uniform(-1, 1, 5).astype(np.float32)
NAMES = "a", "b", "bias", "scale", "c"


def right(a, b, bias, scale, c):
    c += scale * (a @ b + bias)


def second_half_left_out(a, b, bias, scale, c):
    c += scale * (a[:, :20] @ b[:20] + bias)


def without_bias(a, b, bias, scale, c):
    c += scale * (a @ b)


def bias_of_the_row(a, b, bias, scale, c):
    c += scale * (a @ b + bias[(np.arange(6) + 3) % 5][:, np.newaxis])


def first_bias(a, b, bias, scale, c):
    c += scale * (a @ b + bias) + 0.5 * bias[4]


def replaced(a, b, bias, scale, c):
    c[:] = scale * (a @ b + bias)


def bias_twice(a, b, bias, scale, c):
    c += scale * (a @ b + 2 * bias)


def bias_subtracted(a, b, bias, scale, c):
    c += scale * (a @ b - bias)


def one_more(a, b, bias, scale, c):
    c += scale * (a @ b + bias) + 1


def squares(a, b, bias, scale, c):
    c += scale * (a @ (b * b * b) + bias)


def fails(a, b, bias, scale, c):
    if (a != A).any() or (b != B).any() or (bias != BIAS).any() or scale != 0.75 or c.any():
        raise ValueError
    c += 1


TOLD = {
    second_half_left_out: "No number of c changes when a[0, 20] changes; some should. None changes "
    "with any of the columns 20 to 39 of a.",
    without_bias: "In this run no result changes when bias changes; some should.",
    bias_of_the_row: "c[0, 0] does not change when bias[0] changes; it should. It changes when "
    "bias[3] changes; it should not.",
    first_bias: "c[0, 0] changes when bias[4] changes; it should not.",
    replaced: "In this run no result changes when the first value of c changes; some should.",
    bias_twice: "When bias changes, c[0, 0] changes twice as much as it should.",
    bias_subtracted: "When bias changes, c[0, 0] changes as much as it should, but in the other "
    "direction.",
    one_more: "c[0, 0] changes with each input as it should: what is wrong does not come from "
    "them, but is the same whatever they are.",
    squares: "As far as was tried, c[0, 0] changes with the numbers that it should change with, "
    "and with no other, but by other amounts: when b[35, 0] goes from 0.6783 to -0.1589, c[0, 0] "
    "changes by 0.083, and should by 0.22.",
}


@pytest.mark.parametrize("wrong", TOLD, ids=lambda wrong: wrong.__name__)
def test_what_is_told_of_a_wrong_function(wrong):
    assert sentences(search(wrong)) == TOLD[wrong]


def test_nothing_is_told_where_every_run_with_changes_fails():
    assert search(fails) is None


def test_nothing_is_told_when_there_are_too_few_runs():
    assert search(squares, runs=12) is None


def test_an_array_that_is_handed_over_twice_is_changed_in_both_places():
    array = np.arange(3.0)
    (given,) = inputs_of((array, array), ("x", "y"))
    first, second = with_change((array, array), Change(given, ((0, 1),), 0))
    assert first is second and first[0] != 0 and (array == np.arange(3.0)).all()


@pytest.mark.parametrize("variant", range(VARIANTS))
def test_all_numbers_change_and_stay_within_their_range(variant):
    for array in (A, np.arange(9), np.zeros(4, np.float32)):
        (given,) = inputs_of((array,), ("x",))
        others = other_values(given, variant)
        assert (others != array).all() and others.dtype == array.dtype
        if array.any():
            assert array.min() <= others.min() and others.max() <= array.max()


def blend(a, b, bias, scale, c):
    c[0, 0] = 0.25 * a[0, 0] + 0.75 * a[1, 0] + bias[0]


def upper_row(a, b, bias, scale, c):
    c[0, 0] = a[0, 0] - 2 * a[0, 1] + bias[0]


def two_of_bias(a, b, bias, scale, c):
    c[0, 0] = 0.25 * a[0, 0] + 0.75 * a[1, 0] + bias[0] + bias[1] / 8


def square_of_one(a, b, bias, scale, c):
    c[0, 0] = 0.25 * a[0, 0] ** 2 + 0.75 * a[1, 0] + bias[0]


def product_of_two(a, b, bias, scale, c):
    c[0, 0] = a[0, 0] * a[1, 0] + bias[0]


def nothing_of_it(a, b, bias, scale, c):
    c[0, 0] = 0.5


def whole_row(a, b, bias, scale, c):
    c[0, 0] = a[0].sum() + bias[0]


def added(number):
    return f"{'-' if number < 0 else '+'} {abs(number):.3g}"


REST, REST_OF_A = added(0.25 * A[0, 0] + 0.75 * A[1, 0]), added(BIAS[0])
RECIPES = {
    upper_row: [
        "how c[0, 0] comes from a, if nothing else changes:",
        f"  yours: 1 * a[0, 0] - 2 * a[0, 1] {REST_OF_A}",
        f"  right: 0.25 * a[0, 0] + 0.75 * a[1, 0] {REST_OF_A}",
    ],
    two_of_bias: [
        "how c[0, 0] comes from bias, if nothing else changes:",
        f"  yours: 1 * bias[0] + 0.125 * bias[1] {REST}",
        f"  right: 1 * bias[0] {REST}",
    ],
    nothing_of_it: [
        "how c[0, 0] comes from a, if nothing else changes:",
        "  yours: 0.5",
        f"  right: 0.25 * a[0, 0] + 0.75 * a[1, 0] {REST_OF_A}",
    ],
}


@pytest.mark.parametrize("wrong", RECIPES, ids=lambda wrong: wrong.__name__)
def test_the_weights_of_a_short_sum_are_told(wrong):
    measure = begun(wrong, blend)
    assert lines_of(recipe_of(measure), measure.element) == RECIPES[wrong]


@pytest.mark.parametrize(
    "wrong", [square_of_one, product_of_two, whole_row, blend], ids=lambda wrong: wrong.__name__
)
def test_no_weights_are_told_of_what_is_no_short_sum_or_right(wrong):
    assert recipe_of(begun(wrong, blend)) is None


def search(wrong, runs=2000):
    return begun(wrong, right, runs).difference()


def begun(wrong, right, runs=2000):
    arguments = A, B, BIAS, 0.75, Output((6, 5), np.float32, np.zeros((6, 5)))

    def runner(function):
        def run(change):
            given = with_change(arguments, change) if change else with_change_of_nothing(arguments)
            try:
                function(*given[:-1], given[-1].array)
            except ValueError:
                return None
            return {name: output.array for name, output in outputs_in(given, NAMES)}

        return run

    inputs, element = inputs_of(arguments, NAMES), Element("c", (0, 0))
    return Search(runner(wrong), runner(right), inputs, element, Budget(runs, 60.0))


def with_change_of_nothing(arguments):
    (given,) = inputs_of((arguments[0],), ("a",))
    return with_change(arguments, Change(given, ((0, 0), (0, 0)), 0))


# ---------------------------------------------------------------- real kernels

SUM = """
from numba import cuda, float32
from kernels.config import BLOCK_THREADS


@cuda.jit
def sum_tree(values, total):
    partial = cuda.shared.array(BLOCK_THREADS, float32)
    place = cuda.threadIdx.x
    first = cuda.blockIdx.x * 2 * BLOCK_THREADS + place
    partial[place] = values[first] if first < values.shape[0] else 0
    if first + BLOCK_THREADS < values.shape[0]:
        partial[place] += values[first + BLOCK_THREADS]
    cuda.syncthreads()
    step = BLOCK_THREADS // 2
    while step > 0:
        if place < step:
            partial[place] += partial[place + step]
        cuda.syncthreads()
        step //= 2
    if place == 0:
        cuda.atomic.add(total, 0, partial[0])
"""
PRODUCT = """
from numba import cuda, float32


@cuda.jit
def matmul_naive(a, b, c):
    column, row = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        total = float32(0)
        for k in range(a.shape[1]):
            total += a[row, k] * b[0 if k == 3 else k, column]
        c[row, column] = total
"""
OVERLAPPING_BLOCKS = """
from numba import cuda, float32
from kernels.config import TILE, TILE_SAMPLES


@cuda.jit
def add_weight_gradients(activations, deltas, grad_weights):
    inputs = cuda.shared.array((TILE_SAMPLES, TILE), float32)
    units = cuda.shared.array((TILE_SAMPLES, TILE), float32)
    column, row = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for begin in range(cuda.blockIdx.x * TILE_SAMPLES, activations.shape[0], TILE_SAMPLES):
        for s in range(row, TILE_SAMPLES, TILE):
            there = begin + s < activations.shape[0]
            inputs[s, column] = activations[begin + s, column] if there else float32(0)
            units[s, column] = deltas[begin + s, column] if there else float32(0)
        cuda.syncthreads()
        for s in range(TILE_SAMPLES):
            total += inputs[s, row] * units[s, column]
        cuda.syncthreads()
    cuda.atomic.add(grad_weights, (row, column), total)
"""
FIRST_ROW = PRODUCT.replace("a[row, k]", "a[0, k]").replace("0 if k == 3 else k", "k")
REAL = {
    "sum": (
        "5b",
        SUM, "sum_tree", "total[0] does not change when values[512] changes; it should. It does "
        "not change with any of values[512] to values[999].",
    ),
    "product": (
        "5", PRODUCT, "naive", "c[0, 0] does not change when b[3, 0] changes; it should.",
    ),
    "first row": (
        "5", FIRST_ROW, "naive", "No number of c changes when a[1, 0] changes; some should. None "
        "changes with any of the rows 1 to 4 of a.",
    ),
    "overlapping blocks": (
        "7", OVERLAPPING_BLOCKS, "add_weight_gradients", "When activations[66, 0] changes, "
        "grad_weights[0, 0] changes twice as much as it should.",
    ),
}  # fmt: skip

CORES = """
import numba


def launch_nothing(launch=None):
    print(numba.get_num_threads())
"""


@pytest.mark.parametrize("in_turn", [True, False])
def test_a_call_that_is_made_again_runs_block_after_block(in_turn):
    """Blocks on several cores add up in any order: the same call would leave other bits."""
    worker = WorkerProcess(any_code=True)
    deadline = time.monotonic() + 60
    worker.load(CORES.encode(), {}, deadline)
    with suppress(WorkerError):  # it has launched no kernel
        worker.run("launch_nothing", (), "native", deadline, in_turn=in_turn)
    assert int(worker.printed()) == (1 if in_turn else numba.config.NUMBA_NUM_THREADS)
    worker.stop()


@pytest.mark.slow
@pytest.mark.parametrize("number, text, name, sentence", REAL.values(), ids=REAL)
def test_what_is_told_of_a_wrong_kernel(number, text, name, sentence, tmp_path):
    assert lines(number, name, text, tmp_path, FULL_EFFORT) == [sentence]


def test_nothing_is_run_for_a_class(tmp_path):
    for effort in (NO_EFFORT, EFFORT_FOR_A_CLASS):
        assert lines("5", "naive", PRODUCT, tmp_path, effort) == []


def lines(number, name, text, folder, effort):
    lesson = find_lesson(number)
    path = folder / "wrong.py"
    path.write_text(text, encoding="utf-8")
    submission = Submission(Path("exercise.py"), wrong_text(lesson, path).encode())
    function, check = checks_of(lesson)[name], lesson.check(name)
    failure = Failure(function, lesson, check, submission, 5, "wrong", "")
    workers = WorkerPool()
    try:
        return lines_on_inputs(failure, workers, effort)
    finally:
        workers.stop()
