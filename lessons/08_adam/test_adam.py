"""Checks of lesson 8: early and late steps, touched and untouched cells, against float64.

All that the kernels are handed differs from run to run: the betas, epsilon, the learning rate, and
a table that ends before its corrections are 1. Gradients are those of a real run: some are exactly
zero and always were, some are tiny.
"""

import re
from collections.abc import Callable
from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np

from kernels.config import AdamRates
from lessons.grading.advice.cleared import line_that_clears
from lessons.grading.checks.case import check
from lessons.grading.checks.mistakes import Left, Mistake, expect_all

LIST_THREADS = ("grid", 1, 128)
USUAL_BETAS = (0.9, 0.99), (0.9, 0.999)
USUAL_EPSILONS = 1e-8, 1e-15, 1e-7, 1e-10
USUAL_DECAYS = 0.1, 0.01, 0.001, 0.0001
USUAL_RATES = 0.02, 0.01, 0.001
# The averages are all that is stored besides the parameter: they decide what a wrong one means.
STORED = "m", "v", "parameters"


@check("one_step")
def test_one_step(case):
    settings = random_settings(case)
    for step in (1, 3, 12):
        inputs = state(case, (14,))
        # Of one sign, so that no wrong v is negative: its root would be an error without a clue.
        np.abs(inputs[1], out=inputs[1])
        row = settings.table[step]
        got = [
            case.call("adam_step", *numbers, row[0], row[1], settings.rate, settings.rates)
            for numbers in zip(*inputs, strict=True)
        ]
        values = np.array([three_numbers(case, result) for result in got])
        right = Step(inputs, row, settings)
        left = [
            Left(name, values[:, place], right.result[name])
            for name, place in (("m", 1), ("v", 2), ("parameters", 0))
        ]
        expect_all(case, left, partial(step_mistakes, inputs, row, settings), line_to_look_at)


@check("weights")
def test_weights(case):
    settings = random_settings(case)
    last = len(settings.table) - 1
    for step in (1, 7, last, last + 1, 5000):  # the last two lie beyond the table
        move_weights(case, settings, step, only_the_row=step > 1)


@check("grid")
def test_grid(case):
    move_grid(case, random_settings(case), (9, 27, 3))


@check("only_looked_at")
def test_only_looked_at(case):
    settings, cells = random_settings(case), (12, 32)
    counts, weights = move_weights(case, settings, step=3, measure=True)
    require_work(case, counts, weights, "weight")
    counts, arrays = move_grid(case, settings, (*cells, 3), touched=False)
    require_work(case, counts, arrays[1], "cell")
    number = cells[0] * cells[1]
    written = [counts.of(array).writes / number for array in arrays]
    case.budget(
        "numbers written per untouched cell",
        yours=sum(written),
        ours=0,
        allowed=4,  # its count, or its three gradients once more, or both
        diagnosis="untouched cells written",
        sentence=f"this batch has touched no cell, and {sum(written):.3g} numbers of each are "
        "written: if all three gradients are zero, return before anything is computed.",
        line=counts.busiest_line("writes", arrays[int(np.argmax(written))]),
    )
    case.compare(
        "numbers read per untouched cell",
        yours=sum(counts.of(array).reads for array in arrays) / number,
        ours=3,
    )


def require_work(case, counts, array, what):
    """A budget of how many of 32 threads read an array together."""
    together = counts.of(array).reads / max(1, counts.of(array).requests)
    case.budget(
        f"times that 32 threads run, per 32 of a {what}",
        yours=32 / max(together, 1),
        ours=1,
        allowed=8,
        diagnosis="threads without work",
        sentence=f"of 32 threads that run together, {together:.1f} have a {what}: a thread has one "
        "of its own, by its number in the grid, and no loop over others.",
        line=counts.busiest_line("reads", array),
    )


@check("float32")
def test_float32(case):
    settings = random_settings(case)
    move_weights(case, settings, step=3)
    move_grid(case, settings, (5, 8, 3))


def explained(case, found, width=0):
    """What a race, or an index outside an array, says in this lesson. width: of a grid, else 0."""
    if found.kind == "race":
        if in_shared_memory(case, found):
            return ""
        return (
            "A thread has one weight, or one cell with all of its channels, and the launch has as "
            "many threads: each reads, moves and clears its own, and nothing of another's."
            + not_its_own(found, width)
        )
    if found.kind != "out-of-bounds":
        return ""
    if found.message.startswith("corrections[-"):
        return "A step counts from 1, and never down: is something subtracted from steps or step?"
    last_axis = re.search(r"axis ([12]) has only the indices", found.message)
    if found.message.startswith("corrections[") and last_axis:
        return "A row of the table holds two factors: corrections[row, 0] and corrections[row, 1]."
    if found.message.startswith("corrections["):
        return "The last row of the table is number corrections.shape[0] - 1: steps beyond use it."
    if "," not in found.message.partition("]")[0]:
        return ""  # a weight, which has one index only
    if last_axis and last_axis[1] == "2":
        return "A cell has GRID_CHANNELS channels, 0, 1 and 2: the last of the three indices."
    place = not_its_own(found, width).strip()
    return (
        f"{place or 'Is there a guard for threads beyond the last cell?'} Row and column of a cell "
        "are cell // width and cell % width, with height, width = steps.shape."
    )


def in_shared_memory(case, found):
    """Whether a race is about an array that the threads of a block are meant to share."""
    name = re.search(r"(\w+)\[", found.message)
    made = re.compile(rf"\b{name[1]}\s*=\s*cuda\.shared\.array\b") if name else None
    return bool(made and any(made.search(line) for line in case.submission.lines))


def not_its_own(found, width):
    """Of a cell in a finding: which row or column a thread has taken for its own; "" if unknown."""
    index = re.search(r"\w\[(\d+), (\d+)(?:, \d+)?\]", found.message)
    threads = re.findall(r"thread (\d+) of block (\d+)", found.message)
    if not index or not width:
        return ""
    place = {"row": int(index[1]), "column": int(index[2])}
    for thread, block in threads:
        cell = int(thread) + 128 * int(block)
        right = {"row": cell // width, "column": cell % width}
        wrong = [name for name in place if place[name] != right[name]]
        if not wrong:
            continue
        seen = " and ".join(f"its {name} is {right[name]}, not {place[name]}" for name in wrong)
        told = f" Thread {thread} of block {block} has cell {cell} of a grid {width} wide: {seen}. "
        further = place["row"] * width + place["column"] - cell
        if further % 128 == 0:
            return (
                f"{told}That is cell {cell + further}, which a thread of another block has, as a "
                "block has 128 threads."
            )
        if cell // 3 == place["row"] * width + place["column"] > 0:
            return (
                f"{told}That is cell {cell} // 3, as if each of the three channels had a thread of "
                "its own."
            )
        first_three = all(int(one) < 3 and int(where) == 0 for one, where in threads)
        if len(threads) > 1 and first_three and not any(place.values()):
            return f"{told}That is cell {cell} // 3: has each channel a thread of its own here?"
        is_made = "is made" if len(wrong) == 1 else "are made"
        return f"{told}Look at how {' and '.join(wrong)} {is_made} of the number of the thread."
    return ""


def move_weights(case, settings, step, only_the_row=False, measure=False):
    """One step of 203 weights. Returns what was counted, if measure, and the gradients.

    only_the_row: an earlier step was right, so that only the row of the table can be wrong.
    """
    case.explain, case.says_repair = partial(explained, case), lambda found: False
    inputs = state(case, (203,))
    arrays = [case.output((203,), initial=array) for array in inputs]
    weights, gradient, m, v = arrays
    run = case.measure if measure else case.run
    counts = run(
        "launch_adam_weights", weights, gradient, m, v, step, settings.table,
        settings.rate, settings.rates,
    )  # fmt: skip
    row = settings.table[min(step, len(settings.table) - 1)]
    mistakes = row_mistakes(inputs, step, settings)
    if not only_the_row:
        mistakes |= argument_mistakes(inputs, row, settings)
        mistakes |= adam_mistakes(inputs, row, settings)
        mistakes |= clearing_mistakes(inputs, row, settings)
        tell_what_clears(case, mistakes, "adam_weights")
    right = Step(inputs, row, settings)
    compare(case, (gradient, m, v, weights), right.result, mistakes, LIST_THREADS)
    return counts, gradient


def move_grid(case, settings, shape, touched=True):
    """One step of a grid. Returns what was counted, if no cell is touched, and the arrays."""
    inputs = grid_state(case, shape)
    inputs[1][:] *= touched
    # Some cells are older than the table is long.
    steps = case.rng.integers(1, 60, shape[:2]).astype(np.int32)
    steps[~inputs[3].any(axis=2)] = 0
    # Of another launch nobody knows which cell a thread has.
    width = 0 if case.own_launch() else shape[1]
    case.explain = partial(explained, case, width=width)
    case.says_repair = lambda found: "// 3" in not_its_own(found, width)
    arrays = [case.output(shape, initial=array) for array in inputs]
    counted = case.output(shape[:2], np.int32, initial=steps)
    grid, grad_grid, m, v = arrays
    run = case.run if touched else case.measure
    counts = run(
        "launch_adam_grid", grid, grad_grid, m, v, counted, settings.table,
        settings.rate, settings.rates,
    )  # fmt: skip
    right = grid_result(inputs, steps, settings)
    mistakes = grid_mistakes(inputs, steps, settings)
    tell_what_clears(case, mistakes, "adam_grid")
    left = [Left("steps", counted, right["steps"], tolerance=0)]
    look = partial(cells_to_look_at, touched_cells(inputs[1]))
    compare(case, (grad_grid, m, v, grid), right, mistakes, None, left, look)
    return counts, [*arrays, counted]


def tell_what_clears(case, mistakes, kernel):
    """Add the line that sets the gradient, the kernel's second argument, to zero, if it is one."""
    line = line_that_clears(kernel, 1, case.submission.lines)
    known = mistakes["cleared too early"]
    if line:
        sentence = f"{known.sentence} Line {line} clears it."
        mistakes["cleared too early"] = known._replace(sentence=sentence)


# ---------------------------------------------------------------- inputs


class Settings(NamedTuple):
    table: np.ndarray  # (rows, 2) float32
    rate: np.float32
    rates: AdamRates
    exact: Callable  # step -> corrections by the formula, which goes on where the table ends


def random_settings(case):
    beta1, beta2 = case.rng.choice([0.8, 0.85, 0.95]), case.rng.choice([0.97, 0.98, 0.995])
    epsilon = np.float32(case.rng.uniform(2e-7, 9e-7))
    rates = AdamRates(np.float32(beta1), np.float32(beta2), epsilon)

    def exact(step):
        return np.array([1 / (1 - beta1**step), 1 / (1 - beta2**step)])

    # Row 0 is never used; here it is not 1, so that it shows if it is.
    table = np.full((int(case.rng.integers(24, 40)), 2), 1.7, np.float32)
    for step in range(1, len(table)):
        table[step] = exact(step)
    return Settings(table, np.float32(case.rng.uniform(0.012, 0.018)), rates, exact)


def state(case, shape):
    """(parameter, gradient, m, v) in the middle of a training, as float32.

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
    parameter = case.rng.uniform(-1, 1, shape)
    return tuple(np.asarray(a, np.float32) for a in (parameter, gradient, m, v))


def grid_state(case, shape):
    """As `state`; half of the cells are untouched, in the others not all channels have gradients.

    Every pattern of zeros is there, and gradients that add up to zero, and tiny ones. Of touched
    and untouched cells some have never moved: their m and v are zero.
    """
    inputs = state(case, shape)
    gradient, m, v = inputs[1:]
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


# ---------------------------------------------------------------- Adam, right and wrong


class Step:
    """One step of Adam in float64, by the table's row; `result` has m, v and parameters."""

    def __init__(self, inputs, row, settings, beta1=None, beta2=None, epsilon=None, rate=None):
        self.parameter, self.gradient, self.m, self.v = (a.astype(np.float64) for a in inputs)
        rates = settings.rates
        self.beta1 = float(rates.beta1 if beta1 is None else beta1)
        self.beta2 = float(rates.beta2 if beta2 is None else beta2)
        self.epsilon = float(rates.epsilon if epsilon is None else epsilon)
        self.rate = float(settings.rate if rate is None else rate)
        row = np.asarray(row, np.float64)
        self.correct_m, self.correct_v = row[..., 0], row[..., 1]
        self.new_m = self.beta1 * self.m + (1 - self.beta1) * self.gradient
        self.new_v = self.beta2 * self.v + (1 - self.beta2) * self.gradient**2
        self.m_once_more = self.beta1 * self.new_m + (1 - self.beta1) * self.gradient
        self.result = self.leaves()

    def leaves(self, m=None, v=None, by=None):
        """The three arrays, with another m, v, or step than the right ones."""
        m = self.new_m if m is None else m
        v = self.new_v if v is None else v
        by = self.by(m, v) if by is None else by
        return {"m": m, "v": v, "parameters": self.parameter - self.rate * by}

    def moved(self, parts):
        """The three arrays, with other parts of the line that moves the parameter."""

        def part(name, usual):
            return parts[name](self) if name in parts else usual

        new_v = part("new v", self.new_v)
        m, v = part("m", self.new_m * self.correct_m), part("v", new_v * self.correct_v)
        with np.errstate(invalid="ignore", divide="ignore"):
            below = parts["below"](self, v) if "below" in parts else np.sqrt(v) + self.epsilon
            step = part("sign", 1) * part("rate", self.rate) * m / below
        kept = 1 - self.rate * part("decay", 0)
        return {"m": self.new_m, "v": new_v, "parameters": kept * self.parameter - step}

    def by(self, m, v):
        return self.ratio(m * self.correct_m, v * self.correct_v)

    def ratio(self, m, v):
        with np.errstate(invalid="ignore", divide="ignore"):
            return m / (np.sqrt(v) + self.epsilon)


def spread(s, means):
    """v as an average of the products of the gradient's distances from two m."""
    one, other = means
    return s.beta2 * s.v + (1 - s.beta2) * (s.gradient - one) * (s.gradient - other)


def larger(s):
    """v as the larger of the faded v and the size of the gradient."""
    return np.maximum(s.beta2 * s.v, np.abs(s.gradient))


# What a mistake changes in the line that moves the parameter: see `Step.moved`.
PARTS_OF_A_STEP = {
    "m not corrected": {"m": lambda s: s.new_m},
    "m divided by its correction": {"m": lambda s: s.new_m / s.correct_m},
    "old m in the step": {"m": lambda s: s.m * s.correct_m},
    "no momentum": {"m": lambda s: s.gradient},
    "m once more": {"m": lambda s: s.correct_m * s.m_once_more},
    "v never falls": {"new v": lambda s: np.maximum(s.v, s.new_v)},
    "spread around m": {"new v": lambda s: spread(s, (s.new_m, s.new_m))},
    "v not corrected": {"v": lambda s: s.new_v},
    "v divided by its correction": {"v": lambda s: s.new_v / s.correct_v},
    "old v in the step": {"v": lambda s: s.v * s.correct_v},
    "epsilon inside the root": {"below": lambda s, v: np.sqrt(v + s.epsilon)},
    "epsilon left out": {"below": lambda s, v: np.sqrt(v)},
    "root forgotten": {"below": lambda s, v: v + s.epsilon},
    "uphill": {"sign": lambda s: -1},
    "learning rate forgotten": {"rate": lambda s: 1},
    **{f"weight decay: {decay:g}": {"decay": lambda s, d=decay: d} for decay in USUAL_DECAYS},
}


def without_epsilon(s):
    with np.errstate(invalid="ignore", divide="ignore"):
        return s.leaves(by=s.new_m * s.correct_m / np.sqrt(s.new_v * s.correct_v))


def epsilon_as_the_least(s):
    root = np.sqrt(s.new_v * s.correct_v)
    return s.leaves(by=s.new_m * s.correct_m / np.maximum(root, s.epsilon))


def epsilon_added_to_m(s):
    with np.errstate(invalid="ignore", divide="ignore"):
        m = s.new_m * s.correct_m + s.epsilon
        return s.leaves(by=m / np.sqrt(s.new_v * s.correct_v))


def epsilon_multiplied(s):
    with np.errstate(invalid="ignore", divide="ignore"):
        root = np.sqrt(s.new_v * s.correct_v)
        return s.leaves(by=s.new_m * s.correct_m / (root * s.epsilon))


def rate_in_m(s):
    m = s.beta1 * s.m + (1 - s.beta1) * s.gradient * s.rate
    return s.leaves(m=m, by=s.by(m, s.new_v) / s.rate)


def rate_in_the_gradient(s):
    m = s.beta1 * s.m + (1 - s.beta1) * s.gradient * s.rate
    v = s.beta2 * s.v + (1 - s.beta2) * (s.gradient * s.rate) ** 2
    return s.leaves(m=m, v=v, by=s.by(m, v) / s.rate)


def v_of_gradients(s):
    v = s.beta2 * s.v + (1 - s.beta2) * s.gradient
    return s.leaves(v=v, by=s.ratio(s.new_m * s.correct_m, np.maximum(v * s.correct_v, 0)))


def v_of_sizes(s):
    return s.leaves(v=s.beta2 * s.v + (1 - s.beta2) * np.abs(s.gradient))


ADAM_MISTAKES = {
    "bias correction missing": (
        lambda s: s.leaves(by=s.ratio(s.new_m, s.new_v)),
        "The bias correction is missing: early on, m and v are too small.",
    ),
    "m not corrected": (
        lambda s: s.leaves(by=s.ratio(s.new_m, s.new_v * s.correct_v)),
        "m is not corrected: both averages began at zero.",
    ),
    "v not corrected": (
        lambda s: s.leaves(by=s.ratio(s.new_m * s.correct_m, s.new_v)),
        "v is not corrected: both averages began at zero.",
    ),
    "m divided by its correction": (
        lambda s: s.leaves(by=s.ratio(s.new_m / s.correct_m, s.new_v * s.correct_v)),
        "m is divided by its correction. The corrections are factors: multiply.",
    ),
    "v divided by its correction": (
        lambda s: s.leaves(by=s.ratio(s.new_m * s.correct_m, s.new_v / s.correct_v)),
        "v is divided by its correction. The corrections are factors: multiply.",
    ),
    "divided by the corrections": (
        lambda s: s.leaves(by=s.ratio(s.new_m / s.correct_m, s.new_v / s.correct_v)),
        "m and v are divided by their corrections. The corrections are factors: multiply.",
    ),
    "corrections exchanged": (
        lambda s: s.leaves(by=s.ratio(s.new_m * s.correct_v, s.new_v * s.correct_m)),
        "The two corrections are exchanged: the first one is that of m.",
    ),
    "root before the correction": (
        lambda s: s.leaves(
            by=s.new_m * s.correct_m / (np.sqrt(s.new_v) * s.correct_v + s.epsilon)
        ),
        "The root is taken before the correction: correct v first.",
    ),
    "corrected averages kept": (
        lambda s: s.leaves(
            s.new_m * s.correct_m, s.new_v * s.correct_v, s.by(s.new_m, s.new_v)
        ),
        "The corrected averages are returned: m and v stay as they are, only the step is "
        "corrected.",
    ),
    "old m in the step": (
        lambda s: s.leaves(by=s.by(s.m, s.new_v)),
        "The step uses m as it was: compute the new one first.",
    ),
    "old v in the step": (
        lambda s: s.leaves(by=s.by(s.new_m, s.v)),
        "The step uses v as it was: compute the new one first.",
    ),
    "old averages in the step": (
        lambda s: s.leaves(by=s.by(s.m, s.v)),
        "The step uses m and v as they were: compute the new ones first.",
    ),
    "averages not returned": (
        lambda s: s.leaves(s.m, s.v, s.by(s.new_m, s.new_v)),
        "m and v are as they were: return the new ones.",
    ),
    "averages exchanged": (
        lambda s: {**s.result, "m": s.new_v, "v": s.new_m},
        "m and v are exchanged: the order is parameter, m, v.",
    ),
    "1 - beta1 forgotten": (
        lambda s: s.leaves(m=s.beta1 * s.m + s.gradient),
        "The factor (1 - beta1) of the gradient is missing in m.",
    ),
    "1 - beta2 forgotten": (
        lambda s: s.leaves(v=s.beta2 * s.v + s.gradient**2),
        "The factor (1 - beta2) of the squared gradient is missing in v.",
    ),
    "1 - beta forgotten": (
        lambda s: s.leaves(s.beta1 * s.m + s.gradient, s.beta2 * s.v + s.gradient**2),
        "The factor (1 - beta) is missing in both averages: the new gradient counts too much.",
    ),
    "epsilon left out": (
        without_epsilon,
        "epsilon is left out: a parameter that never had a gradient then divides 0 by 0.",
    ),
    "epsilon or the root": (
        epsilon_as_the_least,
        "The step is divided by the larger of the root and epsilon: add epsilon to the root.",
    ),
    "epsilon inside the root": (
        lambda s: s.leaves(
            by=s.new_m * s.correct_m / np.sqrt(s.new_v * s.correct_v + s.epsilon)
        ),
        "epsilon is added inside the root: add it to the root.",
    ),
    "learning rate in the gradient": (
        rate_in_the_gradient,
        "The gradient is multiplied by the learning rate before the averages: it belongs to the "
        "step alone.",
    ),
    "change returned": (
        lambda s: {**s.result, "parameters": s.result["parameters"] - s.parameter},
        "What is returned is how far the parameter moves: return the parameter, moved.",
    ),
    "m once more": (
        lambda s: s.leaves(by=s.by(s.m_once_more, s.new_v)),
        "The step's m has the gradient in it once more: take the new m as it is.",
    ),
    "v once more": (
        lambda s: s.leaves(by=s.by(s.new_m, s.beta2 * s.new_v + (1 - s.beta2) * s.gradient**2)),
        "The step's v has the squared gradient in it once more: take the new v as it is.",
    ),
    "both once more": (
        lambda s: s.leaves(
            by=s.by(
                s.m_once_more,
                s.beta2 * s.new_v + (1 - s.beta2) * s.gradient**2,
            )
        ),
        "The step's m and v have the gradient in them once more: they were new already when the "
        "step was made of them. Is adam_step called again after m and v have been stored?",
    ),
    "uphill": (
        lambda s: s.leaves(by=-s.by(s.new_m, s.new_v)),
        "The step goes uphill: subtract it.",
    ),
    "learning rate forgotten": (
        lambda s: s.leaves(by=s.by(s.new_m, s.new_v) / s.rate),
        "The learning rate is missing: the step has to be multiplied by it.",
    ),
    "root forgotten": (
        lambda s: s.leaves(
            by=s.new_m * s.correct_m / (s.new_v * s.correct_v + s.epsilon)
        ),
        "Divide by the root of v: v is an average of squares.",
    ),
    "no momentum": (
        lambda s: s.leaves(by=s.ratio(s.gradient, s.new_v * s.correct_v)),
        "The gradient itself was used for the step: use m, its average.",
    ),
    "no momentum, corrected": (
        lambda s: s.leaves(by=s.by(s.gradient, s.new_v)),
        "The gradient itself was used for the step: use m, its average.",
    ),
    "square forgotten": (
        v_of_gradients,
        "v is an average of the gradient: it should be one of its square.",
    ),
    "size for the square": (
        v_of_sizes,
        "v is an average of the gradient's size: it should be one of its square.",
    ),
    "gradient squared in m": (
        lambda s: s.leaves(m=s.beta1 * s.m + (1 - s.beta1) * s.gradient**2),
        "m is an average of the squared gradient: that is v.",
    ),
    **{
        code: (
            lambda s, m=m: s.leaves(v=spread(s, m(s))),
            "v is an average of (gradient - m) squared, the spread around m: it should be one of "
            "the gradient squared.",
        )
        for code, m in (
            ("spread around m", lambda s: (s.new_m, s.new_m)),
            ("spread around the old m", lambda s: (s.m, s.m)),
            ("spread around the old and the new m", lambda s: (s.m, s.new_m)),
        )
    },
    "v never falls": (
        lambda s: s.leaves(v=np.maximum(s.v, s.new_v)),
        "v never falls: the larger of the old and the new one is kept. It is a running average, "
        "which falls where the gradients become smaller.",
    ),
    **{
        code: (
            lambda s, by=by: s.leaves(v=larger(s), by=by(s)),
            "v is the larger of the faded v and the size of the gradient, as in AdaMax: it should "
            "be a running average of the gradient squared, and a step is m divided by the root of "
            "v, both corrected.",
        )
        for code, by in (
            ("as in AdaMax", lambda s: s.new_m * s.correct_m / (larger(s) + s.epsilon)),
            ("as in AdaMax, with a root", lambda s: s.by(s.new_m, larger(s))),
        )
    },
    "v of m": (
        lambda s: s.leaves(v=s.beta2 * s.v + (1 - s.beta2) * s.new_m**2),
        "v is an average of m squared: it should be one of the gradient squared.",
    ),
    "gradient descent": (
        lambda s: s.leaves(by=s.gradient),
        "The step is the gradient times the learning rate: Adam's is m divided by the root of v.",
    ),
    "learning rate in m": (
        rate_in_m,
        "The learning rate is in m: m is an average of gradients, and the rate belongs to the "
        "step.",
    ),
    "not divided": (
        lambda s: s.leaves(by=s.new_m * s.correct_m),
        "The step is not divided by the root of v.",
    ),
    "corrected by that of m": (
        lambda s: s.leaves(by=s.ratio(s.new_m * s.correct_m, s.new_v * s.correct_m)),
        "v is corrected by the factor of m: its own is correction_v.",
    ),
    "corrected by that of v": (
        lambda s: s.leaves(by=s.ratio(s.new_m * s.correct_v, s.new_v * s.correct_v)),
        "m is corrected by the factor of v: its own is correction_m.",
    ),
    "epsilon corrected": (
        lambda s: s.leaves(
            by=s.new_m * s.correct_m / (np.sqrt(s.correct_v) * (np.sqrt(s.new_v) + s.epsilon))
        ),
        "epsilon is corrected together with the root: add it after the correction, to the root of "
        "correction_v * v.",
    ),
    "epsilon multiplied": (
        epsilon_multiplied,
        "The root is multiplied by epsilon: add it.",
    ),
    "epsilon as a limit": (
        lambda s: s.leaves(
            by=s.new_m * s.correct_m / np.sqrt(np.maximum(s.new_v * s.correct_v, s.epsilon))
        ),
        "epsilon is the smallest that v may be: add it to the root.",
    ),
    "epsilon added to m": (
        epsilon_added_to_m,
        "epsilon is added to m: it belongs to the root of v, below the line.",
    ),
    **{
        f"kept between {low} and {high}": (
            lambda s, low=low, high=high: {
                **s.result, "parameters": np.clip(s.result["parameters"], low, high)
            },
            f"The parameters are kept between {low} and {high}: weights and cells are no colours, "
            "and go wherever their gradients lead.",
        )
        for low, high in ((0, 1), (-1, 1))
    },
    "nothing moves": (
        lambda s: {"m": s.m, "v": s.v, "parameters": s.parameter},
        "Nothing has changed: neither the parameter nor its averages.",
    ),
}  # fmt: skip


def adam_mistakes(inputs, row, settings):
    """code -> `Mistake` of one step, everywhere."""
    right = Step(inputs, row, settings)
    found = {code: Mistake(s, leave(right)) for code, (leave, s) in ADAM_MISTAKES.items()}
    rates = settings.rates

    def other(sentence, **changed):
        return Mistake(sentence, Step(inputs, row, settings, **changed).result)

    found["betas exchanged"] = other(
        "beta1 and beta2 are exchanged: m forgets faster than v.",
        beta1=rates.beta2,
        beta2=rates.beta1,
    )
    found["beta1 in v"] = other("v forgets by beta1: its own is beta2.", beta2=rates.beta1)
    found["beta2 in m"] = other("m forgets by beta2: its own is beta1.", beta1=rates.beta2)
    found["forgets the wrong way"] = other(
        "beta and 1 - beta are exchanged: the past counts beta, the new gradient the rest.",
        beta1=1 - rates.beta1,
        beta2=1 - rates.beta2,
    )
    for beta1, beta2 in USUAL_BETAS:
        found[f"betas written in: {beta1}, {beta2}"] = other(
            f"beta1 = {beta1} and beta2 = {beta2} are written in: take those of `rates`.",
            beta1=beta1,
            beta2=beta2,
        )
        for name, beta in (("beta1", beta1), ("beta2", beta2)):
            found[f"{name} written in: {beta}"] = other(
                f"{name} = {beta} is written in: take that of `rates`.", **{name: beta}
            )
    for epsilon in USUAL_EPSILONS:
        found[f"epsilon written in: {epsilon:g}"] = other(
            f"epsilon = {epsilon:g} is written in: take `rates.epsilon`.", epsilon=epsilon
        )
    for decay in USUAL_DECAYS:
        sentence = (
            f"The parameter itself shrinks, by {decay:g} times the learning rate: that is weight "
            "decay, which belongs to other optimizers, such as AdamW. Here only the gradient moves "
            "it."
        )
        shrunk = right.parameter * (1 - right.rate * decay)
        moved = right.result["parameters"] - right.parameter
        found[f"weight decay: {decay:g}"] = Mistake(
            sentence, {**right.result, "parameters": shrunk + moved}
        )
        parameter, gradient, m, v = inputs
        pulled = parameter, gradient + np.float32(decay) * parameter, m, v
        found[f"weight decay in the gradient: {decay:g}"] = Mistake(
            f"{decay:g} times the parameter is added to the gradient: that is weight decay, which "
            "is not asked for here.",
            Step(pulled, row, settings).result,
        )
    for rate in USUAL_RATES:
        found[f"learning rate written in: {rate:g}"] = other(
            f"A learning rate of {rate:g} is written in: take `learning_rate`.", rate=rate
        )
    return found


def step_mistakes(inputs, row, settings):
    """As `adam_mistakes`, and behind them each two in the line that moves the parameter."""
    single = adam_mistakes(inputs, row, settings)
    right = Step(inputs, row, settings)
    return single | {
        f"{code} and {other}": Mistake(
            f"{single[code].sentence} And: {single[other].sentence}",
            right.moved({**first, **second}),
        )
        for (code, first), (other, second) in combinations(PARTS_OF_A_STEP.items(), 2)
        if not first.keys() & second.keys()
    }


def row_mistakes(inputs, step, settings):
    """code -> `Mistake` for the wrong row of the table."""
    table = settings.table
    last = len(table) - 1

    def row(values, sentence):
        return Mistake(sentence, Step(inputs, values, settings).result)

    return {
        "indices of the table exchanged": row(
            table[:2, min(step, 1)],
            "The indices of the table are exchanged: corrections[row, 0] is the factor of m, "
            "corrections[row, 1] that of v.",
        ),
        "one row too early": row(
            table[min(step - 1, last)],
            "The corrections are those of the step before: row t belongs to step t."
            if step > 1
            else "The corrections are those of row 0, which belongs to no step: row t belongs to "
            "step t, and steps count from 1.",
        ),
        "one row too late": row(
            table[min(step + 1, last)],
            "The corrections are those of the next step: row t belongs to step t.",
        ),
        "always the first step": row(
            table[1], "The corrections are those of step 1: use the row of this step."
        ),
        "table in a circle": row(
            table[step % len(table)],
            "Beyond the end of the table its first rows are used again: stay at the last one.",
        ),
        "first row beyond the table": row(
            table[0 if step > last else step],
            "Beyond the end of the table row 0 is used: use the last row.",
        ),
        "not the last row": row(
            [1, 1] if step > last else table[step],
            "Beyond the end of the table the corrections are taken to be 1: use those of the last "
            "row.",
        ),
        "not the table": row(
            settings.exact(step),
            "Beyond the end of the table the corrections are not those of its last row.",
        ),
        "row before the last": row(
            table[min(step, last - 1)],
            "The last row of the table is never used: it is number shape[0] - 1.",
        ),
        "always the last row": row(
            table[last], "The corrections are always those of the last row: use this step's."
        ),
    }


def clearing_mistakes(inputs, row, settings):
    parameter, gradient, m, v = inputs
    cleared = Step((parameter, np.zeros_like(gradient), m, v), row, settings)
    return {
        "gradient not cleared": Mistake(
            "The gradient is still there: the next backward pass would add to it.",
            {"gradient": gradient},
        ),
        "cleared too early": Mistake(
            "The gradient was cleared before it was used: m and v saw a zero.", cleared.result
        ),
    }


def argument_mistakes(inputs, row, settings):
    """What is left if `adam_step` is given something else than it should be."""
    parameter, gradient, m, v = inputs
    right = Step(inputs, row, settings).result
    old = {"parameters": parameter, "m": m, "v": v}
    return {
        "m and v exchanged": Mistake(
            "adam_step gets v in the place of m: its arguments are parameter, gradient, m, v.",
            Step((parameter, gradient, v, m), row, settings).result,
        ),
        "parameter and gradient exchanged": Mistake(
            "adam_step gets the gradient in the place of the parameter: the parameter comes first.",
            Step((gradient, parameter, m, v), row, settings).result,
        ),
        "averages not stored": Mistake(
            "m and v are as they were: store what adam_step returns.", {"m": m, "v": v}
        ),
        "parameters not stored": Mistake(
            "The parameters are as they were: store the first of the three that adam_step returns.",
            {"parameters": parameter},
        ),
        "zero gradients skipped": Mistake(
            "Weights whose gradient is zero were left out: a weight moves in every step. Only "
            "cells of the grid wait.",
            {name: np.where(gradient == 0, old[name], right[name]) for name in old},
        ),
    }


# ---------------------------------------------------------------- the grid


def touched_cells(gradient):
    return (gradient != 0).any(axis=2)


def grid_result(
    inputs, steps, settings, touched=None, entry=None, steps_left=None, leave=None, beyond=None
):
    """What `adam_grid` leaves. touched: (gh, gw) bool, or (gh, gw, 3) for single channels.

    entry: the number of the table's row for each cell, or for each of its channels. leave: which
    of the `ADAM_MISTAKES`. beyond: entry -> corrections where the table has ended.
    """
    touched = touched_cells(inputs[1]) if touched is None else touched
    counts = touched if touched.ndim == 2 else touched.any(axis=2)
    new_steps = steps + counts
    entry = np.maximum(new_steps, 1) if entry is None else entry
    entry = entry if entry.ndim == 3 else entry[:, :, np.newaxis]
    row = settings.table[np.clip(entry, 0, len(settings.table) - 1)]
    if beyond:
        row = np.where((entry >= len(settings.table))[..., np.newaxis], beyond(entry), row)
    new = Step(inputs, row, settings)
    new = leave(new) if leave else new.result
    mask = touched if touched.ndim == 3 else touched[:, :, np.newaxis]
    old = {"parameters": inputs[0], "m": inputs[2], "v": inputs[3]}
    result = {name: np.where(mask, new[name], old[name]) for name in old}
    result["steps"] = new_steps if steps_left is None else steps_left
    result["gradient"] = np.where(mask, 0, inputs[1])
    return result


def grid_mistakes(inputs, steps, settings):
    """code -> `Mistake` for cells, counts, rows, and for a step of Adam in all cells touched."""
    found = {
        code: Mistake(sentence, grid_result(inputs, steps, settings, **changed))
        for code, (changed, sentence) in cell_mistakes(inputs, steps, settings).items()
    }
    right = grid_result(inputs, steps, settings)
    everywhere = np.ones(steps.shape, bool)
    for code, entry in (
        ("untouched cells moved", np.maximum(right["steps"], 1)),
        ("untouched cells moved on", steps + 1),
    ):
        found[code] = Mistake(
            "Cells that no sample touched were moved by old momentum: leave them as they are.",
            grid_result(inputs, steps, settings, everywhere, entry, right["steps"]),
        )
    found["gradient not cleared"] = Mistake(
        "The gradient is still there: the next backward pass would add to it.",
        {"gradient": inputs[1]},
    )
    for channels in ((0,), (1,), (2,), (0, 1), (1, 2)):
        gradient = inputs[1].copy()
        gradient[:, :, list(channels)] = 0
        which = f"channel{'s' * (len(channels) > 1)} {' and '.join(map(str, channels))}"
        found[f"only {which} cleared"] = Mistake(
            "The gradient of some channels is still there: clear all three.", {"gradient": gradient}
        )
    parameter, gradient, m, v = inputs
    found["averages not stored"] = Mistake(
        "m and v are as they were: store what adam_step returns.", {**right, "m": m, "v": v}
    )
    found["parameters not stored"] = Mistake(
        "The grid is as it was: store the first of the three that adam_step returns.",
        {**right, "parameters": parameter},
    )
    # The others see it, or the zero that channel 0 has left.
    for code, seen in (("channel 0 for all", [1, 1, 1]), ("channel 0 for all, cleared", [1, 0, 0])):
        first_channels = parameter, gradient[:, :, :1] * np.float32(seen), m, v
        found[code] = Mistake(
            "All channels move by the gradient of channel 0: each has its own.",
            grid_result(first_channels, steps, settings, touched_cells(gradient)),
        )
    no_gradient = parameter, np.zeros_like(gradient), m, v
    touched = touched_cells(gradient)
    found["cleared too early"] = Mistake(
        "The gradient was cleared before it was used: m and v saw a zero.",
        grid_result(no_gradient, steps, settings, touched),
    )
    for code, (leave, sentence) in ADAM_MISTAKES.items():
        found[code] = Mistake(sentence, grid_result(inputs, steps, settings, leave=leave))
    return found


def counting_mistakes(steps, touched, has):
    """How the steps of cells can be counted wrongly; as `cell_mistakes`."""
    return {
        "every cell counts": (
            {"touched": np.ones(steps.shape, bool)},
            "Every cell moves and counts a step: only those touched may.",
        ),
        "every cell counted": (
            {"steps_left": steps + 1},
            "Every cell counts a step: only those touched may.",
        ),
        "steps not counted": (
            {"steps_left": steps},
            "The steps are never counted: store the new number.",
        ),
        "steps neither counted nor used": (
            {"steps_left": steps, "entry": steps},
            "The steps are never counted: one more for a cell that was touched.",
        ),
        "counted three times, row by row": (
            {
                "steps_left": steps + 3 * touched,
                "entry": steps[:, :, np.newaxis] + np.array([1, 2, 3]),
            },
            "A cell counts each channel as a step: count once, before the loop over channels.",
        ),
        "counted three times": (
            {"steps_left": steps + 3 * touched},
            "A cell counts each channel as a step: count once, before the loop over channels.",
        ),
        "counted per channel": (
            {"steps_left": steps + has.sum(axis=2)},
            "A cell counts a step for each channel with a gradient: count once.",
        ),
    }


def cell_mistakes(inputs, steps, settings):
    """code -> (what to change in `grid_result`, sentence)."""
    _, gradient, averages, _ = inputs
    touched = touched_cells(gradient)
    has = gradient != 0
    counted = steps + touched
    mistakes = {
        **counting_mistakes(steps, touched, has),
        "momentum decides": (
            {"touched": averages.any(axis=2)},
            "A cell counts as touched if its m is not zero, which tells of earlier batches: look "
            "at its gradients.",
        ),
        "momentum and the gradient decide": (
            {"touched": touched & averages.any(axis=2)},
            "A cell counts as touched only if its m is not zero either: one that has never moved "
            "begins now.",
        ),
        "age decides": (
            {"touched": steps > 0},
            "A cell counts as touched if it has moved before: look at its gradients.",
        ),
        "the wrong way round": (
            {"touched": ~touched},
            "It is the touched cells that stay, and the others move: the test is the wrong way "
            "round.",
        ),
        "begun anew": (
            {"steps_left": np.where(touched, 1, steps), "entry": np.ones_like(steps)},
            "A touched cell begins again at step 1: it counts on from where it was.",
        ),
        "all channels needed": (
            {"touched": has.all(axis=2)},
            "A cell counts as touched only if none of its three gradients is zero: one that is not "
            "zero is enough.",
        ),
        "sum of the gradients": (
            {"touched": gradient.sum(axis=2) != 0},
            "A cell counts as touched if the sum of its gradients is not zero: 1 and -1 add up to "
            "zero, too. Look at each one.",
        ),
        "only positive gradients": (
            {"touched": (gradient > 0).any(axis=2)},
            "A cell counts as touched only if a gradient is above zero: negative ones count, too.",
        ),
        "a threshold": (
            {"touched": (np.abs(gradient) > 1e-11).any(axis=2)},
            "Cells with tiny gradients are left out: any gradient that is not zero counts.",
        ),
        "untouched cells forget their age": (
            {"steps_left": np.where(touched, counted, 0)},
            "The steps of untouched cells were changed: leave them as they are.",
        ),
        "old step number": (
            {"entry": steps},
            "The correction is that of the step before: row t belongs to step t. Is it looked up "
            "after the cell's steps are counted, and in the row of that number?",
        ),
        "row after the count": (
            {"entry": counted + 1},
            "The correction is that of the next step: row t belongs to step t.",
        ),
        "channel by channel, all counted": (
            {"touched": has, "steps_left": steps + 1},
            "Every cell counts a step, and channels without a gradient are left out: ask once, "
            "before the count, whether the cell was touched.",
        ),
        "channel by channel": (
            {"touched": has},
            "A channel without a gradient was left out, although its cell was touched.",
        ),
        "channels before the first gradient": (
            {"touched": np.logical_or.accumulate(has, axis=2)},
            "Channels before the first one with a gradient are left out: look at all channels "
            "first, in a loop of its own, and move all of them then.",
        ),
        "channel 0 only": (
            {"touched": touched[:, :, np.newaxis] & np.array([True, False, False])},
            "Only channel 0 is moved: is what moves a channel within the loop over the channels, "
            "and does that end too early, by a return?",
        ),
        "last channel left out": (
            {"touched": touched[:, :, np.newaxis] & np.array([True, True, False])},
            "The last channel is never moved: for channel in range(GRID_CHANNELS).",
        ),
        "first channel left out": (
            {"touched": touched[:, :, np.newaxis] & np.array([False, True, True])},
            "Channel 0 is never moved: for channel in range(GRID_CHANNELS).",
        ),
        "last channel only": (
            {"touched": touched[:, :, np.newaxis] & np.array([False, False, True])},
            "Only the last channel is moved: what moves a channel belongs into the loop over the "
            "channels.",
        ),
        "row 0 only": (
            {"touched": touched & (np.arange(len(steps)) == 0)[:, np.newaxis]},
            "Only the cells of row 0 are moved. Does a guard send the others home? There are "
            "height * width cells. Or is the row 0 for all? The launch has one direction, so "
            "cuda.grid(1) is the number of the cell, and its row is cell // width.",
        ),
        "steps held at the end of the table": (
            {"steps_left": np.where(touched, np.minimum(counted, len(settings.table) - 1), steps)},
            "Here steps stops at the end of the table. It has to count on: only the row stays at "
            "the last one.",
        ),
        "table in a circle": (
            {"entry": counted % len(settings.table)},
            "Beyond the end of the table its first rows are used again: stay at the last one.",
        ),
        "not the last row": (
            {"beyond": lambda entry: np.ones((*entry.shape, 2))},
            "Beyond the end of the table the corrections are taken to be 1: use those of the last "
            "row.",
        ),
        "not the table": (
            {"beyond": lambda entry: np.stack(settings.exact(entry), axis=-1)},
            "Beyond the end of the table the corrections are not those of its last row.",
        ),
        "first row beyond the table": (
            {"entry": np.where(counted < len(settings.table), counted, 0)},
            "Beyond the end of the table row 0 is used: use the last row.",
        ),
        "row before the last": (
            {"entry": np.minimum(counted, len(settings.table) - 2)},
            "The last row of the table is never used: it is number shape[0] - 1.",
        ),
        "age of cell 0": (
            {"entry": np.full(steps.shape, counted[0, 0])},
            "All cells use the age of the first one: each has its own.",
        ),
    }
    for channel in range(3):
        code = "one channel decides" if channel == 0 else f"channel {channel} decides"
        mistakes[code] = (
            {"touched": has[:, :, channel]},
            f"Only channel {channel} decides whether a cell was touched: look at all three.",
        )
    return mistakes


def compare(case, arrays, right, mistakes, threads, left=(), look=None):
    gradient, m, v, parameters = arrays
    left = [
        *left,
        *(
            Left(name, got, right[name], threads=threads)
            for name, got in zip(STORED, (m, v, parameters), strict=True)
        ),
        Left("gradient", gradient, np.zeros(gradient.shape), tolerance=0, threads=threads),
    ]
    expect_all(case, left, mistakes, look or call_to_look_at)


# ---------------------------------------------------------------- where a mistake is


def call_to_look_at(wrong):
    """As `line_to_look_at`, in a kernel: adam_step has a check of its own."""
    gets = "look at what adam_step gets for it, and at which of the three results is stored there."
    for name, other in (("m", "v"), ("v", "m")):
        if name in wrong and other not in wrong:
            return name, f"{other} is right, and {name} is not: {gets}"
    if set(wrong) == {"parameters"}:
        return (
            "the step",
            "m and v are right, and the parameter is not: look at the corrections and the learning "
            "rate that adam_step gets, and at what is stored of its first result.",
        )
    return None


def line_to_look_at(wrong):
    """(code, sentence) for a mistake that nobody knows, by what it has left right."""
    if "m" in wrong and "v" not in wrong:
        return "m", "v is right, and m is not: look at the line of m, and at what is handed to it."
    if "v" in wrong and "m" not in wrong:
        return "v", "m is right, and v is not: look at the line of v, and at what is handed to it."
    if set(wrong) == {"parameters"}:
        return (
            "the step",
            "m and v are right, and the parameter is not: look at the line that moves it, and at "
            "the corrections that it gets.",
        )
    return None


def cells_to_look_at(touched, wrong):
    """The same for the grid, where it may also be the wrong cells that are moved."""
    cells = {name: places.reshape(*touched.shape, -1).any(axis=2) for name, places in wrong.items()}
    changed = [name for name, places in cells.items() if (places & ~touched).any()]
    if changed:
        return (
            "untouched cells changed",
            f"Cells that no sample touched have changed, in {', '.join(changed)}: leave all of "
            "theirs as it is.",
        )
    if set(wrong) == {"steps"}:
        return "steps", "Only the steps are wrong: a cell that was touched counts one more."
    return call_to_look_at({name: places for name, places in wrong.items() if name != "steps"})
