"""Checks of lesson 8: early and late steps, touched and untouched cells, against float64.

All that the kernels are handed differs from run to run: the betas, epsilon, the learning rate, and
a table that ends before its corrections are 1. Gradients are those of a real run: some are exactly
zero and always were, some are tiny.
"""

from typing import NamedTuple

import numpy as np

from kernels.config import AdamRates
from lessons.grading.judge.case import check

THREADS = "grid", 1, 128  # one per weight
FEW, WEIGHTS = (14,), (203,)
STEPS = 1, 3, 12  # of `adam_step`
BEYOND_THE_TABLE = 5000
OLDEST_CELL = 60  # steps: the table is shorter
GRID, SMALL_GRID = (9, 27, 3), (5, 8, 3)
UNTOUCHED_GRID = 12, 32, 3
# Drawn in each run.
BETA1, BETA2 = (0.8, 0.85, 0.95), (0.97, 0.98, 0.995)
EPSILON, LEARNING_RATE = (2e-7, 9e-7), (0.012, 0.018)
TABLE_ROWS = 24, 40
UNUSED_ROW = 1.7  # row 0 belongs to no step; it is not 1, so that it shows if it is used

ALLOWED_SHARE = 8  # times that 32 threads run, per 32 weights or cells
# Numbers per untouched cell: its count, or its three gradients once more, or both.
ALLOWED_WRITES = 4


@check("one_step")
def test_one_step(case):
    settings = random_settings(case)
    for step in STEPS:
        inputs = state(case, FEW)
        # Of one sign, so that no wrong v is negative: its root would be an error without a clue.
        np.abs(inputs.gradient, out=inputs.gradient)
        row = settings.table[step]
        arguments = *row, settings.rate, settings.rates
        got = [
            case.call("adam_step", *numbers, *arguments) for numbers in zip(*inputs, strict=True)
        ]
        parameters, m, v = np.array([three_numbers(case, result) for result in got]).T
        expected = adam_step(inputs, row, settings)
        case.expect(m, expected.m, "m")
        case.expect(v, expected.v, "v")
        case.expect(parameters, expected.parameters, "parameters")


@check("weights")
def test_weights(case):
    settings = random_settings(case)
    last = len(settings.table) - 1
    for step in (1, 7, last, last + 1, BEYOND_THE_TABLE):
        move_weights(case, case.run, settings, step)


@check("grid")
def test_grid(case):
    move_grid(case, case.run, random_settings(case), GRID)


@check("only_looked_at")
def test_only_looked_at(case):
    settings = random_settings(case)
    counts, gradient = move_weights(case, case.measure, settings, step=3)
    require_work(case, counts, gradient, "weight")
    counts, arrays = move_grid(case, case.measure, settings, UNTOUCHED_GRID, touched=False)
    require_work(case, counts, arrays[1], "cell")
    cells = UNTOUCHED_GRID[0] * UNTOUCHED_GRID[1]
    written = [counts.of(array).writes / cells for array in arrays]
    case.budget(
        "numbers written per untouched cell",
        yours=sum(written),
        ours=0,
        allowed=ALLOWED_WRITES,
        diagnosis="untouched cells written",
        sentence=f"this batch has touched no cell, and {sum(written):.3g} numbers of each are "
        "written: if all three gradients are zero, return before anything is computed.",
        line=counts.busiest_line("writes", arrays[int(np.argmax(written))]),
    )
    case.compare(
        "numbers read per untouched cell",
        yours=sum(counts.of(array).reads for array in arrays) / cells,
        ours=3,
    )


@check("float32")
def test_float32(case):
    settings = random_settings(case)
    move_weights(case, case.run, settings, step=3)
    move_grid(case, case.run, settings, SMALL_GRID)


def move_weights(case, run, settings, step):
    """One step of all weights. Returns (counts, if `run` is `case.measure`; the gradient)."""
    inputs = state(case, WEIGHTS)
    arrays = [case.output(WEIGHTS, initial=array) for array in inputs]
    given = step, settings.table, settings.rate, settings.rates
    counts = run("launch_adam_weights", *arrays, *given)
    row = settings.table[min(step, len(settings.table) - 1)]
    expect_state(case, arrays, adam_step(inputs, row, settings), THREADS)
    return counts, arrays[1]


def move_grid(case, run, settings, shape, touched=True):
    """One step of a grid, in which no cell is touched if not `touched`.

    Returns (counts, if `run` is `case.measure`; [grid, gradient, m, v, steps]).
    """
    inputs = grid_state(case, shape)
    inputs.gradient[:] *= touched
    steps = case.rng.integers(1, OLDEST_CELL, shape[:2]).astype(np.int32)
    steps[~inputs.v.any(axis=2)] = 0
    arrays = [case.output(shape, initial=array) for array in inputs]
    counted = case.output(shape[:2], np.int32, initial=steps)
    given = counted, settings.table, settings.rate, settings.rates
    counts = run("launch_adam_grid", *arrays, *given)
    moved = (inputs.gradient != 0).any(axis=2)
    expected_steps = steps + moved
    rows = settings.table[np.minimum(expected_steps, len(settings.table) - 1)]
    new = adam_step(inputs, rows[:, :, np.newaxis], settings)
    expected = [np.where(moved[..., np.newaxis], *both) for both in zip(new, inputs, strict=True)]
    case.expect(counted, expected_steps, "steps", tolerance=0)
    expect_state(case, arrays, State(*expected))
    return counts, [*arrays, counted]


def expect_state(case, arrays, expected, threads=None):
    parameters, gradient, m, v = arrays
    case.expect(m, expected.m, "m", threads)
    case.expect(v, expected.v, "v", threads)
    case.expect(parameters, expected.parameters, "parameters", threads)
    case.expect(gradient, 0 * expected.gradient, "gradient", threads, tolerance=0)


def require_work(case, counts, array, what):
    """A budget of how many of 32 threads read an array together."""
    together = counts.of(array).reads / max(1, counts.of(array).requests)
    case.budget(
        f"times that 32 threads run, per 32 of a {what}",
        yours=32 / max(together, 1),
        ours=1,
        allowed=ALLOWED_SHARE,
        diagnosis="threads without work",
        sentence=f"of 32 threads that run together, {together:.1f} have a {what}: a thread has one "
        "of its own, by its number in the grid, and no loop over others.",
        line=counts.busiest_line("reads", array),
    )


class Settings(NamedTuple):
    table: np.ndarray  # (rows, 2) float32
    rate: np.float32
    rates: AdamRates


def random_settings(case):
    beta1, beta2 = case.rng.choice(BETA1), case.rng.choice(BETA2)
    rates = AdamRates(*map(np.float32, (beta1, beta2, case.rng.uniform(*EPSILON))))
    table = np.full((int(case.rng.integers(*TABLE_ROWS)), 2), UNUSED_ROW, np.float32)
    for step in range(1, len(table)):
        table[step] = 1 / (1 - beta1**step), 1 / (1 - beta2**step)
    return Settings(table, np.float32(case.rng.uniform(*LEARNING_RATE)), rates)


class State(NamedTuple):
    parameters: np.ndarray
    gradient: np.ndarray
    m: np.ndarray
    v: np.ndarray


def state(case, shape):
    """A `State` in the middle of a training, as float32.

    A seventh never had a gradient, like the weights of a unit that is never active. The sizes of
    the others lie between epsilon and 0.1; one lies far below epsilon.
    """
    size = 10.0 ** case.rng.uniform(-7, -1, shape)
    # So that each size is there in each run, however few the elements are.
    size.flat[:6] = 10.0 ** np.array([-8, -6, -5, -4, -3, -1])
    size[np.arange(size.size).reshape(shape) % 7 == 6] = 0
    gradient = size * case.rng.choice([-1, 1], shape) * case.rng.uniform(0.4, 1, shape)
    # The gradient of this batch may be zero where there has been one before.
    gradient[np.arange(size.size).reshape(shape) % 5 == 4] = 0
    m = size * case.rng.uniform(-0.5, 0.5, shape)
    v = (size * case.rng.uniform(0.3, 1, shape)) ** 2
    parameters = case.rng.uniform(-1, 1, shape)
    return State(*(np.asarray(array, np.float32) for array in (parameters, gradient, m, v)))


def grid_state(case, shape):
    """As `state`; half of the cells are untouched, in the others not all channels have gradients.

    Every pattern of zeros is there, and gradients that add up to zero, and tiny ones. Of touched
    and untouched cells some have never moved: their m and v are zero.
    """
    inputs = state(case, shape)
    _, gradient, m, v = inputs
    some = (case.rng.choice([-1, 1], shape) * case.rng.uniform(0.02, 0.1, shape)).astype(np.float32)
    kinds = case.rng.permutation(shape[0] * shape[1]).reshape(shape[:2]) % 20
    for kind in range(7):  # which of the three channels have a gradient; none: later
        has = [kind + 1 >> channel & 1 for channel in range(3)]
        gradient[kinds == kind] = some[kinds == kind] * np.array(has, np.float32)
    opposite = kinds == 7
    gradient[opposite] = some[opposite][:, :1] * np.array([1, -1, 0], np.float32)
    gradient[kinds == 8] = np.array([0, 0, 1e-12], np.float32)
    gradient[kinds == 9] = -np.abs(some[kinds == 9])
    gradient[kinds >= 10] = 0
    never_moved = (kinds == 6) | (kinds == 19)
    m[never_moved] = v[never_moved] = 0
    m[kinds == 18] = 0  # of a cell that has moved, but not for long
    return inputs


def adam_step(inputs, row, settings):
    """The `State` after one step in float64, with the two corrections of this row of the table."""
    parameters, gradient, m, v = (array.astype(np.float64) for array in inputs)
    beta1, beta2, epsilon = map(float, settings.rates)
    correct_m, correct_v = np.moveaxis(np.asarray(row, np.float64), -1, 0)
    m = beta1 * m + (1 - beta1) * gradient
    v = beta2 * v + (1 - beta2) * gradient**2
    step = m * correct_m / (np.sqrt(v * correct_v) + epsilon)
    return State(parameters - float(settings.rate) * step, gradient, m, v)


def three_numbers(case, result):
    """What `adam_step` has returned, as floats."""
    try:
        numbers = np.array([float(number) for number in result])
    except (TypeError, ValueError):
        numbers = np.empty(0)
    case.require(
        numbers.shape == (3,),
        "not three numbers",
        "adam_step has to return three numbers: the parameter, m and v.",
    )
    return numbers
