"""Checks of lesson 8: early and late steps, touched and untouched cells, against float64."""

import numpy as np

from kernels.adam import bias_corrections
from kernels.config import AdamRates, Config
from lessons import reference
from lessons.grading.case import check

BETA1, BETA2, EPSILON = 0.9, 0.99, 1e-8
RATES = AdamRates(*map(np.float32, (BETA1, BETA2, EPSILON)))
RATE = 0.02
LIST_THREADS = ("grid", 1, 128)


@check("one_step")
def test_one_step(case):
    corrections = bias_corrections(BETA1, BETA2)
    for step in (1, 3, 40):
        inputs = state(case, (6,))
        if step == 1:
            # Positive, so that no wrong v is negative: its root would be an error without a clue.
            np.abs(inputs[1], out=inputs[1])
        row = corrections[step]
        got = [
            case.call("adam_step", *numbers, row[0], row[1], np.float32(RATE), RATES)
            for numbers in zip(*inputs, strict=True)
        ]
        got = np.array(got, np.float64)
        # The averages first: a parameter is wrong wherever its m or v is.
        for number, name in ((1, "m"), (2, "v"), (0, "parameter")):
            expected = adam(*inputs, step)[number]
            candidates = {
                code: (result[number], sentence)
                for code, (result, sentence) in known_mistakes(inputs, step).items()
            }
            case.expect(got[:, number], expected, name, candidates=candidates)


@check("weights")
def test_weights(case):
    corrections = bias_corrections(BETA1, BETA2)
    for step in (1, 7, 5000):  # the last one lies beyond the table
        inputs = state(case, (203,))
        arrays = [case.output((203,), initial=array) for array in inputs]
        weights, gradient, m, v = arrays
        case.run("launch_adam_weights", weights, gradient, m, v, step, corrections, RATE, RATES)
        expected = adam(*inputs, step)
        mistakes = known_mistakes(inputs, step)
        if 1 < step < len(corrections):
            mistakes["one row too early"] = (
                (adam(*inputs, step - 1)[0], expected[1], expected[2]),
                "The corrections are those of the step before: row t belongs to step t.",
            )
            mistakes["always the first step"] = (
                (adam(*inputs, 1)[0], expected[1], expected[2]),
                "The corrections are those of step 1: use the row of this step.",
            )
        compare(case, arrays, expected, mistakes, inputs[1], LIST_THREADS)


@check("grid")
def test_grid(case):
    shape = 9, 27, 3
    corrections = bias_corrections(BETA1, BETA2)
    inputs = state(case, shape)
    gradient = inputs[1]
    gradient[case.rng.random(shape[:2]) < 0.5] = 0  # cells that no sample touched
    gradient[:, ::2, 0] = 0  # one channel without a gradient does not make a cell untouched
    steps = case.rng.integers(0, 60, shape[:2]).astype(np.int32)
    arrays = [case.output(shape, initial=array) for array in inputs]
    counted = case.output(shape[:2], np.int32, initial=steps)
    grid, grad_grid, m, v = arrays
    case.run("launch_adam_grid", grid, grad_grid, m, v, counted, corrections, RATE, RATES)

    touched = (gradient != 0).any(axis=2)
    candidates = {
        "every cell counts": (steps + 1, "Every cell counts a step: only those touched may."),
        "steps not counted": (steps, "The steps are never counted: store the new number."),
        "counted three times": (
            steps + 3 * touched,
            "A cell counts each channel as a step: count once, before the loop over channels.",
        ),
        "one channel decides": (
            steps + (gradient[:, :, 0] != 0),
            "Only channel 0 decides whether a cell was touched: look at all three.",
        ),
        "all channels needed": (
            steps + (gradient != 0).all(axis=2),
            "A cell counts as touched only if all three gradients are there: one is enough.",
        ),
    }
    case.expect(counted, steps + touched, "steps", candidates=candidates)
    *expected, _ = reference.adam_grid(*inputs, steps, RATE, BETA1, BETA2, EPSILON)
    moved = adam(*inputs, np.maximum(steps + touched, 1)[:, :, np.newaxis])
    mistakes = known_mistakes(inputs, np.maximum(steps + touched, 1)[:, :, np.newaxis], touched)
    mistakes["untouched cells moved"] = (
        moved,
        "Cells that no sample touched were moved by old momentum: leave them as they are.",
    )
    mistakes["old step number"] = (
        where(touched, adam(*inputs, np.maximum(steps, 1)[:, :, np.newaxis]), inputs),
        "The correction is that of the step before: count first, then look it up.",
    )
    mistakes["channel by channel"] = (
        where(gradient != 0, moved, inputs),
        "A channel without a gradient was left out, although its cell was touched.",
    )
    compare(case, arrays, expected, mistakes, gradient, None)


# ---------------------------------------------------------------- Adam, right and wrong


def state(case, shape):
    """(parameter, gradient, m, v) in the middle of a training, as float32."""
    gradient = case.random(shape, -0.1, 0.1)
    # Away from zero: the first step is the sign of the gradient, whatever its size.
    gradient += np.sign(gradient) * np.float32(0.01)
    m, v = case.random(shape, -0.05, 0.05), case.random(shape, 1e-4, 0.01)
    return case.random(shape, -1, 1), gradient, m, v


def adam(parameter, gradient, m, v, step, beta1=BETA1, beta2=BETA2):
    return reference.adam(parameter, gradient, m, v, step, RATE, beta1, beta2, EPSILON)


def where(touched, new, inputs):
    """(parameter, m, v), new where touched, else as they were."""
    mask = touched if touched.ndim == new[0].ndim else touched[..., np.newaxis]
    old = inputs[0], inputs[2], inputs[3]
    return tuple(np.where(mask, n, o) for n, o in zip(new, old, strict=True))


def known_mistakes(inputs, step, touched=None):
    """code -> ((parameter, m, v), sentence)."""
    parameter, gradient, _, v = (array.astype(np.float64) for array in inputs)
    _, new_m, new_v = adam(*inputs, step)
    unbiased_m, unbiased_v = new_m / (1 - BETA1**step), new_v / (1 - BETA2**step)
    not_squared = BETA2 * v + (1 - BETA2) * gradient
    with np.errstate(invalid="ignore"):
        root_of_gradient = np.sqrt(not_squared / (1 - BETA2**step)) + EPSILON

    def moved(by):
        return parameter - RATE * by, new_m, new_v

    wrong = {
        "bias correction missing": (
            moved(new_m / (np.sqrt(new_v) + EPSILON)),
            "The bias correction is missing: early on, m and v are too small.",
        ),
        "one correction missing": (
            moved(new_m / (np.sqrt(unbiased_v) + EPSILON)),
            "m is not corrected: both averages began at zero.",
        ),
        "uphill": (
            moved(-unbiased_m / (np.sqrt(unbiased_v) + EPSILON)),
            "The step goes uphill: subtract it.",
        ),
        "root forgotten": (
            moved(unbiased_m / (unbiased_v + EPSILON)),
            "Divide by the root of v: v is an average of squares.",
        ),
        "no momentum": (
            moved(gradient / (np.sqrt(unbiased_v) + EPSILON)),
            "The gradient itself was used for the step: use m, its average.",
        ),
        "square forgotten": (
            (parameter - RATE * unbiased_m / root_of_gradient, new_m, not_squared),
            "v is an average of the gradient: it should be one of its square.",
        ),
        "betas exchanged": (
            adam(*inputs, step, BETA2, BETA1),
            "beta1 and beta2 are exchanged: m forgets faster than v.",
        ),
        "forgets the wrong way": (
            adam(*inputs, step, 1 - BETA1, 1 - BETA2),
            "beta and 1 - beta are exchanged: the past counts beta, the new gradient the rest.",
        ),
    }
    if touched is None:
        return wrong
    return {code: (where(touched, result, inputs), s) for code, (result, s) in wrong.items()}


def compare(case, arrays, expected, mistakes, gradient, threads):
    parameter, cleared, *averages = arrays
    for number, (name, got) in enumerate(zip(("m", "v"), averages, strict=True), 1):
        known = {code: (result[number], s) for code, (result, s) in mistakes.items()}
        case.expect(got, expected[number], name, threads, candidates=known)
    known = {code: (result[0], s) for code, (result, s) in mistakes.items()}
    case.expect(parameter, expected[0], "parameters", threads, candidates=known)
    left = {
        "gradient not cleared": (
            gradient,
            "The gradient is still there: the next backward pass would add to it.",
        )
    }
    zeros = np.zeros(gradient.shape)
    case.expect(cleared, zeros, "gradient", threads, tolerance=0, candidates=left)


assert (BETA1, BETA2) == (Config().beta1, Config().beta2)
