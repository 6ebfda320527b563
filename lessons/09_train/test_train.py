"""Checks of lesson 9, with small networks of several shapes on small pictures, and ragged batches.

Whether a step is right, the arrays say that it leaves. Why it is wrong, its calls say: which stage
was called when, and with which numbers.
"""

import itertools
import re
from dataclasses import replace
from functools import partial

import numpy as np

from kernels.adam import bias_corrections
from kernels.config import COLOURS, FEATURES, OUTPUTS, Config
from kernels.state import State
from kernels.training_step import Arrays, Stages
from lessons import reference
from lessons.grading.advice.late_functions import read_too_late
from lessons.grading.advice.never_called import condition_of_call, lines_of_calls
from lessons.grading.checks.case import check
from lessons.grading.checks.mistakes import same
from lessons.grading.exchange.own_changes import CLEARED, CUT_OFF, OTHERWISE, TIMES
from lessons.grading.exchange.stage_calls import BELONGS
from lessons.reference import training as reference_training

IMAGE_SHAPE = 9, 14, 3
# Of the pictures for single steps. A gradient is as large as the errors, and some people cut
# gradients off at 1, or at 5: here they reach beyond that, for all random numbers.
BRIGHTEST = 4000.0
LAST_STEP, LAST_RATE = "last step again", "last rate for all"  # what is told of the last round
STEP_STAGES = "sample_batch", "encode", "mlp_forward", "backward", "adam_weights", "adam_grid"


@check("evaluate")
def test_evaluate(case):
    config = random_config(case)
    arrays = random_arrays(case, config)
    uv = case.random((config.batch, 2))
    arrays = arrays._replace(uv=uv)
    features = reference.encode(uv, arrays.parameters.feature_grid.array)
    # Computed before the student's file runs: nothing that it does can change what is expected.
    colours = colours_of(arrays, features, config)
    before = [array.array.copy() for array in arrays.parameters]
    case.explain = partial(explained, case)
    case.run("evaluate", Stages(), arrays)
    left = [
        ("features", arrays.features.array, features),
        ("outputs", arrays.outputs.array[:, :COLOURS], colours),
        *zip(State._fields, (array.array for array in arrays.parameters), before, strict=True),
    ]
    stages, lines = ["encode", "mlp_forward"], case.submission.lines
    expect_arrays(case, left, mistake_in_calls(stage_calls(case), stages, [], lines=lines))


@check("one_step")
def test_one_step(case):
    config = random_config(case)
    rates = random_rates(case, 1)
    # Not step 1: there it would not be seen whether its number reaches Adam and the sampler.
    step = int(case.rng.integers(3, 9))
    arrays = with_an_old_batch(case, random_arrays(case, config))
    expected = expect_steps(arrays, config, step, rates)
    case.explain = partial(explained, case)
    case.run("training_step", Stages(), arrays, config, step, *rates[0])
    compare(case, arrays, expected, config, step, rates)


@check("several_steps")
def test_several_steps(case):
    case.advice = {
        "is out of bounds for axis 0": "learning_rates has a row for each step, counted from 0: "
        "row 0 belongs to first_step, and row first_step to none, or to another step.",
        "too many values to unpack": "If it is learning_rates that is taken apart: it has a row "
        "for each step, and a row has two rates: for rate_mlp, rate_grid in learning_rates.",
    }
    case.explain = partial(explained, case)
    config = random_config(case)
    # No multiple of three, nor one more: whoever looks up rates by the number of the
    # step, modulo three or not, finds others.
    take_steps(case, config, int(case.rng.choice([2, 5, 8])), 3)
    # Whoever finds a row by (step + 1) % 3 has found the right one so far.
    small = replace(config, batch=2, hidden=16, layers=1)
    take_steps(case, small, int(case.rng.choice([5, 9])), 4)


def take_steps(case, config, first_step, count):
    """Compare what `count` steps leave with the reference."""
    rates = random_rates(case, count)
    arrays = with_an_old_batch(case, random_arrays(case, config))
    expected = expect_steps(arrays, config, first_step, rates)
    case.run("training_steps", Stages(), arrays, config, first_step, rates)
    compare(case, arrays, expected, config, first_step, rates)


@check("learns")
def test_learns(case):
    image = picture(case)
    config = Config(steps=200, batch=512, seed=case.seed, grid_width=11, grid_height=8, hidden=16)
    arrays = random_arrays(case, config, image)
    factors = [config.learning_rate_factor(step) for step in range(1, config.steps + 1)]
    rates = np.outer(factors, [config.learning_rate_mlp, config.learning_rate_grid])
    rates = rates.astype(np.float32)
    case.explain = partial(explained, case)
    case.run("training_steps", Stages(), arrays, config, 1, rates, engine="native")

    height, width, _ = image.shape
    painted = paint(arrays.parameters, config, width, height)
    baseline = reference.baseline_psnr(image, config.grid_width, config.grid_height)
    reached = reference.psnr(painted, image)
    numbers = numbers_of_steps(config, 1, rates)
    mistake = mistake_in_steps(case, numbers, len(rates))
    known = mistake or changed_by_hand(case.calls)
    code, sentence = known or (
        "does not learn",
        f"after {config.steps} steps the picture has {reached:.2f} dB; bilinear interpolation of "
        f"a grid of the same size has {baseline:.2f} dB, and should be beaten by 1 dB",
    )
    case.require(reached > baseline + 1, code, sentence)
    require_stages(case, STEP_STAGES)


# ---------------------------------------------------------------- inputs


def random_config(case):
    """A small network of any shape, and constants for Adam that nobody can guess."""
    # With the usual epsilon, Adam's first step is the gradient's sign times the learning rate:
    # rounding of a gradient near zero would decide. A larger one makes results comparable.
    return Config(
        steps=10,
        batch=int(case.rng.integers(66, 90)),
        seed=int(case.rng.integers(2, 2**40)),
        grid_width=int(case.rng.integers(5, 8)),
        grid_height=int(case.rng.integers(3, 5)),
        hidden=int(case.rng.choice([16, 32])),
        layers=int(case.rng.integers(1, 4)),
        beta1=float(case.rng.choice([0.85, 0.95])),
        beta2=float(case.rng.choice([0.97, 0.98])),
        epsilon=float(case.rng.uniform(1e-4, 2e-4)) * BRIGHTEST,
    )


def random_rates(case, count):
    """(count, 2) float32: the network's and the grid's learning rate of each step."""
    return (
        case.rng.permutation(np.linspace(0.003, 0.02, 2 * count))
        .reshape(count, 2)
        .astype(np.float32)
    )


def random_arrays(case, config, image=None):
    """Arrays in the middle of a run: Adam has a past, and all differ."""
    if image is None:
        image = case.random(IMAGE_SHAPE, 0, BRIGHTEST)
    grid_shape = config.grid_height, config.grid_width, 3
    started = image.shape == IMAGE_SHAPE
    # Larger weights hand larger gradients down to the grid; for learning they are too large.
    largest = 0.8 if started else 0.4
    weights = case.random(config.weight_count, -largest, largest)
    past = 1e-3 * BRIGHTEST if started else 0.0
    state = State(
        case.random(grid_shape, -0.5, 0.5),
        case.random(grid_shape, -past, past),
        case.random(grid_shape, 0, past * past),
        case.rng.integers(0, 5 if started else 1, grid_shape[:2]).astype(np.int32),
        weights,
        case.random(weights.shape, -past, past),
        case.random(weights.shape, 0, past * past),
    )
    batch = config.batch
    return Arrays(
        image=image,
        parameters=State(*(case.output(a.shape, a.dtype, initial=a) for a in state)),
        corrections=bias_corrections(config.beta1, config.beta2),
        grad_weights=zeros(case, weights.shape),
        grad_feature_grid=zeros(case, grid_shape),
        loss_sum=zeros(case, 1),
        uv=case.output((batch, 2)),
        target=case.output((batch, COLOURS)),
        features=case.output((batch, FEATURES)),
        hidden=case.output((config.layers, batch, config.hidden)),
        outputs=case.output((batch, OUTPUTS)),
    )


def with_an_old_batch(case, arrays):
    """What the step before has left: reading it too early must give wrong numbers, not crash."""
    names = ("uv", "target", "features", "hidden", "outputs")
    shapes = {name: getattr(arrays, name).shape for name in names}
    return arrays._replace(
        **{name: case.output(shape, initial=case.random(shape)) for name, shape in shapes.items()}
    )


def zeros(case, shape):
    shape = (shape,) if isinstance(shape, int) else shape
    return case.output(shape, initial=np.zeros(shape))


def picture(case):
    """Smooth colours and sharp edges, 44 x 31 pixels: a sky, hills and a disc."""
    y, x = np.mgrid[0:31, 0:44]
    hills = 16 + 4 * np.sin(x / 5 + case.rng.uniform(0, 6)) + 2 * np.sin(x / 2.1)
    image = np.stack([0.3 + y / 90, 0.5 + y / 80, 0.9 - y / 70], axis=2)
    image[y > hills] = 0.15, 0.4, 0.1
    centre = case.rng.uniform(8, 36)
    image[(x - centre) ** 2 + (y - 8) ** 2 < 20] = 0.9, 0.3, 0.2
    return image.astype(np.float32)


# ---------------------------------------------------------------- what should come out


def reference_state(arrays, step):
    p = arrays.parameters
    return reference_training.State(
        step - 1, *(np.array(a.array, np.float64) for a in (p.weights, p.weights_m, p.weights_v)),
        *(np.array(a.array, np.float64) for a in (p.feature_grid, p.grid_m, p.grid_v)),
        p.grid_steps.array.astype(int),
    )  # fmt: skip


def expect_steps(arrays, config, first_step, rates):
    """(sum of losses, reference_training.State) after a step for each row of rates."""
    total = 0.0
    state = reference_state(arrays, first_step)
    for rate_mlp, rate_grid in rates.astype(np.float64):
        loss, state = reference_training.train_step(
            arrays.image, state, config.seed, config.batch,
            hidden=config.hidden, layers=config.layers,
            weight_learning_rate=rate_mlp, grid_learning_rate=rate_grid,
            beta1=config.beta1, beta2=config.beta2, epsilon=config.epsilon,
        )  # fmt: skip
        total += loss
    return total, state


def compare(case, arrays, expected, config, first_step, rates):
    loss, state = expected
    p = arrays.parameters
    left = [
        ("loss_sum", arrays.loss_sum.array, np.array([loss])),
        ("weights", p.weights.array, state.weights),
        ("feature_grid", p.feature_grid.array, state.feature_grid),
        ("weights_m", p.weights_m.array, state.weights_m),
        ("weights_v", p.weights_v.array, state.weights_v),
        ("grid_m", p.grid_m.array, state.feature_grid_m),
        ("grid_v", p.grid_v.array, state.feature_grid_v),
        ("grid_steps", p.grid_steps.array, state.feature_grid_steps),
        ("grad_weights", arrays.grad_weights.array, np.zeros(p.weights.array.shape)),
        ("grad_feature_grid", arrays.grad_feature_grid.array, np.zeros(p.grid_m.array.shape)),
    ]
    numbers = numbers_of_steps(config, first_step, rates)
    expect_arrays(case, left, mistake_in_steps(case, numbers, len(rates)))


def expect_arrays(case, left, mistake):
    """Compare (name, got, expected) with the tolerance of the check; gradients are exactly zero.

    mistake: (code, sentence) of what is wrong with the calls, None if nothing is.
    """
    for name, got, expected in left:
        tolerance = 0.0 if name.startswith("grad_") else case.usual_tolerance(expected)
        if same(got, expected, tolerance):
            continue
        candidates = {}
        known = mistake or changed_by_hand(case.calls)
        if known:
            code, sentence = known
            candidates = {code: (got.copy(), sentence)}
        elif name.startswith("grad_"):
            sentence = f"{name} is not zero after the step, though Adam clears it."
            candidates = {"gradient left": (got.copy(), sentence)}
        else:
            sentence = (
                "Each stage was called in its turn, with its arrays and numbers, and yet the "
                "results are not what the stages leave."
            )
            candidates = {"not what the stages leave": (got.copy(), sentence)}
        case.expect(got, expected, name, tolerance=tolerance, candidates=candidates)
    stages = ["encode", "mlp_forward"] if case.check.name == "evaluate" else STEP_STAGES
    require_stages(case, stages)


def require_stages(case, stages):
    """The results are right; but do they come from the stages that were handed over?"""
    called = {call.stage for call in stage_calls(case)}
    for stage in stages:
        case.require(
            stage in called,
            "not from stages",
            f"stages.{stage} was never called: call the functions in `stages`, not those of "
            "kernels/. Whoever calls this file may have other stages, such as yours.",
        )


# ---------------------------------------------------------------- what the calls say


def stage_calls(case):
    return [call for call in case.calls if call.stage]


def numbers_of_steps(config, first_step, rates):
    """stage -> for each step, the numbers that it should be called with."""
    steps = [float(step) for step in range(first_step, first_step + len(rates))]
    constants = [float(rate) for rate in config.adam_rates]
    mlp, grid = (rates[:, column].astype(float).tolist() for column in (0, 1))
    return {
        "sample_batch": {"seed": [float(config.seed)] * len(steps), "step": steps},
        "adam_weights": {
            "step": steps,
            "learning_rate": mlp,
            "rates": [constants] * len(steps),
        },
        "adam_grid": {"learning_rate": grid, "rates": [constants] * len(steps)},
    }


NEVER = {
    "sample_batch": ("old batch", "stages.sample_batch was never called: the batch is an old one."),
    "encode": (
        "never encoded",
        "stages.encode was never called: the features are not those of these points.",
    ),
    "mlp_forward": (
        "network not asked",
        "stages.mlp_forward was never called: the outputs are not those of these points.",
    ),
    "backward": (
        "no gradients",
        "stages.backward was never called: there are no gradients, and no loss.",
    ),
    "adam_weights": (
        "weights did not move",
        "stages.adam_weights was never called: call it after the backward pass, in each step.",
    ),
    "adam_grid": (
        "grid did not move",
        "stages.adam_grid was never called: call it after the backward pass, in each step.",
    ),
}
# (earlier, later): the later one reads what the earlier one writes.
ORDER = {
    ("sample_batch", "encode"): (
        "old batch",
        "The network was asked about points that were there before this step: draw the batch of "
        "this step first, and no other one.",
    ),
    ("encode", "mlp_forward"): (
        "network first",
        "The network ran before its features were made: it read what was left in the array.",
    ),
    ("sample_batch", "backward"): (
        "old batch",
        "The backward pass ran before the batch was drawn: draw it first.",
    ),
    ("mlp_forward", "backward"): (
        "old outputs",
        "The backward pass ran before the network was asked about this batch: evaluate first.",
    ),
    ("backward", "adam_weights"): (
        "Adam too early",
        "Adam ran before this step's gradients were there: call it after the backward pass.",
    ),
    ("backward", "adam_grid"): (
        "Adam too early",
        "Adam ran before this step's gradients were there: call it after the backward pass.",
    ),
}


def mistake_in_calls(calls, stages, numbers, count=1, lines=()):
    """(code, sentence) of what is wrong with the calls, or None.

    stages: those that a step needs, in their order. numbers: see `numbers_of_steps`. count: steps.
    lines: of the student's file.
    """
    made = {stage: [call for call in calls if call.stage == stage] for stage in stages}
    missing = [stage for stage in stages if not made[stage]]
    if len(missing) == len(stages):
        if count > 1:
            return no_step_taken(numbers["sample_batch"]["step"][0], count)
        return "no stage called", "None of the stages was called: it is they that do the work."
    if {"encode", "mlp_forward"} <= set(missing):
        return "network not asked", "The network was not asked about the batch: call evaluate."
    if missing:
        code, sentence = NEVER[missing[0]]
        told = sentence.replace("never called", f"never called{in_which_steps(numbers)}")
        return code, told + condition_of_call(missing[0], lines)
    needless = [call.stage for call in calls if call.stage not in stages]
    if needless:
        return (
            "needless stage",
            f"stages.{needless[0]} was called, and a step does not need it: it writes over what "
            "another stage has left.",
        )
    return (
        ends_by_number(made, numbers, count)
        or wrong_count(made, numbers, count, lines)
        or wrong_order(calls, stages, numbers, lines)
        or wrong_numbers(made, numbers)
        or other_array(calls)
    )


def no_step_taken(first, count):
    told = "No step was taken: the loop has a round for each row of rates."
    if first >= count:
        told += f" Does it count from first_step, here {first:.0f}, up to the number of rows?"
    return "no step taken", told


def mistake_in_steps(case, numbers, count):
    """The same of all stages of a step. Where the last round stands for all, the file may say why.

    numbers: see `numbers_of_steps`.
    """
    lines = case.submission.lines
    mistake = mistake_in_calls(stage_calls(case), STEP_STAGES, numbers, count, lines)
    if mistake is None or mistake[0] not in (LAST_STEP, LAST_RATE):
        return mistake
    code, sentence = mistake
    late = read_too_late(lines)
    return code, f"{sentence} {late or held_at_the_last_row(code, numbers, count, lines)}".rstrip()


def held_at_the_last_row(code, numbers, count, lines):
    """What is asked where the number of a step may be held at that of the last row."""
    first = numbers["sample_batch"]["step"][0]
    holds = any(re.search(r"\bmin\(|\bclip\(|\bif\b.*\belse\b", line) for line in lines)
    if code != LAST_RATE or first < count - 1 or not holds:
        return ""
    return (
        "Is the row looked up by the number of the step, and held at the last one? Row 0 belongs "
        f"to step {first:.0f}, the first of this run (first_step)."
    )


def in_which_steps(numbers):
    """The numbers of the steps, which an `if` may have looked at; else the one that is checked."""
    if not numbers:
        return " in evaluate"
    first, *others = numbers["sample_batch"]["step"]
    return f" in steps {first:.0f} to {others[-1]:.0f}" if others else f" in step {first:.0f}"


def ends_by_number(made, numbers, count):
    """A loop that takes the number of rows for the number of the last step, and rows by step."""
    if not numbers:
        return None
    first = int(numbers["sample_batch"]["step"][0])
    steps = [call.numbers.get("step") for call in made["sample_batch"]]
    rates = [call.numbers.get("learning_rate") for call in made["adam_weights"]]
    right = numbers["adam_weights"]["learning_rate"]
    by_number = any(
        1 < first <= last
        and steps == [float(number) for number in range(first, last + 1)]
        and rates == right[row : row + len(steps)]
        for last, row in ((count, first - 1), (count - 1, first - 1), (count - 1, first))
    )
    if not by_number:
        return None
    return "ends by the number of the step", (
        f"Only {len(steps)} of {count} steps were taken, from number {first} on, as if the rows of "
        "learning_rates were numbered by the step. But there is a row for each step to take, and "
        "row 0 belongs to first_step, whatever its number is."
    )


def wrong_count(made, numbers, count, lines):
    times = {stage: len(calls) for stage, calls in made.items()}
    if set(times.values()) == {count - 1}:
        steps = [call.numbers.get("step") for call in made.get("sample_batch", [])]
        *before, last = numbers["sample_batch"]["step"] if numbers else [0]
        which = f"the last, number {last:.0f}, is" if steps == before and before else "one is"
        return "step missing", f"{count - 1} steps were taken, not {count}: {which} missing."
    if len(set(times.values())) == 1 and times["encode"] < count:
        return (
            "steps missing",
            f"Only {times['encode']} of {count} steps were taken: does the loop end too early?",
        )
    if len(set(times.values())) == 1 and times["encode"] > count:
        return too_many_steps(times["encode"], count)
    for stage, number in times.items():
        asked_again = stage in ("encode", "mlp_forward") and number > count
        if number != count and not asked_again:
            each = "in one step" if count == 1 else f"in {count} steps"
            often = "once" if number == 1 else f"{number} times"
            places = lines_of_calls(stage, lines)
            where = (
                f" (lines {' and '.join(map(str, places))})" if len(places) == number == 2 else ""
            )
            return (
                "wrong number of calls",
                f"stages.{stage} was called {often} {each}{where}: once per step is right.",
            )
    return None


def too_many_steps(taken, count):
    if count == 1:
        return (
            "too many steps",
            f"Each stage was called {taken} times in one step: once per step is right.",
        )
    square = f" {taken} is {count} times {count}: is there a loop inside the loop?"
    return "too many steps", (
        f"{taken} steps were taken, not {count}: one for each row of learning_rates, with both "
        f"rates of that row.{square if taken == count * count else ''}"
    )


def wrong_numbers(made, numbers):
    if not numbers:
        return None
    got = {
        (stage, name): [call.numbers.get(name) for call in made[stage]]
        for stage, wanted in numbers.items()
        for name in wanted
    }
    right = {(stage, name): list(v) for stage, n in numbers.items() for name, v in n.items()}
    if got == right:
        return None
    return wrong_seed(got, right) or wrong_steps(got, right) or wrong_rates(got, right)


def wrong_seed(got, right):
    seed, step = ("sample_batch", "seed"), ("sample_batch", "step")
    if got[seed] == right[seed]:
        return None
    if got[seed] == right[step] and got[step] == right[seed]:
        return "seed and step exchanged", "sample_batch gets the seed first, then the step."
    if None in got[seed]:
        return "wrong seed", "sample_batch got something as `seed` that is no number."
    which = (
        f"seed {got[seed][0]:.0f}"
        if len(set(got[seed])) == 1
        else "seeds " + listed(got[seed], ".0f")
    )
    told = (
        f"The batch is that of {which}: give sample_batch the seed of the config, "
        f"{right[seed][0]:.0f}, in each step."
    )
    if got[step] != right[step] and None not in got[step]:
        told += (
            f" And its number of the step is {listed(got[step], '.0f')}, where "
            f"{listed(right[step], '.0f')} is right."
        )
    return "another seed", told


def wrong_steps(got, right):
    sampler, adam = ("sample_batch", "step"), ("adam_weights", "step")
    wanted = right[sampler]
    if got[sampler] == wanted and got[adam] == wanted:
        return None
    both = got[sampler] == got[adam]
    steps = got[sampler] if got[sampler] != wanted else got[adam]
    who = "Both stages" if both else "sample_batch" if steps is got[sampler] else "adam_weights"
    if None in steps:
        return "wrong step", f"{who} got something as `step` that is no number."
    told = (
        f"{who} got {listed(steps, '.0f')} as the number of the step; right is "
        f"{listed(wanted, '.0f')}"
    )
    if len(steps) == 1:
        return "wrong step", f"{told}: pass on `step`."
    if len(set(steps)) == 1:
        alone = "same batch" if who == "sample_batch" else "same step"
        last = LAST_STEP if steps[0] == wanted[-1] else "first step again"
        return last if both else alone, f"{told}: each step has its own number."
    if set(np.diff(steps)) == {1.0}:
        return "not from first_step", f"{told}: the first of them is first_step itself."
    return "wrong step", f"{told}."


def wrong_rates(got, right):
    mlp, grid = ("adam_weights", "learning_rate"), ("adam_grid", "learning_rate")
    for stage in ("adam_weights", "adam_grid"):
        if got[stage, "rates"] != right[stage, "rates"]:
            return (
                "constants written in",
                f"stages.{stage} got other constants for Adam than those of the config: pass on "
                "config.adam_rates.",
            )
    if got[mlp] == right[grid] and got[grid] == right[mlp]:
        return (
            "rates exchanged",
            "The network moved at the grid's learning rate, and the grid at the network's.",
        )
    for which in (mlp, grid):
        rates, wanted = got[which], right[which]
        if rates == wanted:
            continue
        if None in rates:
            return "wrong rate", f"stages.{which[0]} got a learning rate that is no number."
        told = (
            f"stages.{which[0]} got the learning rates {listed(rates)}; right is {listed(wanted)}"
        )
        first = right["sample_batch", "step"][0]
        row_0 = (
            f"the first row, with {wanted[0]:.4g}, belongs to step {first:.0f}, the first of this "
            "run (first_step)"
        )
        patterns = {
            "first rate again": (wanted[:1] * len(wanted), "each step has a row of its own"),
            LAST_RATE: (wanted[-1:] * len(wanted), "each step has a row of its own"),
            "rates one late": (
                [wanted[0], *wanted[:-1]],
                f"{row_0}, the second row to the step behind it",
            ),
            "rates one early": ([*wanted[1:], wanted[-1]], row_0),
            "rates reversed": (wanted[::-1], row_0),
        }
        for code, (pattern, advice) in patterns.items():
            if len(wanted) > 1 and rates == pattern:
                return code, f"{told}: {advice}."
        if rates in [[*wanted[turn:], *wanted[:turn]] for turn in range(1, len(wanted))]:
            return (
                "rates in a circle",
                f"{told}: {row_0}, whatever its number is.",
            )
        other = grid if which is mlp else mlp
        if rates == right[other]:
            names = ("network", "grid") if which is grid else ("grid", "network")
            return (
                "the other's rate",
                f"{told}: that is the {names[0]}'s; the {names[1]} has its own.",
            )
        whose = "those of the step's row" if len(wanted) > 1 else "those that this function gets"
        return (
            "wrong rate",
            f"{told}: pass on {whose} as they are; the schedule is in them already.",
        )
    return None


def listed(numbers, form=".4g"):
    """The first four."""
    more = ", ..." if len(numbers) > 4 else ""
    return ", ".join(f"{number:{form}}" for number in numbers[:4]) + more


def wrong_order(calls, stages, numbers, lines):
    places = {stage: [] for stage in stages}
    for place, call in enumerate(calls):
        if call.stage in places:
            places[call.stage].append(place)
    for (earlier, later), mistake in ORDER.items():
        if earlier not in places or later not in places:
            continue
        # The last time that the later stage ran in a step: asking the network twice is no mistake.
        for first, second in itertools.zip_longest(places[earlier], places[later]):
            if first is not None and second is not None and first > second:
                code, sentence = mistake
                drawn = earlier == "sample_batch"
                return code, sentence + (one_batch_ahead(calls, numbers, lines) if drawn else "")
    return next_step_too_early(places)


def one_batch_ahead(calls, numbers, lines):
    """What is said if each step draws the batch of the next one."""
    steps = [call.numbers.get("step") for call in calls if call.stage == "sample_batch"]
    wanted = numbers["sample_batch"]["step"] if numbers else []
    if not wanted or steps != [step + 1 for step in wanted]:
        return ""
    places = lines_of_calls("sample_batch", lines)
    where = f" line {places[0]} draws, in step {wanted[0]:.0f}," if len(places) == 1 else ""
    return (
        f" Here{where or f' step {wanted[0]:.0f} draws'} the batch of step {steps[0]:.0f}, for the "
        "step behind it: then the first step of a run has none of its own."
    )


def next_step_too_early(places):
    """A stage that ran for the next step before a later one had run for this."""
    for earlier, later in ORDER:
        before, after = places.get(earlier, []), places.get(later, [])
        if len(before) != len(after):
            continue
        for next_one, this in zip(before[1:], after, strict=False):
            if next_one < this:
                done = (
                    "so the gradients of both were added up"
                    if earlier == "backward"
                    else "and wrote over what it needs"
                )
                return (
                    "next step too early",
                    f"stages.{earlier} ran for the next step before stages.{later} had run for "
                    f"this one, {done}: end a step before the next begins.",
                )
    return None


def other_array(calls):
    """What was handed over, and is none of the arrays of the box."""
    for call in calls:
        for parameter, right in call.others.items():
            return (
                "another array",
                f"stages.{call.stage} got another array than {right} as `{parameter}`: the stages "
                "hand each other their results in the arrays of the box, so give it that one.",
            )
    return None


# What a stage writes anew: whatever was done to it before is gone.
WRITTEN_ANEW = {
    "sample_batch": ("arrays.uv", "arrays.target"),
    "encode": ("arrays.features",),
    "mlp_forward": ("arrays.hidden", "arrays.outputs"),
}
DIVIDED = "divided"  # by a whole number, such as the batch
# How an array was changed -> in words.
HOW_CHANGED = {
    CLEARED: "sets {array} to zero",
    TIMES: "multiplies {array} by {amount:.4g}",
    CUT_OFF: "cuts {array} off at {amount:.4g}",
    OTHERWISE: "changes {array}",
}
# (beginning of an array's name, how it was changed) -> what is to be said of it.
WHY_NOT = {
    ("arrays.loss_sum", CLEARED): "The losses of all steps add up there, until the caller reads "
    "them.",
    ("arrays.grad_", CLEARED): "Adam needs the gradients, and clears them itself.",
    ("arrays.grad_", TIMES): "Adam takes the gradients as backward has left them.",
    ("arrays.grad_", CUT_OFF): "Adam takes the gradients as backward has left them.",
    ("arrays.grad_", DIVIDED): "The gradients are means over the batch already: Adam takes them as "
    "backward has left them.",
}


def explained(case, found):
    """What a finding in a stage may come from: an array that the student's file has changed."""
    mistake = changed_by_hand(case.calls)
    return mistake[1] if mistake else ""


def changed_by_hand(calls):
    """(code, sentence) of what the student's file does to an array itself; None if nothing."""
    for place, call in enumerate(calls):
        for change in call.changed:
            if written_anew(change.array, calls[place:]):
                continue
            what = HOW_CHANGED[change.how].format(array=change.array, amount=change.amount)
            why = [w for (name, how), w in WHY_NOT.items() if is_of(change, name, how)]
            return "changed by hand", " ".join(
                [f"This file itself {what}, {when(calls, place)}.", *why, LEAVE_IT]
            )
    return None


LEAVE_IT = "Only the stages change arrays."


def is_of(change, name, how):
    share = 1 / change.amount if change.how == TIMES and change.amount else 0
    divided = share > 1.5 and abs(share - round(share)) < 1e-4 * share
    return change.array.startswith(name) and how == (DIVIDED if divided else change.how)


def written_anew(array, calls):
    """Whether the next of these calls that has to do with the array writes all of it."""
    for call in calls:
        if call.stage and array in BELONGS[call.stage].values():
            return array in WRITTEN_ANEW.get(call.stage, ())
    return False


def when(calls, place):
    before = f"after stages.{calls[place - 1].stage}" if place else ""
    after = f"before stages.{calls[place].stage}" if calls[place].stage else ""
    return " and ".join(words for words in (before, after) if words)


def colours_of(arrays, features, config):
    weights = arrays.parameters.weights.array.astype(np.float64)
    matrices = reference.split_weights(weights, config.hidden, config.layers)
    outputs, _ = reference.mlp_forward(features, matrices)
    return outputs[:, :COLOURS]


def paint(parameters, config, width, height):
    weights = parameters.weights.array.astype(np.float64)
    matrices = reference.split_weights(weights, config.hidden, config.layers)
    return reference.render(parameters.feature_grid.array, matrices, width, height)
