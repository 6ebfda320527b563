"""Checks of lesson 16. What a mistake leaves in all arrays of a run is computed in float64."""

import math
from functools import partial

import numpy as np

from kernels.classifier.digits import CLASSES, Difficulty, draw_digits
from kernels.classifier.network import Network, initial_parameters, parameter_count
from lessons.grading.advice.gelu_terms import Names, wrong_inner, wrong_rules, wrong_slope
from lessons.grading.checks.case import check
from lessons.grading.checks.mistakes import Left, Mistake, expect_all, same
from lessons.reference import classifier as reference

ELEMENTS = "grid", 2, (32, 8)  # threads over the elements of a matrix
WARP = 32
ROOT, CUBIC = np.sqrt(2 / np.pi), 0.044715


# ---------------------------------------------------------------- GELU


@check("gelu")
def test_gelu(case):
    # Near 0 the terms of the slope are hard to tell apart, and far out its tangent is 1.
    values = [*case.random(4, 0.4, 2.2), *-case.random(4, 0.4, 2.2), 0.0, 30.0, -30.0]
    x = np.asarray(values, np.float32).astype(np.float64)
    for name, right, wrong, largest in (
        ("gelu", reference.gelu(x), wrong_gelus(x), 30),
        # Some of its terms are larger than the slope itself, which is 1.13 at most.
        ("gelu_slope", reference.gelu_slope(x), wrong_slopes(x), 4),
    ):
        got = np.array([case.call(name, float(value)) for value in x])
        endless = x[~np.isfinite(got.astype(np.float64))]
        if endless.size and np.abs(endless).min() >= 30:
            case.call(name, float(endless[0]))  # again: a message shows the call that came last
            case.require(
                False,
                "overflow",
                f"{name} is no number far from zero, as at x = {endless[0]:g}: float32 ends at "
                "exp(88), so an exponential is infinite there, and infinity by infinity is no "
                "number. math.tanh does not need it.",
            )
        tolerance = case.check.tolerance * largest
        if np.isfinite(got.astype(np.float64)).all():
            wrong |= other_factors(name, x, got.astype(np.float64))
        if name == "gelu_slope":
            wrong |= measured_slope(x, got)
        case.expect(got, right, name, tolerance=tolerance, candidates=wrong)


def tangent(x, root=ROOT, cubic=CUBIC):
    return np.tanh(root * (x + cubic * x**3))


def normal_share(x):
    """How likely a normal random number is below each of x."""
    return np.array([0.5 * (1 + math.erf(value / math.sqrt(2))) for value in x])


def share_of_a_sigmoid(x):
    return 1 / (1 + np.exp(-np.clip(1.702 * x, -80, 80)))


def wrong_gelus(x):
    return {
        "half forgotten": (x * (1 + tangent(x)), "This is twice too much: the factor is x / 2."),
        "1 forgotten": (x / 2 * tangent(x), "The 1 + is missing: x / 2 * (1 + tanh(...))."),
        "x forgotten": (
            (1 + tangent(x)) / 2,
            "This is the share that passes, between 0 and 1: multiply it by x.",
        ),
        "root forgotten": (
            x / 2 * (1 + tangent(x, root=1)),
            "The factor sqrt(2 / pi) in front of the bracket is missing: ROOT_2_OVER_PI.",
        ),
        "cubic term forgotten": (
            x / 2 * (1 + tangent(x, cubic=0)),
            "The term 0.044715 x^3 within the tangent is missing.",
        ),
        "square, not cube": (
            x / 2 * (1 + np.tanh(ROOT * (x + CUBIC * x**2))),
            "The small term is 0.044715 x^3: x to the third power, not the second.",
        ),
        "root of the first term only": (
            x / 2 * (1 + np.tanh(ROOT * x + CUBIC * x**3)),
            "sqrt(2 / pi) multiplies the whole bracket, x + 0.044715 x^3.",
        ),
        "the exact GELU": (
            x * normal_share(x),
            "This is GELU with the error function: ours has a tangent, as in the README, and is a "
            "little different.",
        ),
        "ReLU": (
            np.maximum(x, 0),
            "This is ReLU: GELU is smooth, and a little below 0 on the left.",
        ),
        "sigmoid": (
            x * share_of_a_sigmoid(x),
            "This is x times a sigmoid, another approximation: use the tangent of the README.",
        ),
    }


def wrong_slopes(x):
    t = tangent(x)
    inner = ROOT * (1 + 3 * CUBIC * x**2)
    flat = (1 + t) / 2
    return {
        "product rule forgotten": (
            flat,
            "x / 2 was taken for a constant's factor: 1 + tanh(...) depends on x, too, so by the "
            "product rule there is a second term.",
        ),
        "first term forgotten": (
            x / 2 * (1 - t**2) * inner,
            "The first term of the product rule is missing: (1 + tanh) / 2.",
        ),
        "chain rule forgotten": (
            flat + x / 2 * (1 - t**2),
            "The slope of what is inside of the tangent is missing: ROOT_2_OVER_PI * (1 + 3 * "
            "CUBIC * x * x).",
        ),
        "3 forgotten": (
            flat + x / 2 * (1 - t**2) * ROOT * (1 + CUBIC * x**2),
            "The derivative of x^3 is 3 x^2: the 3 is missing.",
        ),
        "root forgotten": (
            flat + x / 2 * (1 - t**2) * (1 + 3 * CUBIC * x**2),
            "The slope of what is inside of the tangent has the factor ROOT_2_OVER_PI, too.",
        ),
        "half forgotten": (
            flat + x * (1 - t**2) * inner,
            "The second term is twice too large: it has the factor x / 2.",
        ),
        "half of the first term forgotten": (
            2 * flat + x / 2 * (1 - t**2) * inner,
            "The first term is twice too large: the slope of x / 2 is a half.",
        ),
        "cube, not square": (
            flat + x / 2 * (1 - t**2) * ROOT * (1 + 3 * CUBIC * x**3),
            "The derivative of x^3 is 3 x^2, not 3 x^3.",
        ),
        "plus, not minus": (
            flat + x / 2 * (1 + t**2) * inner,
            "The derivative of tanh is 1 - tanh^2, not 1 + tanh^2.",
        ),
        "tangent not squared": (
            flat + x / 2 * (1 - t) * inner,
            "The derivative of tanh is 1 - tanh^2: the square is missing.",
        ),
        "slope of a sigmoid": (
            flat + x / 2 * t * (1 - t) * inner,
            "t * (1 - t) is the derivative of a sigmoid; that of tanh is 1 - t * t.",
        ),
        "slope of the exact GELU": (
            normal_share(x) + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi),
            "This is the slope of GELU with the error function: ours has a tangent.",
        ),
        "slope of the sigmoid's GELU": (
            share_of_a_sigmoid(x) * (1 + 1.702 * x * (1 - share_of_a_sigmoid(x))),
            "This is the slope of x times a sigmoid: ours has a tangent.",
        ),
        "slope of ReLU": (np.where(x > 0, 1, 0), "This is the slope of ReLU."),
        "gelu itself": (reference.gelu(x), "This is gelu(x), not its derivative."),
    }


def other_factors(name, x, got):
    """code -> (result, sentence), if some of the formula's factors are other ones."""
    names = Names("ROOT_2_OVER_PI", "CUBIC")
    if name == "gelu":
        return wrong_inner(x, got, names)
    return wrong_rules(x, names) | wrong_slope(x, got, names)


def measured_slope(x, got):
    """code -> (result, sentence), if slopes are nearly right, and not even 1 where all is flat."""
    near = np.abs(got - reference.gelu_slope(x)).max() < 0.02
    far_out = got[np.argmax(x)]
    if not near or abs(far_out - 1) < 1e-6:
        return {}
    sentence = (
        f"The slopes are nearly right, and at x = {x.max():g} it is {far_out:.6g}, where a formula "
        "gives 1: a slope that is measured, as a difference of two values of gelu, has only three "
        "or four digits in float32. Write the derivative, with the product rule."
    )
    return {"measured, not computed": (got.copy(), sentence)}


@check("bias_gelu")
def test_bias_gelu(case):
    for shape in ((9, 37), (1, 1), (8, 32), (70, 3)):
        forward_and_back(case, shape)


def forward_and_back(case, shape):
    sums, bias = case.random(shape, -3, 3), case.random(shape[1], -2, 2)
    hidden = case.output(shape)
    case.run("launch_bias_gelu", sums, bias, hidden)
    s, b = sums.astype(np.float64), bias.astype(np.float64)
    case.expect(hidden, reference.gelu(s + b), "hidden", ELEMENTS, candidates=wrong_biases(s, b))
    before = case.random(shape, -1, 1)
    delta = case.output(shape, initial=before)
    case.run("launch_gelu_backward", sums, bias, delta)
    d = before.astype(np.float64)
    right = d * reference.gelu_slope(s + b)
    case.expect(delta, right, "delta", ELEMENTS, candidates=wrong_ways_back(s, b, d))


def bias_of_samples(s, b):
    """sums + bias where the bias is that of the sample's number, if there are as many."""
    return s + b[: len(s), np.newaxis] if len(s) <= len(b) else np.full(s.shape, np.nan)


def wrong_biases(s, b):
    gelu = reference.gelu
    return {
        "bias forgotten": (gelu(s), "The bias was not added: gelu(sums + bias)."),
        "bias afterwards": (
            gelu(s) + b,
            "The bias was added to the result: it belongs inside, gelu(sums + bias).",
        ),
        "no activation": (s + b, "This is sums + bias: take its gelu."),
        "bias of the sample": (
            gelu(bias_of_samples(s, b)),
            "The bias was that of the sample's number: each unit has one, bias[unit].",
        ),
        "first bias for all": (
            gelu(s + b[0]),
            "Every unit got the first bias: bias[unit].",
        ),
        "bias subtracted": (gelu(s - b), "The bias was subtracted: sums + bias."),
        "slope, not value": (
            reference.gelu_slope(s + b),
            "This is the slope: the way forward takes gelu, the way back gelu_slope.",
        ),
    }


def wrong_ways_back(s, b, d):
    slope, gelu = reference.gelu_slope, reference.gelu
    return {
        "bias forgotten": (
            d * slope(s),
            "The slope is taken at sums, without the bias; gelu was taken at sums + bias.",
        ),
        "slope of the result": (
            d * slope(gelu(s + b)),
            "The slope is taken at hidden, GELU's result: it belongs at sums + bias.",
        ),
        "slope alone": (
            slope(s + b),
            "delta became the slope: multiply what was there by it, *=, not =.",
        ),
        "slope added": (d + slope(s + b), "The slope was added to delta: multiply by it."),
        "value, not slope": (
            d * gelu(s + b),
            "delta was multiplied by gelu: on the way back it is gelu_slope.",
        ),
        "twice": (d * slope(s + b) ** 2, "delta was multiplied by the slope twice."),
        "bias of the sample": (
            d * slope(bias_of_samples(s, b)),
            "The bias was that of the sample's number: each unit has one, bias[unit].",
        ),
    }


# ---------------------------------------------------------------- softmax


@check("softmax")
def test_softmax(case):
    case.explain = why_not_a_row
    # A class for each of 5 threads; for each of 32; for 33, so that one thread has two; 70; one.
    for samples, classes in ((7, 5), (3, 32), (4, 33), (6, 70), (2, 1)):
        logits = case.random((samples, classes), -3, 3)
        classified(case, logits, case.random(classes, -1, 1))


def why_not_a_row(found):
    """What somebody mostly has in mind who reads the wrong row, or writes a loss twice."""
    rows = any(f"{name}[" in found.message for name in ("logits", "labels", "losses"))
    if found.kind == "out-of-bounds" and rows and "axis 0 has" in found.message:
        return "a block has one sample, all of its threads the same: its number is cuda.blockIdx.x"
    if found.kind == "race" and "losses[" in found.message:
        return "the loss of a sample is written once, by thread 0 or by the thread of the label"
    if found.kind == "race" and "writes shared[" in found.message:
        return (
            "in a tree the lower half of the active threads takes from the upper half, thread + "
            "active, which has nothing to do in this round. If yours does that, it is a barrier "
            "that is missing: before each round, before shared[0] is read, and behind that, since "
            "`shared` is used again"
        )
    return ""


@check("overflow")
def test_overflow(case):
    classes = 40
    logits = case.random((6, classes), -3, 3)
    logits[0] += 1e4
    logits[1] -= 1e4
    logits[2, -1] = 1e4  # the largest is in the last class, beyond the block's threads
    logits[3, 0] = 1e4
    logits[4] = np.linspace(-1e4, 1e4, classes)
    bias = case.random(classes, -1, 1)
    classified(case, logits, bias, labels=np.array([1, 2, 3, 5, 0, 7], np.int32), finite=True)
    bias[case.rng.integers(classes)] = 300
    logits = case.random((2, classes), -3, 3)
    classified(case, logits, bias, labels=np.array([4, 9], np.int32), finite=True)


@check("one_block_per_row")
def test_one_block_per_row(case):
    samples, classes = 4, 96
    logits = case.random((samples, classes), -3, 3)
    counts = classified(case, logits, case.random(classes, -1, 1))
    read = counts.of(logits)
    times = read.reads / logits.size
    case.budget(
        "sectors of 32 bytes read per 32 logits",
        yours=read.sectors * WARP / logits.size,
        ours=3 * 4 + WARP / classes,  # the largest, the sum, the result; and one for the label
        allowed=24,
        diagnosis="not side by side",
        sentence="a row is read by one thread, or by threads that do not read neighbours: let the "
        "32 threads of a block read 32 neighbouring classes at once."
        if read.sectors * WARP / logits.size > 6 * times
        else f"each logit is read {times:.0f} times: keep it, or what is made of it, in a variable "
        "within a round of the loop. For the largest, the sum and the result three are enough.",
        line=counts.busiest_line("sectors", logits),
    )
    case.budget(
        "atomic additions in shared memory per sample",
        yours=counts.shared().atomics / samples,
        ours=0,
        allowed=4,
        diagnosis="a queue, not a tree",
        sentence="all threads of a block add to one number, and wait for each other: a tree has "
        "no queue.",
    )


def classified(case, logits, bias, labels=None, finite=False):
    """Run softmax_cross_entropy, and compare all that it leaves. Returns the `Counts`.

    finite: ask first whether all numbers are, and say why one may not be.
    """
    samples, classes = logits.shape
    if labels is None:
        labels = case.rng.integers(0, classes, samples).astype(np.int32)
        labels[0] = classes - 1
        labels[1] = (classes - 1) % WARP  # another class of the same thread, if there is one
    probabilities, delta = case.output(logits.shape), case.output(logits.shape)
    losses = case.output((samples,))
    counts = case.measure(
        "launch_softmax_cross_entropy", logits, bias, labels, probabilities, delta, losses
    )
    # The sum in float32, as the kernel's: of logits of 10,000 only three digits behind the point
    # are left, which is no mistake.
    z = (logits + bias).astype(np.float64)
    right = softmax_arrays(reference.softmax(z), labels, reference.cross_entropy(z, labels))
    if finite:
        require_finite(case, z, bias, probabilities, delta, losses)
        require_endless_loss(case, losses.array, right["losses"])
    require_natural_base(case, z, probabilities.array)
    if same(probabilities.array, right["probabilities"], case.check.tolerance):
        require_nothing_added(case, losses.array, right["losses"])
    left = [
        Left("probabilities", probabilities, right["probabilities"]),
        Left("delta", delta, right["delta"]),
        Left("losses", losses, right["losses"]),
    ]
    expect_all(
        case, left, wrong_softmaxes(z, logits.astype(np.float64), bias, labels, losses.sentinel)
    )
    sums = probabilities.array.sum(axis=1, dtype=np.float64)
    case.expect(sums, np.ones(samples), "sum of a row of probabilities")
    return counts


def require_natural_base(case, z, probabilities):
    """End the check if the probabilities are a softmax of z times a number, as of another base."""
    found = probabilities.astype(np.float64)
    tolerance = case.check.tolerance
    positive = np.isfinite(found).all() and (found > 0).all()
    if same(found, reference.softmax(z), tolerance) or not positive:
        return
    logarithms = np.log(found)
    logarithms -= logarithms.mean(axis=1, keepdims=True)
    centred = z - z.mean(axis=1, keepdims=True)
    factor = (logarithms * centred).sum() / max((centred**2).sum(), 1e-9)
    case.require(
        # Probabilities that are all alike are none of a base.
        abs(factor) < 0.01 or not same(found, reference.softmax(factor * z), 10 * tolerance),
        "another base",
        f"the probabilities are those of exp({factor:.5g} * z), and not of exp(z): z is multiplied "
        f"or divided by a number, or what is raised to z is {np.exp(factor):.5g}, and not "
        "e = 2.71828.",
    )


def require_finite(case, z, bias, probabilities, delta, losses):
    """End the check for a number that is none, or infinite; a large bias comes by itself."""
    bad = ~np.isfinite(probabilities.array).all(axis=1) | ~np.isfinite(delta.array).all(axis=1)
    negative = z.max(axis=1) < 0
    case.require(
        not (bad.any() and not (bad & ~negative).any()),
        "largest from zero",
        "where all logits are far below 0, a probability is no number: every exp is 0, and 0 / 0. "
        "The largest has to be one of them: begin at -math.inf, not at 0.",
    )
    case.require(
        not (bad.any() and np.abs(bias).max() > 100),
        "largest without the bias",
        "with small logits and a large bias a probability is no number: the largest is subtracted "
        "from logits + bias, so it has to be the largest of these, with the bias.",
    )
    large = np.abs(z).max(axis=1) > 1000
    in_words = " or ".join(map(str, np.unique(z[bad & large].argmax(axis=1))))
    case.require(
        not ((bad & large).any() and (large & ~bad).any()),
        "not the largest of the row",
        "a probability is no number in some rows, and in others, with logits as large, all are: "
        "something is subtracted, but not the largest of the whole row. Where it goes wrong, the "
        f"largest is that of class {in_words}.",
    )
    case.require(
        not bad.any(),
        "overflow",
        "a probability is no number: math.exp of a large logit is infinite in float32, and "
        "infinity divided by infinity is no number. Subtract the row's largest logit, bias "
        "included, first.",
    )
    case.require(
        bool(np.isfinite(losses.array).all()),
        "logarithm of zero",
        "a loss is infinite: a very small probability is 0 in float32, and its logarithm is minus "
        "infinity. Write log(sum) - (z - largest) instead of -log(probability).",
    )


def require_endless_loss(case, losses, expected):
    """End the check if losses end somewhere, as those of a probability that is kept above 0 do."""
    most = float(losses.max())
    least = np.exp(-max(most, 0))
    beyond = expected > most + 1
    case.require(
        beyond.sum() < 2 or not np.allclose(losses[beyond], most, rtol=1e-4),
        "loss cut off",
        f"no loss is larger than {most:.4g}, which is -log({least:.1g}): is a probability "
        "kept above that, or is that added to it, before the logarithm is taken? It hides that the "
        "probability has become 0. Write log(sum) - (z - largest), with z of the label: it needs "
        "no limit.",
    )


def require_nothing_added(case, losses, expected):
    """End the check if losses are those of probabilities that have become a little larger."""
    found, right = losses.astype(np.float64), np.exp(-expected)
    wrong = np.abs(found - expected) > case.check.tolerance * np.abs(expected).max()
    if not wrong.any() or not np.isfinite(found).all() or (found[wrong] > expected[wrong]).any():
        return
    # Where the probability is smallest, most of its digits are left.
    least = right.argmin()
    amount = float(np.exp(-found[least]) - right[least])
    room = 10 * case.check.tolerance * np.abs(expected).max()
    alike = same(found, -np.log(right + max(amount, 0)), room)
    # A single wrong loss is that of some amount; people take a power of ten.
    usual = amount > 0 and abs(np.log10(amount) - np.round(np.log10(amount))) < 0.02
    case.require(
        not (alike and 0 < amount < 0.01 and (usual or wrong.sum() > 1)),
        "something added to the probability",
        f"the losses are those of probabilities that are {amount:.1g} larger: is that added to the "
        "probability before the logarithm is taken, against log(0)? Then no loss is larger than "
        f"{-np.log(amount):.4g}, however wrong the answer. Write log(sum) - (z - largest), with z "
        "of the label: it needs no such guard.",
    )


def softmax_arrays(probabilities, labels, losses):
    delta = probabilities.copy()
    delta[np.arange(len(labels)), labels] -= 1
    return {"probabilities": probabilities, "delta": delta, "losses": losses}


def first_classes(z, labels, garbage, by_one):
    """What threads leave that have one class each: nothing of the others.

    by_one: whether one thread writes the loss, and reads the label's logit for it.
    """
    inside = np.arange(z.shape[1]) < WARP
    own = np.where(inside, z, -np.inf)
    losses = reference.cross_entropy(own, labels * 0) + z[:, 0] - z[np.arange(len(z)), labels]
    if not by_one:
        losses = np.where(labels < WARP, losses, garbage)
    arrays = softmax_arrays(reference.softmax(own), labels, losses)
    return {
        name: array if name == "losses" else np.where(inside, array, garbage)
        for name, array in arrays.items()
    }


def wrong_softmaxes(z, logits, bias, labels, garbage):
    """code -> `Mistake`: what known mistakes leave in all three arrays.

    z: logits + bias, rounded as the kernel's are.
    """
    y, loss = reference.softmax(z), reference.cross_entropy(z, labels)
    right = softmax_arrays(y, labels, loss)
    rows = np.arange(len(labels))
    one_hot = y - right["delta"]
    thread = np.arange(z.shape[1]) % WARP
    largest = z.max(axis=1)
    total = np.exp(z - largest[:, np.newaxis]).sum(axis=1)

    def of(sentence, **arrays):
        return Mistake(sentence, {**right, **arrays})

    def divided(sums):
        """The arrays, if the exponentials are divided by these sums, one per sample."""
        shares = np.exp(z - largest[:, np.newaxis]) / sums[:, np.newaxis]
        return softmax_arrays(shares, labels, np.log(sums) + largest - z[rows, labels])

    return {
        "bias forgotten": of(
            "The bias was not added to the logits: z is logits + bias, in all three loops.",
            **softmax_arrays(
                reference.softmax(logits), labels, reference.cross_entropy(logits, labels)
            ),
        ),
        "label forgotten": of(
            "delta is the probabilities: for the label, 1 is subtracted.", delta=y
        ),
        "sign reversed": of(
            "The sign of delta is reversed: it is probability - label, y - t.", delta=one_hot - y
        ),
        "label added": of("For the label, 1 was added: it is subtracted.", delta=y + one_hot),
        **{
            code: of(
                "Only the first 32 classes are looked at: a thread may have several classes, in "
                "steps of CLASS_THREADS.",
                **first_classes(z, labels, garbage, by_one),
            )
            for code, by_one in (
                ("one class per thread", False),
                ("one class per thread, one thread for the loss", True),
            )
        },
        "thread compared with the label": of(
            "The number of the thread is compared with the label: a thread has several classes, in "
            "steps of CLASS_THREADS, so it is the class that has to be the label.",
            delta=y - (thread == labels[:, np.newaxis]),
        ),
        "1 for all classes of a thread": of(
            "1 is subtracted for every class of the thread that has the label: only for the "
            "label's own class.",
            delta=y - (thread == labels[:, np.newaxis] % WARP),
        ),
        "1 for the first classes only": of(
            "Where the label is 32 or more, 1 is not subtracted: a thread has several classes, in "
            "steps of CLASS_THREADS, and any of them may be the label.",
            delta=y - one_hot * (labels < WARP)[:, np.newaxis],
        ),
        "1 subtracted everywhere": of(
            "1 was subtracted for every class: only for the label.", delta=y - 1
        ),
        "label without a thread": of(
            "A loss was not written whose label is 32 or more: there are 32 threads. Let thread 0 "
            "write it, or the thread that has the label among its classes.",
            losses=np.where(labels < WARP, loss, garbage),
        ),
        "number of the label subtracted": of(
            "From each probability the number of the label is subtracted: t is no number of a "
            "class, but 1 for the label's class, and 0 for the others.",
            delta=y - labels[:, np.newaxis],
        ),
        "number of the label subtracted there": of(
            "For the label's class its number is subtracted: t is 1 there, whatever the number.",
            delta=y - labels[:, np.newaxis] * one_hot,
        ),
        "delta of a mean": of(
            "delta is divided by the number of samples: it belongs to one sample, and gradients "
            "are sums over the mini-batch.",
            delta=right["delta"] / len(labels),
        ),
        **wrong_deltas(y, right["delta"], of),
        "label's class alone": of(
            "delta is zero but for the label: the other classes have a slope, too, their "
            "probability.",
            delta=right["delta"] * one_hot,
        ),
        "first label for all": of(
            "Every sample got the label of the first one: labels[sample].",
            **softmax_arrays(y, np.full_like(labels, labels[0]), loss)
            | {"losses": reference.cross_entropy(z, np.full_like(labels, labels[0]))},
        ),
        **wrong_losses(z, right, largest, total, labels, garbage, of),
        **wrong_sums_of_block(z, labels, largest, total, of),
        "not divided": of(
            "These are exponentials: divide by their sum, and each row sums to 1.",
            **softmax_arrays(np.exp(z - largest[:, np.newaxis]), labels, loss),
        ),
        "bias of the label forgotten": of(
            "The loss lacks the bias of the label: z is logits + bias.",
            losses=loss + bias[labels],
        ),
        "bias forgotten in the sum": of(
            "The bias is missing in the sum of exponentials: z is logits + bias, in all loops.",
            **divided(np.exp(logits - largest[:, np.newaxis]).sum(axis=1)),
        ),
        **{
            f"1 from each {who}": of(
                f"The sum of exponentials has 1 from each {who} too many: a sum begins at 0, and a "
                "thread without a class hands in 0.",
                **divided(total + count),
            )
            for who, count in (("thread", WARP), ("idle thread", max(0, WARP - z.shape[1])))
        },
        "every class from its own on": of(
            "A thread adds every class from its own on: it has every 32nd, in steps of "
            "CLASS_THREADS.",
            **divided(
                np.exp(z - largest[:, np.newaxis]) @ np.minimum(np.arange(z.shape[1]) + 1, WARP)
            ),
        ),
        "divided by the largest": of(
            "The exponentials are divided by the largest logit: divide by their sum.",
            **softmax_arrays(
                np.exp(z - largest[:, np.newaxis]) / largest[:, np.newaxis], labels, loss
            ),
        ),
        "largest subtracted again": of(
            "The largest is subtracted twice from z before exp.",
            **softmax_arrays(y * np.exp(np.minimum(-largest, 700))[:, np.newaxis], labels, loss),
        ),
        "column by column": of(
            "Each column sums to 1: a sample is a row, and its classes are the columns.",
            **softmax_arrays(reference.softmax(z.T).T, labels, loss),
        ),
        "first sample for all": of(
            "Every block computes the first sample: the sample is cuda.blockIdx.x.",
            **softmax_arrays(np.repeat(y[:1], len(y), axis=0), labels, loss[rows * 0]),
        ),
    }


def wrong_deltas(y, delta, of):
    """What comes of a delta that goes back through one more slope, or belongs to another loss."""
    through = y * (delta - (delta * y).sum(axis=1, keepdims=True))
    known = {
        "times the slope of a sigmoid": (
            y * (1 - y) * delta,
            "delta is multiplied by y * (1 - y), too, the slope of a sigmoid: the slope of cross "
            "entropy and softmax together is y - t alone.",
        ),
        "times the probabilities": (
            y * delta,
            "delta is multiplied by the probabilities, too: the slope of cross entropy and softmax "
            "together is y - t alone.",
        ),
        "back through softmax again": (
            through,
            "delta goes back through softmax once more: y - t is the slope of cross entropy and "
            "softmax together.",
        ),
        "slope of a squared error": (
            2 * through,
            "This is the slope of a squared error: that of cross entropy is y - t.",
        ),
        "twice delta": (
            2 * delta,
            "This is twice the delta: the 2 belongs to a squared error. That of cross entropy is "
            "y - t.",
        ),
    }
    return {code: of(sentence, delta=result) for code, (result, sentence) in known.items()}


def wrong_losses(z, right, largest, total, labels, garbage, of):
    loss = right["losses"]
    label_z = z[np.arange(len(labels)), labels]
    loss_of = (np.log(total) + largest)[:, np.newaxis]  # less z, of each class
    return {
        "loss negative": of("The loss has the wrong sign: it is -log(probability).", losses=-loss),
        "probability, not loss": of(
            "losses holds the label's probability: the loss is minus its logarithm.",
            losses=np.exp(-loss),
        ),
        "largest forgotten in the loss": of(
            "The loss lacks the largest: exp(z - largest) / sum has the logarithm "
            "z - largest - log(sum).",
            losses=loss - largest,
        ),
        "largest subtracted twice": of(
            "In the loss the largest has the wrong sign: log(sum) - (z - largest).",
            losses=loss - 2 * largest,
        ),
        "no logarithm": of(
            "The loss has the sum itself: its logarithm belongs there.",
            losses=total + largest - label_z,
        ),
        "label's logit forgotten": of(
            "The loss lacks z of the label: log(sum) - (z - largest).", losses=np.log(total)
        ),
        "label's logit and largest forgotten": of(
            "The loss lacks z of the label: log(sum) - (z - largest).",
            losses=np.log(total) + largest,
        ),
        "binary logarithm of the sum": of(
            "The loss has the binary logarithm of the sum: math.log is the natural one.",
            losses=np.log2(total) + largest - label_z,
        ),
        "binary logarithm": of(
            "The loss is in bits: math.log is the natural logarithm.", losses=loss / np.log(2)
        ),
        "decimal logarithm": of(
            "The loss has a logarithm to the base 10: math.log is the natural one.",
            losses=loss / np.log(10),
        ),
        "losses of all classes": of(
            "This is the sum of -log(probability) over all classes: cross entropy has only that of "
            "the label, since t is 0 for the others.",
            losses=(loss_of - z).sum(axis=1),
        ),
        "mean of all classes": of(
            "This is the mean of -log(probability) over all classes: cross entropy has only that "
            "of the label.",
            losses=(loss_of - z).mean(axis=1),
        ),
        "entropy": of(
            "This is the sum of -y * log(y), with the probabilities twice: cross entropy is the "
            "sum of -t * log(y), and t is 0 but for the label.",
            losses=(right["probabilities"] * (loss_of - z)).sum(axis=1),
        ),
        "loss of the first class": of(
            "This is -log(probability) of class 0: the loss is that of the label.",
            losses=(loss_of - z)[:, 0],
        ),
        "loss of the last class": of(
            "This is -log(probability) of the last class: the loss is that of the label.",
            losses=(loss_of - z)[:, -1],
        ),
        "loss of the likeliest": of(
            "This is -log(probability) of the likeliest class: the loss is that of the label.",
            losses=(loss_of - z).min(axis=1),
        ),
        "squared error": of(
            "This is the sum of the squared errors of the probabilities: cross entropy is "
            "-log(probability) of the label.",
            losses=(right["delta"] ** 2).sum(axis=1),
        ),
        "added to what is there": of(
            "The losses are added to what was there before: store them, with =.",
            losses=garbage + loss,
        ),
        "mean, not each": of(
            "Each loss is divided by the number of samples: every sample keeps its own.",
            losses=loss / len(loss),
        ),
    }


def wrong_sums_of_block(z, labels, largest, total, of):
    """What comes of a sum over some of the classes, or over some of them too often."""
    classes = z.shape[1]
    exponentials = np.exp(z - largest[:, np.newaxis])
    thread = np.arange(classes) % WARP

    def divided_by(sums):
        losses = np.log(np.ravel(sums)) if np.size(sums) == len(z) else None
        loss = None if losses is None else losses + largest - z[np.arange(len(z)), labels]
        arrays = softmax_arrays(exponentials / sums, labels, loss)
        return arrays if loss is not None else {k: v for k, v in arrays.items() if k != "losses"}

    def sum_where(chosen):
        sums = exponentials[:, chosen].sum(axis=1)
        return divided_by(np.where(sums > 0, sums, np.nan)[:, np.newaxis])

    known = {
        "first 32 classes only": of(
            "Only the first 32 classes are in the sum: a thread may have several classes, in steps "
            "of CLASS_THREADS.",
            **sum_where(np.arange(classes) < WARP),
        ),
        "half of the threads missing": of(
            "The sums of threads 16 to 31 are not in the result: a tree of 32 numbers has five "
            "rounds. Which one is missing, the first or the last?",
            **sum_where(thread < WARP // 2),
        ),
        "tree stops early": of(
            "The sums of threads 1, 3, 5 and so on are not in the result: the round of the tree "
            "that adds neighbours is missing. It goes on as long as active > 0, also with 1.",
            **sum_where(thread % 2 == 0),
        ),
        "no tree": of(
            "The sum is that of thread 0 alone: nobody has added those of the others.",
            **sum_where(thread == 0),
        ),
        "counted 32 times": of(
            "The sum is 32 times too large: every thread adds all classes, or the total.",
            **divided_by((WARP * total)[:, np.newaxis]),
        ),
        "largest, not sum": of(
            "The tree keeps the largest: here it has to add.",
            **divided_by(largest_of_threads(exponentials)[:, np.newaxis]),
        ),
    }
    return known | unequal_threads(z, labels, largest, total, of)


def unequal_threads(z, labels, largest, total, of):
    """What comes of threads that do not have the same largest, or the same sum."""
    thread = np.arange(z.shape[1]) % WARP
    largest = np.repeat(largest[:, np.newaxis], z.shape[1], axis=1)
    exponentials = np.exp(z - largest)
    own = np.stack([exponentials[:, thread == t].sum(axis=1) for t in thread], axis=1)
    places = np.stack([place_in_tree(row) for row in of_threads(exponentials)])[:, thread]
    of_thread_0 = np.where(thread == 0, total[:, np.newaxis], own)
    shuffled = np.stack([left_by_shuffles(row) for row in of_threads(exponentials)])[:, thread]
    own_largest = np.stack([z[:, thread == t].max(axis=1) for t in thread], axis=1)
    sums = np.exp(z - own_largest).sum(axis=1, keepdims=True) + 0 * z
    known = {}
    for code, maxima, divisors, sentence in (
        (
            "each thread its own sum", largest, own,
            "Each thread divides by the sum of its own classes: sum_of_block returns that of all.",
        ),
        (
            "place in the tree", largest, places,
            "Each thread returns what lies in its own place of the tree: the sum is in shared[0].",
        ),
        (
            "sum for thread 0 only", largest, of_thread_0,
            "Thread 0 has the sum of all, and the others that of their own classes: each thread "
            "has to return shared[0], which it reads behind a barrier.",
        ),
        (
            "each thread its own largest", own_largest, sums,
            "Each thread subtracts the largest of its own classes: largest_of_block returns that "
            "of all, and the same number has to be subtracted everywhere.",
        ),
        (
            "sums of different largest", largest, sums,
            "The sums of the threads do not go together: each was made with the largest of its own "
            "classes. Before they are added, each is multiplied by exp(own largest - largest).",
        ),
        (
            "sum of shuffles for lane 0 only", largest, shuffled,
            "Shuffles down leave the sum in lane 0 only, and the others have added a part: take "
            "cuda.shfl_xor_sync, which brings it to every lane, or let lane 0 hand it round.",
        ),
    ):  # fmt: skip
        # Of large logits some sums are 0 in float64, too: then the mistake cannot be recognised.
        divisors = np.where(divisors > 0, divisors, np.nan)
        samples = np.arange(len(z))
        losses = np.log(divisors) + maxima - z[samples, labels][:, np.newaxis]
        shares = np.exp(z - maxima) / divisors
        known[code] = of(sentence, **softmax_arrays(shares, labels, losses[:, 0]))
        of_label = losses[samples, labels]
        known[f"{code}, also in the loss"] = of(
            sentence, **softmax_arrays(shares, labels, of_label)
        )
    return known


def place_in_tree(sums):
    """What lies in shared memory after a tree of sums, (32,)."""
    sums = sums.copy()
    active = WARP // 2
    while active > 0:
        sums[:active] += sums[active : 2 * active]
        active //= 2
    return sums


def left_by_shuffles(sums):
    """What each lane has after five shuffles down, (32,): beyond lane 31 it gets its own again."""
    sums, offset = sums.copy(), WARP // 2
    while offset > 0:
        sums += np.concatenate([sums[offset:], sums[-offset:]])
        offset //= 2
    return sums


def largest_of_threads(exponentials):
    """The largest of the sums that the threads of a block bring to the tree."""
    return of_threads(exponentials).max(axis=1)


def of_threads(exponentials):
    """The sum of each thread's classes: (samples, 32)."""
    samples, classes = exponentials.shape
    padded = np.zeros((samples, -(-classes // WARP) * WARP))
    padded[:, :classes] = exponentials
    return padded.reshape(samples, -1, WARP).sum(axis=1)


# ---------------------------------------------------------------- column sums


@check("column_sums")
def test_column_sums(case):
    # 21 rows are eight, eight again, and a rest: which of them are added tells the mistake.
    for shape in ((21, 33), (9, 33), (1, 1), (5, 70), (300, 10), (64, 64)):
        summed(case, shape)


@check("side_by_side")
def test_side_by_side(case):
    values, sums, counts = summed(case, (96, 64))
    case.budget(
        "sectors of 32 bytes read per 32 numbers",
        yours=counts.of(values).sectors * WARP / values.size,
        ours=4,
        allowed=8,
        diagnosis="column by column",
        sentence="threads of a warp read numbers that are far apart, and use one of the eight in a "
        "sector: let threadIdx.x count columns, so that they read neighbours of a row.",
        line=counts.busiest_line("sectors", values),
    )
    case.budget(
        "writes to sums per column",
        yours=(counts.of(sums).writes + counts.of(sums).atomics) / sums.array.size,
        ours=1,
        allowed=2,
        diagnosis="added in global memory",
        sentence="one number of sums is written again and again, by several threads or in a loop: "
        "add up in shared memory, and let one thread per column store the result, once.",
        line=counts.busiest_line("writes", sums),
    )


def why_not_the_partial_sums(found):
    """What a number in shared memory that nobody wrote, or that is not there, says here."""
    shared = found.kind == "uninitialised" and "shared memory" in found.message
    if shared or (found.kind == "out-of-bounds" and "partial" in found.message):
        return (
            "Each of the 8 x 32 threads stores one sum, at [warp, x], also where it has no column. "
            "Warp 0 reads that of each other warp at [other, x]: the warp comes first in both, and "
            "there are STRIP_WARPS of them, STRIP_COLUMNS sums in each."
        )
    return ""


def summed(case, shape):
    case.explain = why_not_the_partial_sums
    values, sums = case.random(shape, -1, 1), case.output((shape[1],))
    counts = case.measure("launch_column_sums", values, sums)
    exact = values.astype(np.float64)
    right = exact.sum(axis=0)
    row, column = np.arange(shape[0]), np.arange(shape[1])
    first_of_warps = exact[row < 8].sum(axis=0)
    # Strips that begin 8 columns apart, not 32: what is behind the last one has no sum.
    covered = (-(-shape[1] // WARP) - 1) * 8 + WARP
    candidates = {
        "strips overlap": (
            np.where(column < covered, right, sums.sentinel),
            "The blocks' columns overlap: a block has STRIP_COLUMNS of them, so the column is "
            "cuda.blockIdx.x * STRIP_COLUMNS + cuda.threadIdx.x.",
        ),
        "a warp for each column": (
            np.where(column < -(-shape[1] // WARP) * 8, right, sums.sentinel),
            "Each block has summed eight columns, as many as it has warps: its columns go along "
            "threadIdx.x, 32 of them, and its warps share the rows.",
        ),
        "first rows only": (
            first_of_warps,
            "Only the first eight rows are added: each warp goes on, in steps of STRIP_WARPS.",
        ),
        "rest of the rows missing": (
            exact[: shape[0] // 8 * 8].sum(axis=0) if shape[0] >= 16 else np.full(shape[1], np.nan),
            "The last rows are missing: the number of rows is no multiple of STRIP_WARPS, and what "
            "is left of that division belongs to somebody, too.",
        ),
        "one warp's rows": (
            exact[row % 8 == 0].sum(axis=0),
            "Only the rows of the first warp are added: it has to add the other warps' sums, which "
            "lie in partial_sums.",
        ),
        "first warp missing": (
            exact[row % 8 != 0].sum(axis=0),
            "The sum of the first warp is missing: total begins with it, or the loop at warp 0.",
        ),
        "last warp missing": (
            exact[row % 8 != 7].sum(axis=0),
            "The sum of the last warp is missing: the loop over the warps ends one too early.",
        ),
        "own sum twice": (
            right + exact[row % 8 == 0].sum(axis=0),
            "The first warp's rows are counted twice: its sum is in total already, so the loop "
            "begins at warp 1.",
        ),
        "every warp all rows": (
            8 * right,
            "Each row is added eight times: a warp has every eighth row, not all.",
        ),
        "every warp the same rows": (
            8 * exact[row % 8 == 0].sum(axis=0),
            "All warps add the rows of the first one: each begins at its own, cuda.threadIdx.y.",
        ),
        "all rows from its own on": (
            np.minimum(row + 1, 8) @ exact,
            "A warp adds every row from its own on: it has every eighth, in steps of STRIP_WARPS.",
        ),
        "no row beyond the eighth": (
            (row + 1) * (row < 8) @ exact,
            "The loop ends at row 8, and goes on by one: it goes from cuda.threadIdx.y to "
            "values.shape[0], in steps of STRIP_WARPS.",
        ),
        "mean, not sum": (right / shape[0], "This is the mean of the column: take the sum."),
        "first strip for all": (
            np.where(column < WARP, right, sums.sentinel),
            "Only the first 32 columns have a sum: the column is cuda.blockIdx.x * STRIP_COLUMNS "
            "+ cuda.threadIdx.x.",
        ),
        "last row only": (
            exact[row[-8:]].sum(axis=0) if shape[0] >= 8 else np.full(shape[1], np.nan),
            "Each warp keeps its last row: add to total, +=, which begins once, before the loop.",
        ),
        "added to what was there": (
            right + sums.sentinel,
            "sums holds anything at first: store the result, do not add to it.",
        ),
    }
    case.expect(sums, right, "sums", candidates=candidates)
    return values, sums, counts


# ---------------------------------------------------------------- no doubles


@check("float32")
def test_float32(case):
    forward_and_back(case, (9, 37))
    classified(case, case.random((3, 33), -3, 3), case.random(33, -1, 1))
    summed(case, (9, 33))
    descended(case, 300)


def descended(case, size):
    """Gradient descent of one step."""
    before, slopes = case.random(size, -1, 1), case.random(size, -6, 6)
    rate = float(case.rng.uniform(0.1, 0.4))
    parameters = case.output((size,), initial=before)
    case.run("launch_sgd", parameters, slopes, rate)
    p, g = before.astype(np.float64), slopes.astype(np.float64)
    candidates = {
        "uphill": (p + rate * g, "The step goes uphill: subtract the gradient."),
        "divided by the rate": (
            p - g / rate,
            "The gradient is divided by the learning rate: multiply.",
        ),
        "rate forgotten": (p - g, "The learning rate is missing."),
        "times the parameter": (
            p - rate * g * p,
            "The step is multiplied by the parameter: it is the rate times the gradient alone.",
        ),
        "the other way round": (
            rate * g - p,
            "The parameter is subtracted from the step: subtract the step from the parameter.",
        ),
        "parameter shrinks": (
            (1 - rate) * p - rate * g,
            "The rate times the parameter is subtracted, too: only the rate times the gradient is.",
        ),
        "mixed with the gradient": (
            (1 - rate) * p + rate * g,
            "The parameter is mixed with its gradient, as in a moving average: subtract the rate "
            "times the gradient.",
        ),
        "rate squared": (p - rate**2 * g, "The step has the learning rate twice."),
        "parameter replaced": (-rate * g, "The parameter became the step: subtract, -=."),
        "first block only": (
            np.where(np.arange(size) < 256, p - rate * g, p),
            "Only the first 256 parameters move: the number of a thread is cuda.grid(1), and it is "
            "compared with parameters.shape[0].",
        ),
    }
    case.expect(parameters, p - rate * g, "parameters", candidates=candidates)


# ---------------------------------------------------------------- a step, an epoch


@check("epoch")
def test_epoch(case):
    descended(case, 300)
    sizes = Sizes(case)
    one_step(case, sizes)
    one_epoch(case, sizes)
    sizes.samples = sizes.batch + 1  # the last mini-batch may be a single sample
    one_epoch(case, sizes)


def why_not_the_batch(found):
    if found.kind != "out-of-bounds" or "axis 0 " not in found.message:
        return ""
    return (
        "the kernel asks for a row that the mini-batch does not have: images, labels and losses "
        "are cut alike, [first:last], and so are the network's arrays for a short one, by "
        "first_rows(network, last - first)"
    )


class Sizes:
    """Sizes that differ, and that nobody can guess; the last mini-batch is short."""

    def __init__(self, case):
        draw = case.rng.integers
        self.inputs, self.hidden = int(draw(9, 14)), int(draw(17, 22))
        self.classes = int(draw(4, 8))
        self.batch = int(draw(5, 8))
        self.samples = 2 * self.batch + int(draw(1, self.batch))
        self.rate = float(draw(5, 12)) / 64

    def split(self, flat):
        return reference.split(flat, self.inputs, self.hidden, self.classes)


def one_step(case, sizes):
    images, labels, flat, network = made(case, sizes, sizes.batch)
    losses = case.output((sizes.batch,))
    case.conduct("training_step", images, labels, losses, network, sizes.rate)
    look = partial(first_wrong_array, case, network, images, labels, sizes, flat)
    compare(case, sizes, network, losses, images, labels, flat, STEP_MISTAKES, look)


def first_wrong_array(case, network, images, labels, sizes, flat, places):
    """(code, sentence): which array of a step is wrong first, if no known mistake explains it.

    places: of the arrays that are wrong, where.
    """
    if "parameters" not in places:
        return (
            "losses",
            "The parameters are right, and the losses are not: classify fills them, and nobody "
            "else. Does it get the array `losses` itself, and is it called once?",
        )
    parameters = sizes.split(flat)
    weights_1, bias_1, weights_2, _ = parameters
    sums = images @ weights_1
    hidden = reference.gelu(sums + bias_1)
    delta = delta_of(images, labels, parameters)
    gradients = reference.gradients(images, labels, parameters)
    right = {
        "sums": sums,
        "hidden": hidden,
        "logits": hidden @ weights_2,
        "delta": delta,
        "delta_hidden": delta @ weights_2.T * reference.gelu_slope(sums + bias_1),
        "gradients": np.concatenate([gradient.ravel() for gradient in gradients]),
    }
    moved = weights_2 - sizes.rate * gradients[2]
    too_late = delta @ moved.T * reference.gelu_slope(sums + bias_1)
    for name, expected in right.items():
        got = getattr(network, name).array
        if name == "delta_hidden" and same(got, too_late, case.usual_tolerance(expected)):
            return MOVED_TOO_EARLY
        if not same(got, expected, case.usual_tolerance(expected)):
            return (
                name,
                f"network.{name} is wrong, and what a step fills before it is right: look at the "
                "line that fills it, at what that line is given, and at whether it comes too early "
                "or too late.",
            )
    return "sgd", "All gradients are right: look at launch_sgd, and at what it is given."


MOVED_TOO_EARLY = (
    "weights moved too early",
    "delta goes back through weights_2 when these have moved already: it belongs to the weights "
    "that it came through. launch_sgd is the last of all, when every gradient is there.",
)


def one_epoch(case, sizes):
    images, labels, flat, network = made(case, sizes, sizes.samples)
    losses = case.output((sizes.samples,))
    case.explain = why_not_the_batch
    case.conduct("train_epoch", images, labels, losses, network, sizes.batch, sizes.rate)
    require_whole_batches(case, losses, sizes.batch)
    look = partial(other_batches, case, network, losses, images, labels, sizes, flat)
    compare(case, sizes, network, losses, images, labels, flat, EPOCH_MISTAKES, look)


def other_batches(case, network, losses, images, labels, sizes, flat, places):
    """(code, sentence), if mini-batches of other sizes explain all; None if they do not.

    Losses tell where a step has been: the parameters are others from there on.
    """
    parameters, got = sizes.split(flat), losses.array.astype(np.float64)
    batches = []
    while sum(batches) < sizes.samples:
        first = sum(batches)
        expected = reference.cross_entropy(
            reference.logits(images[first:], parameters), labels[first:]
        )
        near = np.abs(got[first:] - expected) <= case.usual_tolerance(expected)
        batches.append(len(near) if near.all() else int(near.argmin()))
        if not batches[-1]:
            return None
        chosen = slice(first, sum(batches))
        gradients = reference.gradients(images[chosen], labels[chosen], parameters)
        parameters = [p - sizes.rate * g for p, g in zip(parameters, gradients, strict=True)]
    left = np.concatenate([part.ravel() for part in parameters])
    right = [one.stop - one.start for one, _, _ in in_order(sizes.samples, sizes.batch)]
    if batches == right or not same(network.parameters.array, left, case.usual_tolerance(left)):
        return None
    return (
        "other mini-batches",
        f"Your mini-batches have {in_words(batches)} of the {sizes.samples} samples, and asked for "
        f"are {in_words(right)}: `batch` samples, here {sizes.batch}, in each, and the last has "
        "what is left.",
    )


def in_words(numbers):
    *others, last = map(str, numbers)
    return f"{', '.join(others)} and {last}" if others else f"all {last}"


def require_whole_batches(case, losses, batch):
    """End the check if of each mini-batch only so many samples are classified."""
    written = losses.array != losses.sentinel
    parts = [written[first : first + batch] for first in range(0, len(written), batch)]
    rows = int(parts[0].sum())
    first_ones = all((part == (np.arange(len(part)) < rows)).all() for part in parts)
    case.require(
        not (0 < rows < batch and first_ones),
        "rows left out",
        f"Of each mini-batch only the first {rows} losses are written. As many rows are filled as "
        "there are in images, labels, losses and the network's arrays: first_rows(network, last - "
        "first) has those of this mini-batch.",
    )


def made(case, sizes, samples):
    """Random images and labels, and a `Network` of outputs to train."""
    images = case.random((samples, sizes.inputs), -1, 1)
    labels = case.rng.integers(0, sizes.classes, samples).astype(np.int32)
    # All classes but the first have a sample at least; and neighbours differ.
    labels[: sizes.classes - 1] = np.arange(1, sizes.classes)[: len(labels)]
    count = parameter_count(sizes.inputs, sizes.hidden, sizes.classes)
    flat = case.random(count, -0.6, 0.6)
    wide, narrow = (sizes.batch, sizes.hidden), (sizes.batch, sizes.classes)
    network = Network(
        parameters=case.output((count,), initial=flat),
        # Not sentinels: a gradient that nobody computes should leave a parameter where it is.
        gradients=case.output((count,), initial=np.zeros(count)),
        sums=case.output(wide),
        hidden=case.output(wide),
        logits=case.output(narrow),
        probabilities=case.output(narrow),
        delta_hidden=case.output(wide),
        delta=case.output(narrow),
    )
    return images, labels, flat, network


def compare(case, sizes, network, losses, images, labels, flat, known, look=None):
    case.require(
        bool((losses.array != losses.sentinel).any()),
        "not classified",
        "no loss was written: "
        + (
            "a step begins with classify, which fills what the way back reads."
            if known is STEP_MISTAKES
            else "does the loop over the mini-batches begin at all, and does training_step get a "
            "part of `losses` itself?"
        ),
    )
    expected_losses, expected = train(sizes, images, labels, flat)
    mistakes = {}
    for code, (sentence, changes) in known.items():
        wrong_losses_of, wrong = train(sizes, images, labels, flat, **changes)
        if np.isfinite(wrong).all():
            mistakes[code] = Mistake(sentence, {"losses": wrong_losses_of, "parameters": wrong})
    left = [
        Left("losses", losses, expected_losses),
        Left("parameters", network.parameters, expected),
    ]
    expect_all(case, left, mistakes, look)


def train(
    sizes, images, labels, flat, batches=None, slopes=None, rate=1.0, collect=False, replaced=False,
    rate_of=None, late=False,
):  # fmt: skip
    """(losses, parameters) after an epoch in float64.

    batches: (samples, batch) -> (slice of images, of labels, of losses) of each step. slopes:
    (images, labels, parameters) -> gradients. rate: a factor. collect: move only at the end.
    replaced: the gradients are the new parameters. rate_of: (samples of a step, batch) -> a factor.
    late: the losses are those after the step.
    """
    parameters = sizes.split(flat)
    losses = np.full(len(images), -7777.25)
    for chosen, labelled, kept in (batches or in_order)(len(images), sizes.batch):
        x, t = images[chosen], labels[labelled]
        losses[kept] = reference.cross_entropy(reference.logits(x, parameters), t)
        gradients = (slopes or reference.gradients)(x, t, parameters)
        step = rate * sizes.rate * (rate_of(len(x), sizes.batch) if rate_of else 1.0)
        after = (
            gradients
            if replaced
            else tuple(
                parameter - step * gradient
                for parameter, gradient in zip(parameters, gradients, strict=True)
            )
        )
        if not collect:
            parameters = after
        if late:
            losses[kept] = reference.cross_entropy(reference.logits(x, after), t)
    return losses, np.concatenate([part.ravel() for part in (after if collect else parameters)])


def in_order(samples, batch):
    slices = [slice(first, min(first + batch, samples)) for first in range(0, samples, batch)]
    return [(one, one, one) for one in slices]


def without(*places):
    """Gradients with zeros at some of the four places."""

    def slopes(images, labels, parameters):
        found = reference.gradients(images, labels, parameters)
        return tuple(g * 0 if place in places else g for place, g in enumerate(found))

    return slopes


def layer_1_of(images, delta_hidden, found):
    return images.T @ delta_hidden, delta_hidden.sum(axis=0), *found[2:]


def without_the_slope(images, labels, parameters):
    """delta goes back through GELU as if it were not there."""
    found = reference.gradients(images, labels, parameters)
    return layer_1_of(images, delta_of(images, labels, parameters) @ parameters[2].T, found)


def weights_before_the_slope(images, labels, parameters):
    found = reference.gradients(images, labels, parameters)
    wrong = without_the_slope(images, labels, parameters)
    return wrong[0], *found[1:]


def bias_before_the_slope(images, labels, parameters):
    found = reference.gradients(images, labels, parameters)
    wrong = without_the_slope(images, labels, parameters)
    return found[0], wrong[1], *found[2:]


def slope_at_hidden(images, labels, parameters):
    """gelu_slope of what GELU has made, bias added once more."""
    weights_1, bias_1, weights_2, _ = parameters
    hidden = reference.gelu(images @ weights_1 + bias_1)
    delta = delta_of(images, labels, parameters) @ weights_2.T
    found = reference.gradients(images, labels, parameters)
    return layer_1_of(images, delta * reference.gelu_slope(hidden + bias_1), found)


def sums_for_hidden(images, labels, parameters):
    """The second layer's weights get a gradient from sums, where hidden belongs."""
    found = reference.gradients(images, labels, parameters)
    delta = delta_of(images, labels, parameters)
    return found[0], found[1], (images @ parameters[0]).T @ delta, found[3]


def probabilities_for_delta(images, labels, parameters):
    """Everything from the probabilities, where delta belongs."""
    weights_1, bias_1, weights_2, bias_2 = parameters
    sums = images @ weights_1 + bias_1
    hidden = reference.gelu(sums)
    delta = reference.softmax(hidden @ weights_2 + bias_2)
    back = delta @ weights_2.T * reference.gelu_slope(sums)
    return images.T @ back, back.sum(axis=0), hidden.T @ delta, delta.sum(axis=0)


def delta_of(images, labels, parameters):
    delta = reference.softmax(reference.logits(images, parameters))
    delta[np.arange(len(labels)), labels] -= 1
    return delta


def hidden_for_delta(images, labels, parameters):
    """bias_1 gets the column sums of hidden, where those of delta_hidden belong."""
    found = reference.gradients(images, labels, parameters)
    hidden = reference.gelu(images @ parameters[0] + parameters[1])
    return found[0], hidden.sum(axis=0), *found[2:]


def back_through_gradients(images, labels, parameters):
    """delta goes back through gradients.weights_2, where layers.weights_2 belongs."""
    found = reference.gradients(images, labels, parameters)
    sums = images @ parameters[0] + parameters[1]
    delta_hidden = delta_of(images, labels, parameters) @ found[2].T * reference.gelu_slope(sums)
    return layer_1_of(images, delta_hidden, found)


def operands_exchanged(*layers):
    """The tn product of some layers takes delta first: of what comes out, what fits is kept."""

    def slopes(images, labels, parameters):
        found = list(reference.gradients(images, labels, parameters))
        for place in layers:
            turned, kept = found[place].T, np.zeros_like(found[place])
            rows, columns = min(kept.shape), min(kept.shape)
            kept[:rows, :columns] = turned[:rows, :columns]
            found[place] = kept
        return tuple(found)

    return slopes


def hidden_for_delta_hidden(images, labels, parameters):
    """weights_1 gets its gradient from hidden, where delta_hidden belongs."""
    found = reference.gradients(images, labels, parameters)
    return images.T @ reference.gelu(images @ parameters[0] + parameters[1]), *found[1:]


def probabilities_for_weights(images, labels, parameters):
    """weights_2 gets its gradient from the probabilities, where delta belongs."""
    found = reference.gradients(images, labels, parameters)
    hidden = reference.gelu(images @ parameters[0] + parameters[1])
    probabilities = reference.softmax(hidden @ parameters[2] + parameters[3])
    return *found[:2], hidden.T @ probabilities, found[3]


def probabilities_for_bias(images, labels, parameters):
    """bias_2 gets the column sums of the probabilities, where those of delta belong."""
    found = reference.gradients(images, labels, parameters)
    probabilities = reference.softmax(reference.logits(images, parameters))
    return *found[:3], probabilities.sum(axis=0)


def mean_of(images, labels, parameters):
    return tuple(g / len(images) for g in reference.gradients(images, labels, parameters))


MEAN = (
    "The steps are too small, by the size of the batch: gradients are sums, not means, and the "
    "rate is meant for sums.",
    {"slopes": mean_of},
)
LATE = (
    "The losses are those after the step: classify comes once, before the way back, and is not "
    "called again when the parameters have moved.",
    {"late": True},
)
OR_TOO_LATE = "Or it comes too late: launch_sgd is the last of all."
EXCHANGED = (
    "The operands of launch_product_tn are exchanged: first what the layer was fed with, then its "
    "delta."
)

# code -> (sentence, what is different in `train`)
STEP_MISTAKES = {
    "mean, not sum": MEAN,
    "hidden for delta_hidden": (
        "The gradient of bias_1 is the column sums of hidden: take those of delta_hidden.",
        {"slopes": hidden_for_delta},
    ),
    "back through the gradients": (
        "delta goes back through gradients.weights_2: it came through layers.weights_2.",
        {"slopes": back_through_gradients},
    ),
    "hidden for delta_hidden, weights_1": (
        "The gradient of weights_1 comes from hidden: from the images, and delta_hidden.",
        {"slopes": hidden_for_delta_hidden},
    ),
    "probabilities for delta, weights_2": (
        "The gradient of weights_2 comes from the probabilities: from hidden, and delta, y - t.",
        {"slopes": probabilities_for_weights},
    ),
    "gradients in the parameters": (
        "The parameters are gradients now: the gradients belong into what layers_of cuts out of "
        "network.gradients.",
        {"slopes": back_through_gradients, "replaced": True},
    ),
    "probabilities for delta, bias_2": (
        "The gradient of bias_2 is the column sums of the probabilities: take those of delta, "
        "y - t.",
        {"slopes": probabilities_for_bias},
    ),
    "losses after the step": LATE,
    "weights_2 exchanged": (EXCHANGED, {"slopes": operands_exchanged(2)}),
    "weights_1 exchanged": (EXCHANGED, {"slopes": operands_exchanged(0)}),
    "weights exchanged": (EXCHANGED, {"slopes": operands_exchanged(0, 2)}),
    "nothing moved": (
        "The losses are right and no parameter has moved: launch_sgd comes last, and gets the "
        "parameters first, then the gradients.",
        {"rate": 0.0},
    ),
    "uphill": (
        "The step goes uphill: launch_sgd takes the gradients and the rate as they are, and its "
        "kernel subtracts.",
        {"rate": -1.0},
    ),
    "moved twice": (
        "The parameters moved twice as far: is launch_sgd called twice, or with another rate? Once "
        "per step, with the rate as it is.",
        {"rate": 2},
    ),
    "weights_1 stay": (
        "weights_1 has no gradient: launch_product_tn(images, delta_hidden, ...). " + OR_TOO_LATE,
        {"slopes": without(0)},
    ),
    "bias_1 stays": (
        "bias_1 has no gradient: the column sums of delta_hidden. " + OR_TOO_LATE,
        {"slopes": without(1)},
    ),
    "weights_2 stay": (
        "weights_2 has no gradient: launch_product_tn(hidden, delta, ...). " + OR_TOO_LATE,
        {"slopes": without(2)},
    ),
    "bias_2 stays": (
        "bias_2 has no gradient: the column sums of delta. " + OR_TOO_LATE,
        {"slopes": without(3)},
    ),
    "biases stay": (
        "Neither bias has a gradient: launch_column_sums of each layer's delta. " + OR_TOO_LATE,
        {"slopes": without(1, 3)},
    ),
    "first layer stays": (
        "The first layer has no gradient: delta goes back to it through launch_product_nt and "
        "launch_gelu_backward, and then has the same two gradients. " + OR_TOO_LATE,
        {"slopes": without(0, 1)},
    ),
    "before the slope of GELU": (
        "The gradients of the first layer are made of a delta_hidden that has not gone back "
        "through GELU: launch_gelu_backward belongs between launch_product_nt and these gradients, "
        "and changes its last array.",
        {"slopes": without_the_slope},
    ),
    "weights_1 too early": (
        "The gradient of weights_1 was computed before delta_hidden went back through GELU.",
        {"slopes": weights_before_the_slope},
    ),
    "bias_1 too early": (
        "The gradient of bias_1 was computed before delta_hidden went back through GELU.",
        {"slopes": bias_before_the_slope},
    ),
    "slope at hidden": (
        "GELU's slope is taken at hidden, its result: gelu_backward wants sums.",
        {"slopes": slope_at_hidden},
    ),
    "sums for hidden": (
        "The gradient of weights_2 comes from sums: that layer was fed with hidden.",
        {"slopes": sums_for_hidden},
    ),
    "probabilities for delta": (
        "The way back begins with the probabilities: it begins with delta, y - t.",
        {"slopes": probabilities_for_delta},
    ),
}


def full_batches(samples, batch):
    return in_order(samples - samples % batch, batch)


def first_images(samples, batch):
    return [(slice(0, k.stop - k.start), k, k) for _, _, k in in_order(samples, batch)]


def first_labels(samples, batch):
    return [(k, slice(0, k.stop - k.start), k) for _, _, k in in_order(samples, batch)]


def first_batch(samples, batch):
    return [(slice(0, k.stop - k.start),) * 2 + (k,) for _, _, k in in_order(samples, batch)]


def first_places(samples, batch):
    return [(k, k, slice(0, k.stop - k.start)) for _, _, k in in_order(samples, batch)]


def filled_up(samples, batch):
    ends = [min(first + batch, samples) for first in range(0, samples, batch)]
    slices = [slice(end - batch, end) for end in ends]
    return [(one, one, one) for one in slices]


def one_too_few(samples, batch):
    return [(slice(k.start, k.stop - 1),) * 3 for k, _, _ in in_order(samples, batch)]


def numbered(samples, batch):
    slices = [slice(number, number + batch) for number in range(samples // batch)]
    return [(one, one, one) for one in slices]


def one_further(samples, batch):
    """A window of the batch's size that moves on by one sample per step, over the end."""
    windows = [slice(first, min(first + batch, samples)) for first in range(samples)]
    return [(one, one, one) for one in windows]


EPOCH_MISTAKES = {
    "short batch left out": (
        "The last mini-batch, which is shorter, is left out: its samples are never seen.",
        {"batches": full_batches},
    ),
    "first batch only": (
        "Only the first mini-batch was trained on: is there a return in the loop, or does it end "
        "with the batch? It goes on to images.shape[0].",
        {"batches": lambda samples, batch: in_order(batch, batch)},
    ),
    "same images in every step": (
        "Every step gets the first images: slice images[first:last].",
        {"batches": first_images},
    ),
    "same labels in every step": (
        "Every step gets the first labels: slice labels as the images, labels[first:last].",
        {"batches": first_labels},
    ),
    "same batch in every step": (
        "Every step gets the first mini-batch: slice images and labels, [first:last].",
        {"batches": first_batch},
    ),
    "losses in the first places": (
        "Every step writes its losses to the first places: slice losses[first:last], too.",
        {"batches": first_places},
    ),
    "one sample further": (
        "The slices move on by one sample per step: range(0, n, batch) has steps of batch.",
        {"batches": one_further},
    ),
    "moved at the end only": (
        "The parameters moved once, by the last mini-batch: gradient descent belongs into every "
        "step.",
        {"collect": True},
    ),
    "mean, not sum": MEAN,
    "short batch moves less": (
        "The rate is made smaller for the short mini-batch: it is the same in every step. A sum "
        "over fewer samples is smaller by itself.",
        {"rate_of": lambda samples, batch: samples / batch},
    ),
    "short batch moves more": (
        "The rate is made larger for the short mini-batch: it is the same in every step, and "
        "meant for sums.",
        {"rate_of": lambda samples, batch: batch / samples},
    ),
    "losses after the step": LATE,
    "last batch filled up": (
        "The last mini-batch begins too early, and some samples come twice: it "
        "should have no more than what is left.",
        {"batches": filled_up},
    ),
    "not trained": (
        "The losses are right, and no parameter has moved: each mini-batch gets a training_step.",
        {"rate": 0.0},
    ),
    "last of each batch left out": (
        "The last sample of each mini-batch is left out: a slice ends before its second number.",
        {"batches": one_too_few},
    ),
    "backwards": (
        "The mini-batches come in the wrong order: from the first samples on.",
        {"batches": lambda samples, batch: in_order(samples, batch)[::-1]},
    ),
    "numbers of batches": (
        "The loop counts mini-batches, and the slices begin at that number of samples: they begin "
        "at a multiple of batch.",
        {"batches": numbered},
    ),
}


# ---------------------------------------------------------------- learns

EASY = Difficulty(wobble=0.4, faintness=0.3, noise=0.15)
SIDE, HIDDEN, BATCH = 8, 32, 64
GOOD_ENOUGH = 0.93
LUCK = 0.03  # how far two runs of the same steps may be apart


@check("learns")
def test_learns(case):
    training, held_out, epochs = case.size(large=(1600, 400, 12), small=(96, 100, 2))
    seed = int(case.rng.integers(0, 2**32))
    images, labels = draw_digits(training + held_out, SIDE, seed, EASY)
    flat = initial_parameters(SIDE * SIDE, HIDDEN, CLASSES, seed)
    expected = reference.split(flat, SIDE * SIDE, HIDDEN, CLASSES)
    rate = 0.5 / BATCH
    for _ in range(epochs):
        _, expected = reference.train_epoch(
            images[:training], labels[:training], expected, BATCH, rate
        )
    possible = reference.accuracy(images[training:], labels[training:], expected)

    wide, narrow = (BATCH, HIDDEN), (BATCH, CLASSES)
    network = Network(
        case.output(flat.shape, initial=flat), case.output(flat.shape), case.output(wide),
        case.output(wide), case.output(narrow), case.output(narrow), case.output(wide),
        case.output(narrow),
    )  # fmt: skip
    losses = case.output((training,))
    for _ in range(epochs):
        case.conduct(
            "train_epoch", images[:training], labels[:training], losses, network, BATCH, rate,
            engine="native",
        )  # fmt: skip
    learned = reference.split(network.parameters.array, SIDE * SIDE, HIDDEN, CLASSES)
    reached = reference.accuracy(images[training:], labels[training:], learned)
    wanted = min(GOOD_ENOUGH, possible - LUCK)
    case.require(
        reached >= wanted,
        "does not learn",
        f"of {held_out} digits that it has never seen, it knows {reached:.1%} after {epochs} "
        f"epochs; {wanted:.1%} are asked for, and the same steps in float64 reach {possible:.1%}",
    )
    case.notes.append(f"digits it has never seen: {reached:.1%} right, in float64 {possible:.1%}")
