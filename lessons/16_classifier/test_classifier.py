"""Checks of lesson 16. What kernels leave is compared with float64."""

import numpy as np

from kernels.classifier.digits import CLASSES, Difficulty, draw_digits
from kernels.classifier.network import Network, initial_parameters, parameter_count
from lessons.grading.judge.case import Curve, check
from lessons.reference import classifier as reference

ELEMENTS = "grid", 2, (32, 8)  # threads over the elements of a matrix
WARP = 32
HIDDEN_SHAPES = (9, 37), (1, 1), (8, 32), (70, 3)  # (samples, units)
# (samples, classes): one for each of 5 threads; of 32; for 33, so that one has two; 70; one.
LOGITS_SHAPES = (7, 5), (3, 32), (4, 33), (6, 70), (2, 1)
# 21 rows are eight, eight again, and a rest: which of them are added tells the mistake.
SUMMED_SHAPES = (21, 33), (9, 33), (1, 1), (5, 70), (300, 10), (64, 64)
LOGIT_SECTORS = 24  # allowed per 32 logits
BLOCK_ATOMICS = 4  # allowed per sample
COLUMN_SECTORS = 8  # allowed per 32 numbers
COLUMN_WRITES = 2  # allowed per column
LARGE_ONE, SMALL_ONES = 2**24, 1023  # to 2^24 a float32 cannot add 1; a sum of ones it can
EASY = Difficulty(wobble=0.4, faintness=0.3, noise=0.15)
SIDE, HIDDEN, BATCH = 8, 32, 64  # pixels of a digit each way, units, samples of a mini-batch
TO_LEARN = 1600, 400, 12  # digits to learn from, digits to be asked about, epochs
GOOD_ENOUGH = 0.93  # of those digits
LUCK = 0.03  # how far two runs of the same steps may be apart


@check("gelu")
def test_gelu(case):
    # Near 0 the terms of the slope are hard to tell apart, and far out its tangent is 1.
    values = [*case.random(4, 0.4, 2.2), *-case.random(4, 0.4, 2.2), 0.0, 30.0, -30.0]
    x = np.asarray(values, np.float32).astype(np.float64)
    for name, right, largest in (
        ("gelu", reference.gelu(x), 30),
        # Some of its terms are larger than the slope itself, which is 1.13 at most.
        ("gelu_slope", reference.gelu_slope(x), 4),
    ):
        got = np.array([case.call(name, float(value)) for value in x])
        room = case.check.tolerance * largest
        case.expect(got, right, name, tolerance=room, over=Curve(x))


@check("bias_gelu")
def test_bias_gelu(case):
    for shape in HIDDEN_SHAPES:
        forward_and_back(case, shape)


@check("softmax")
def test_softmax(case):
    for samples, classes in LOGITS_SHAPES:
        logits = case.random((samples, classes), -3, 3)
        classified(case, logits, case.random(classes, -1, 1))


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
    classified(case, logits, bias, np.array([1, 2, 3, 5, 0, 7], np.int32))
    bias[case.rng.integers(classes)] = 300
    logits = case.random((2, classes), -3, 3)
    classified(case, logits, bias, np.array([4, 9], np.int32))


@check("one_block_per_row")
def test_one_block_per_row(case):
    samples, classes = 4, 96
    logits = case.random((samples, classes), -3, 3)
    counts = classified(case, logits, case.random(classes, -1, 1))
    case.budget(
        "sectors of 32 bytes read per 32 logits",
        yours=counts.of(logits).sectors * WARP / logits.size,
        ours=3 * 4 + WARP / classes,  # the largest, the sum, the result; and one for the label
        allowed=LOGIT_SECTORS,
        diagnosis="not side by side",
        sentence="let the 32 threads of a block read 32 neighbouring classes of a row at once. For "
        "the largest, the sum and the result, reading each logit three times is enough.",
        line=counts.busiest_line("sectors", logits),
    )
    case.budget(
        "atomic additions in shared memory per sample",
        yours=counts.shared().atomics / samples,
        ours=0,
        allowed=BLOCK_ATOMICS,
        diagnosis="a queue, not a tree",
        sentence="all threads of a block add to one number, and wait for each other: a tree has "
        "no queue.",
    )


@check("column_sums")
def test_column_sums(case):
    for shape in SUMMED_SHAPES:
        summed(case, shape)


@check("side_by_side")
def test_side_by_side(case):
    values, sums, counts = summed(case, (96, 64))
    case.budget(
        "sectors of 32 bytes read per 32 numbers",
        yours=counts.of(values).sectors * WARP / values.size,
        ours=4,
        allowed=COLUMN_SECTORS,
        diagnosis="column by column",
        sentence="threads of a warp read numbers that are far apart, and use one of the eight in a "
        "sector: let threadIdx.x count columns, so that they read neighbours of a row.",
        line=counts.busiest_line("sectors", values),
    )
    case.budget(
        "writes to sums per column",
        yours=(counts.of(sums).writes + counts.of(sums).atomics) / sums.array.size,
        ours=1,
        allowed=COLUMN_WRITES,
        diagnosis="added in global memory",
        sentence="one number of sums is written again and again, by several threads or in a loop: "
        "add up in shared memory, and let one thread per column store the result, once.",
        line=counts.busiest_line("writes", sums),
    )
    expect_all_warps_add(case)


def expect_all_warps_add(case):
    """End the check if one thread adds up a whole column: its sum forgets all small numbers."""
    values, sums = np.ones((1 + SMALL_ONES, 3), np.float32), case.output((3,))
    values[0] = LARGE_ONE
    case.run("launch_column_sums", values, sums)
    lost = LARGE_ONE + SMALL_ONES - float(sums.array.min())
    case.require(
        lost < SMALL_ONES / 2,
        "seven of eight warps idle",
        f"a column of one large number and {SMALL_ONES:,} ones: of these, {lost:,.0f} are lost, as "
        "if one thread added up all rows of a column, one after the other. Eight warps can do it "
        "at once: each takes an eighth of the rows, and their eight sums become one at the end.",
    )


@check("float32")
def test_float32(case):
    forward_and_back(case, (9, 37))
    classified(case, case.random((3, 33), -3, 3), case.random(33, -1, 1))
    summed(case, (9, 33))
    descended(case, 300)


@check("epoch")
def test_epoch(case):
    descended(case, 300)
    sizes = Sizes(case)
    one_step(case, sizes)
    one_epoch(case, sizes)
    sizes.samples = sizes.batch + 1  # the last mini-batch may be a single sample
    one_epoch(case, sizes)


@check("learns")
def test_learns(case):
    training, held_out, epochs = case.size(large=TO_LEARN, small=(96, 100, 2))
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


# ---------------------------------------------------------------- one kernel at a time


def forward_and_back(case, shape):
    sums, bias = case.random(shape, -3, 3), case.random(shape[1], -2, 2)
    inputs = sums.astype(np.float64) + bias
    hidden = case.output(shape)
    case.run("launch_bias_gelu", sums, bias, hidden)
    case.expect(hidden, reference.gelu(inputs), "hidden", ELEMENTS)
    before = case.random(shape, -1, 1)
    delta = case.output(shape, initial=before)
    case.run("launch_gelu_backward", sums, bias, delta)
    case.expect(delta, before * reference.gelu_slope(inputs), "delta", ELEMENTS)


def classified(case, logits, bias, labels=None):
    """Run softmax_cross_entropy, and compare all that it leaves. Returns the `Counts`."""
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
    softmax = reference.softmax(z)
    case.expect(probabilities, softmax, "probabilities")
    case.expect(delta, softmax - np.eye(classes)[labels], "delta")
    case.expect(losses, reference.cross_entropy(z, labels), "losses")
    sums = probabilities.array.sum(axis=1, dtype=np.float64)
    case.expect(sums, np.ones(samples), "sum of a row of probabilities")
    return counts


def summed(case, shape):
    values, sums = case.random(shape, -1, 1), case.output((shape[1],))
    counts = case.measure("launch_column_sums", values, sums)
    case.expect(sums, values.astype(np.float64).sum(axis=0), "sums")
    return values, sums, counts


def descended(case, size):
    """Gradient descent of one step."""
    before, slopes = case.random(size, -1, 1), case.random(size, -6, 6)
    rate = float(case.rng.uniform(0.1, 0.4))
    parameters = case.output((size,), initial=before)
    case.run("launch_sgd", parameters, slopes, rate)
    case.expect(parameters, before - rate * slopes.astype(np.float64), "parameters")


# ---------------------------------------------------------------- steps and epochs


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
    expect_trained(case, sizes, network, losses, images, labels, flat)


def one_epoch(case, sizes):
    images, labels, flat, network = made(case, sizes, sizes.samples)
    losses = case.output((sizes.samples,))
    case.conduct("train_epoch", images, labels, losses, network, sizes.batch, sizes.rate)
    expect_trained(case, sizes, network, losses, images, labels, flat)


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


def expect_trained(case, sizes, network, losses, images, labels, flat):
    """Compare what an epoch, or a step, leaves."""
    expected, parameters = reference.train_epoch(
        images, labels, sizes.split(flat), sizes.batch, sizes.rate
    )
    case.expect(losses, expected, "losses")
    moved = np.concatenate([part.ravel() for part in parameters])
    case.expect(network.parameters, moved, "parameters")
