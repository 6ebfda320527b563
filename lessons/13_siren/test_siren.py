"""Checks of lesson 13. Values are compared with float64; what is read is counted."""

import itertools
from functools import partial
from typing import NamedTuple

import numpy as np

from lessons import reference
from lessons.grading.checks.case import check
from lessons.grading.checks.mistakes import Left, Mistake, expect_all, same
from lessons.grading.exchange.output import sentinel_of
from lessons.reference import siren as reference_siren

SAMPLES_PER_THREAD, INPUTS_PER_THREAD, CHUNK = 8, 8, 64
FIRST_OMEGA = 30  # of the first layer, in the README
# Ragged and square ones; more than a block's 32 units, and more than its 32 samples.
LAYERS = (64, 4, 32), (69, 13, 40), (5, 21, 21), (1, 3, 1)


@check("layer")
def test_layer(case):
    for samples, fan_in, fan_out in LAYERS:
        run_layer(case, samples, fan_in, fan_out)


@check("backward")
def test_backward(case):
    for samples, fan_in, fan_out in ((64, 32, 16), (69, 40, 3), (5, 21, 21), (1, 1, 33)):
        run_backward(case, samples, fan_in, fan_out)


@check("chunks")
def test_chunks(case):
    # Twice as many chunks as groups of inputs, or more: else two of the three numbers look alike.
    for samples, fan_in, fan_out in ((197, 9, 20), (64, 8, 32), (128, 2, 40), (1, 21, 5)):
        run_chunks(case, samples, fan_in, fan_out)


@check("sums")
def test_sums(case):
    for chunks, rows, fan_out in ((9, 66, 3), (2, 9, 32), (1, 3, 40)):
        run_sums(case, chunks, rows, fan_out)


@check("two_stages")
def test_two_stages(case):
    counts, partial = run_chunks(case, 133, 9, 20, measure=True)
    require_no_atomics(case, counts, partial, "partial", "Each chunk has a place of its own there.")
    case.require_many_threads(counts, partial)
    counts, gradients = run_sums(case, 3, 14, 40, measure=True)
    require_no_atomics(case, counts, gradients, "gradients", "One thread can add up the chunks.")
    case.require_many_threads(counts, gradients)


@check("few_reads")
def test_few_reads(case):
    sizes = samples, fan_in, fan_out = 64, 16, 32
    products = samples * fan_in * fan_out
    counts, arrays = run_layer(case, *sizes, measure=True)
    budget(case, "sine_layer", counts, arrays, products)
    counts, arrays = run_backward(case, *sizes, measure=True)
    budget(case, "sine_backward", counts, arrays, products)
    counts, partial = run_chunks(case, *sizes, measure=True)
    inputs_and_deltas = [array for array in counts.originals if array is not partial]
    budget(case, "chunk_sums", counts, inputs_and_deltas, products)


@check("float32")
def test_float32(case):
    run_layer(case, 9, 3, 5)
    run_backward(case, 9, 3, 5)
    run_chunks(case, 9, 3, 5)
    run_sums(case, 2, 4, 5)


@check("learns")
def test_learns(case):
    steps, samples, width = case.size(large=(40, 256, 64), small=(2, 20, 9))
    image = picture(case)
    yours, ours = begin(case, width), begin(case, width)
    for layer, own in zip(yours, ours, strict=True):
        own.parameters[:] = layer.parameters
    height, columns, _ = image.shape
    where = reference_siren.pixel_positions(columns, height).astype(np.float32)
    colours = image.reshape(-1, 3)
    for step in range(1, steps + 1):
        drawn = case.rng.integers(0, len(where), samples)
        for layers, gradients in ((yours, students), (ours, plain)):
            found = gradients(case, layers, where[drawn], colours[drawn])
            for layer, gradient in zip(layers, found, strict=True):
                layer.move(gradient, step)
    reached, expected = (psnr(layers, where, colours) for layers in (yours, ours))
    case.require(
        reached >= expected - case.check.tolerance,
        "does not learn",
        f"after {steps} steps the picture has {reached:.2f} dB; with the reference's gradients it "
        f"has {expected:.2f} dB.",
    )


# ---------------------------------------------------------------- one kernel at a time


def start(case, measure, function, *arguments):
    """Run a function of the student's; measure: count accesses, which only the simulator can."""
    case.explain = why_not_back if function == "launch_sine_backward" else explained
    return (case.measure if measure else case.run)(function, *arguments)


def explained(found):
    """What an index outside an array says in this lesson."""
    if found.kind != "out-of-bounds":
        return ""
    known = OUTSIDE | (IN_A_ROW if "axis 1 " in found.message else {})
    return next((text for name, text in known.items() if f"{name}[" in found.message), "")


def why_not_back(found):
    """The same of `sine_backward`, whose slopes are those of another layer than its deltas."""
    if found.kind == "out-of-bounds" and "slopes[" in found.message and "axis 1" in found.message:
        return (
            "The slopes are (samples, fan_in), of the layer below: their column is i, which the "
            "thread has, and not the unit that it goes over."
        )
    return explained(found)


OUTSIDE = {
    "weights": "weights is (fan_in, fan_out), in both directions: weights[i, unit].",
    "biases": "There is a bias per unit: biases[unit]. Threads without a unit leave.",
    "inputs": "Eight samples, or eight inputs, may be more than are left: read the last one again, "
    "as min(first + j, samples - 1), or leave the product out.",
    "deltas": "Eight samples may be more than are left: read the last one again, as "
    "min(first + j, samples - 1); and a chunk ends where the batch does.",
    "slopes": "Only samples within the batch have a slope: guard what you read, or store.",
    "partial": "partial is [chunk, row, unit]; the rows are those of the inputs and one more.",
}


# Where it is not the sample that is outside.
IN_A_ROW = {
    "inputs": "inputs is (samples, fan_in): the sample comes first, then the number of the input. "
    "Of a group of eight inputs the last ones may not be there.",
    "deltas": "deltas is (samples, fan_out): the sample comes first, then the unit of the layer.",
    "slopes": "The slopes are (samples, units), as the outputs: the sample comes first, and a "
    "thread without a unit leaves.",
}


def run_layer(case, samples, fan_in, fan_out, measure=False):
    """(counts, (inputs, weights)) after a layer with random numbers, which is right."""
    inputs, weights = case.random((samples, fan_in), -1, 1), case.random((fan_in, fan_out), -1, 1)
    biases = case.random(fan_out, 0.3, 1)
    omega = np.float32(case.rng.uniform(1.5, 3))
    outputs, slopes = case.output((samples, fan_out)), case.output((samples, fan_out))
    arguments = inputs, weights, biases, omega, outputs, slopes
    counts = start(case, measure, "launch_sine_layer", *arguments)
    expected = reference_siren.sine_layer(inputs, weights, biases, omega)
    names = "outputs", "slopes"
    left = [Left(*one) for one in zip(names, (outputs, slopes), expected, strict=True)]

    def known():
        computed = layer_mistakes(inputs, weights, biases, float(omega))
        left_out = launch_mistakes(*expected)
        every = computed | left_out | both_at_once(computed, left_out)
        return {
            code: Mistake(text, dict(zip(names, arrays, strict=True)))
            for code, (arrays, text) in every.items()
        }

    uses_abs = any("abs(" in line for line in case.submission.lines)
    look = partial(slope_from_the_output, slopes.array, expected[1], float(omega), uses_abs)
    expect_all(case, left, known, look)
    return counts, (inputs, weights)


def slope_from_the_output(got, right, omega, uses_abs, wrong):
    """(code, sentence), if slopes are a root, whose last digits are lost, and which has no sign.

    uses_abs: whether the file has an abs, which takes a sign away, too. wrong: where arrays differ.
    """
    also = ", nor has what abs returns" * uses_abs
    for slopes, more in ((np.abs(right), ""), (np.abs(right) / omega, " omega is missing, too.")):
        if wrong.keys() == {"slopes"} and same(got, slopes, FEW_DIGITS * slopes.max()):
            return (
                "slope from the output",
                "No slope is negative, and about half of them should be: the root of 1 - sine * "
                f"sine has no sign{also}. The slope is omega times the cosine.{more}",
            )
    return None


def run_backward(case, samples, fan_in, fan_out, measure=False):
    """(counts, (deltas, weights)) after a way back with random numbers, which is right."""
    deltas, weights = case.random((samples, fan_out), -1, 1), case.random((fan_in, fan_out), -1, 1)
    slopes, below = case.random((samples, fan_in), -2, 2), case.output((samples, fan_in))
    counts = start(case, measure, "launch_sine_backward", deltas, weights, slopes, below)
    expected = reference_siren.sine_backward(deltas, weights, slopes)
    known = backward_mistakes(deltas, weights, slopes)
    known |= {code: (array, text) for code, ((array,), text) in launch_mistakes(expected).items()}
    case.expect(below, expected, "deltas_below", candidates=known)
    return counts, (deltas, weights)


def run_chunks(case, samples, fan_in, fan_out, measure=False):
    """(counts, partial) after the first stage with random numbers, which is right."""
    inputs, deltas = case.random((samples, fan_in), -1, 1), case.random((samples, fan_out), -1, 1)
    chunks = -(-samples // CHUNK)
    partial = case.output((chunks, fan_in + 1, fan_out))
    counts = start(case, measure, "launch_chunk_sums", inputs, deltas, partial)
    expected = reference_siren.chunk_sums(inputs, deltas, CHUNK)
    known = chunk_mistakes(inputs.astype(np.float64), deltas.astype(np.float64), expected)
    case.expect(partial, expected, "partial", candidates=known)
    return counts, partial


def run_sums(case, chunks, rows, fan_out, measure=False):
    """(counts, gradients) after the second stage with random numbers, which is right."""
    partial = case.random((chunks, rows, fan_out), -1, 1)
    gradients = case.output((rows, fan_out))
    counts = start(case, measure, "launch_sum_chunks", partial, gradients)
    exact = partial.astype(np.float64)
    known = sum_mistakes(exact)
    case.expect(gradients, exact.sum(axis=0), "gradients", candidates=known)
    return counts, gradients


def require_no_atomics(case, counts, array, name, advice):
    case.budget(
        f"atomic additions to {name}",
        yours=counts.of(array).atomics,
        ours=0,
        allowed=0,
        diagnosis="atomics",
        sentence=f"several threads add to {name}: then their order decides over the last bits, and "
        f"a second run does not give the same. {advice}",
        line=counts.busiest_line("atomics", array),
    )


def budget(case, kernel, counts, arrays, products):
    per_product = counts.of(*arrays).reads / products
    case.budget(
        f"numbers read from global memory per product, in {kernel}",
        yours=per_product,
        ours=1 + 1 / SAMPLES_PER_THREAD,
        # Four samples per thread would do, or eight units, or tiles in shared memory.
        allowed=1.3,
        diagnosis="read for one product",
        sentence=f"{kernel} reads {per_product:.2f} numbers per product. Read one of the two into "
        "a variable, and use it for several totals: for eight samples per thread it is 1 + 1 / 8.",
        line=counts.busiest_line("reads", *arrays),
    )


# ---------------------------------------------------------------- known mistakes

FEW_DIGITS = 2e-3  # what is lost where 1 - sine * sine is nearly 0
UNWRITTEN = float(sentinel_of(np.dtype(np.float32)))  # what an output holds before it is written
ADDED = (
    "The right values are added to what the array held before: nobody has set it to 0. Add up in a "
    "variable, and store it once, with =."
)


def layer_mistakes(inputs, weights, biases, omega):
    """code -> ((outputs, slopes), sentence)."""
    x, w, b = inputs.astype(np.float64), weights.astype(np.float64), biases.astype(np.float64)
    sums = x @ w + b
    angles = omega * sums
    outputs, slopes = np.sin(angles), omega * np.cos(angles)

    def waves(angles):
        return np.sin(angles), omega * np.cos(angles)

    known = {
        "bias forgotten": (waves(omega * (x @ w)), "The bias is missing: a total begins at it."),
        "bias outside of omega": (
            waves(omega * (x @ w) + b),
            "omega multiplies the bias, too: sin(omega * (products + bias)).",
        ),
        "omega forgotten": (
            (np.sin(sums), np.cos(sums)),
            "omega is missing: sin(omega * sum), and its derivative omega * cos(omega * sum).",
        ),
        "omega forgotten in the angle": (
            (np.sin(sums), omega * np.cos(sums)),
            "omega is missing in the angle: sine and cosine are those of omega * sum.",
        ),
        "slope without omega": (
            (outputs, np.cos(angles)),
            "The derivative of sin(omega * sum) is omega * cos(omega * sum): the factor omega in "
            "front is missing.",
        ),
        "slope divided by omega": (
            (outputs, np.cos(angles) / omega),
            "The derivative of sin(omega * sum) is omega * cos(omega * sum): omega is a factor in "
            "front, and no divisor.",
        ),
        "slope of another angle": (
            (outputs, omega * np.cos(sums)),
            "The slope is the cosine of the same angle as the sine's: omega times the sum.",
        ),
        "slope's sign reversed": (
            (outputs, -slopes),
            "The derivative of the sine is plus the cosine.",
        ),
        "slope is the output": (
            (outputs, omega * outputs),
            "The slopes are made of the sine: the derivative needs the cosine.",
        ),
        "slope of the slope": (
            (outputs, -omega * outputs),
            "The slopes are those of a cosine: outputs are sines, their derivative the cosine.",
        ),
        "cosine of the output": (
            (outputs, omega * np.cos(outputs)),
            "The cosine is that of the angle, not of the output.",
        ),
        "cosine of the output, times omega": (
            (outputs, omega * np.cos(omega * outputs)),
            "The cosine is that of the angle, not of the output: keep the sum until both are made.",
        ),
        "omega twice": (
            (np.sin(omega * angles), omega * np.cos(omega * angles)),
            "The totals are multiplied by omega twice.",
        ),
        "omega squared in the slope": (
            (outputs, omega * slopes),
            "The slope has omega twice: it is omega * cos(angle), and the angle has its omega "
            "already.",
        ),
        "sine and cosine exchanged": (
            (np.cos(angles), omega * np.sin(angles)),
            "Sine and cosine are exchanged: the outputs are sines.",
        ),
        "outputs and slopes exchanged": (
            (slopes, outputs),
            "What belongs into outputs is in slopes, and the other way round.",
        ),
        "angles in turns": (
            waves(2 * np.pi * angles),
            "The angle is in radians: sine_of_turns wants turns, `sine` wants what you have.",
        ),
        "no sine": ((sums, np.ones_like(sums)), "These are the sums: the sine is missing."),
        "angles stored": ((angles, slopes), "These are the angles: the sine is missing."),
        "last input only": (
            waves(omega * x[:, -1:] * w[-1]),
            "Only the product with the last input is left: add to the total, with +=, which "
            "begins once, before the loop.",
        ),
        "last input only, and the bias": (
            waves(omega * (x[:, -1:] * w[-1] + b)),
            "Only the product with the last input is left, and the bias: the total begins at the "
            "bias once, before the loop, and each round adds to it, with +=.",
        ),
        "last input missing": (
            waves(omega * (x[:, :-1] @ w[:-1] + b)),
            "The last input is missing: there are inputs.shape[1].",
        ),
        "first input missing": (
            waves(omega * (x[:, 1:] @ w[1:] + b)),
            "The first input is missing: begin at 0.",
        ),
        "bias of another number": (
            waves(omega * (x @ w + b[np.arange(len(x)) % SAMPLES_PER_THREAD % len(b), None])),
            "The bias is that of j, which counts a thread's samples: it is the unit that has one, "
            "biases[unit].",
        ),
        "bias for each input": (
            waves(omega * (x @ w + len(w) * b)),
            "The bias is added once per input: a total begins at it, once.",
        ),
        "totals go on": (
            waves(omega * running(x @ w, b)),
            "The totals go on from sample to sample: each of the eight has one of its own.",
        ),
    }
    constant = (
        f"omega is taken as {FIRST_OMEGA}: it is an argument, which only the first layer gets as "
        "that number."
    )
    fast = FIRST_OMEGA * sums
    known |= {
        "a constant for omega": ((np.sin(fast), FIRST_OMEGA * np.cos(fast)), constant),
        "a constant in the angle": ((np.sin(fast), omega * np.cos(fast)), constant),
        "a constant in the slope": ((outputs, FIRST_OMEGA * np.cos(angles)), constant),
    }
    for code, (which, sentence) in other_samples(len(x)).items():
        known[code] = waves(omega * (x[which] @ w + b)), f"{sentence} inputs[first + j, i]."
    if weights.shape[1] >= SAMPLES_PER_THREAD:
        of_j = w[:, np.arange(len(x)) % SAMPLES_PER_THREAD]
        known["weights of another number"] = (
            waves(omega * ((x.T * of_j).sum(axis=0)[:, None] + b)),
            "The weights are those of j, which counts a thread's samples: it is the unit that has "
            "them, weights[i, unit].",
        )
    if weights.shape[0] == weights.shape[1]:
        known["weights not transposed"] = (
            waves(omega * (x @ w.T + b)),
            "Rows and columns of the weights are exchanged: weights[i, unit].",
        )
    return known


def other_samples(count):
    """Which samples are read in place of each: code -> (their numbers, sentence)."""
    group, j = np.divmod(np.arange(count), SAMPLES_PER_THREAD)
    begin = "a thread's samples begin at first = group * SAMPLES_PER_THREAD:"
    return {
        "samples of the first group": (j, f"Every group reads the first eight samples; {begin}"),
        "groups one sample apart": (
            np.minimum(group + j, count - 1),
            f"Groups read samples that begin one apart; {begin}",
        ),
        "first sample for all eight": (
            group * SAMPLES_PER_THREAD,
            f"All eight samples of a thread read the numbers of the first; {begin}",
        ),
    }


def running(products, biases):
    """Sums that go on from each sample of a thread to the next."""
    total = np.zeros_like(products)
    for first in range(0, len(products), SAMPLES_PER_THREAD):
        part = slice(first, first + SAMPLES_PER_THREAD)
        total[part] = np.cumsum(products[part], axis=0) + biases
    return total


def launch_mistakes(*expected):
    """What a thread's place can be mistaken for: code -> (what is left of each array, sentence)."""
    samples, units = expected[0].shape
    groups = -(-samples // SAMPLES_PER_THREAD)
    threads = 4 * -(-groups // 4)  # in a column of the grid
    sample, unit = np.indices((samples, units))

    def where(reached):
        return tuple(np.where(reached, array, UNWRITTEN) for array in expected)

    return {
        "samples of a neighbour": (
            where(sample < threads + SAMPLES_PER_THREAD - 1),
            "The end was not written: a thread's first sample is group * SAMPLES_PER_THREAD.",
        ),
        "a thread for one sample": (
            where(sample < threads),
            "As many samples are written as there are threads for groups of eight: a thread has "
            "SAMPLES_PER_THREAD samples, from group * SAMPLES_PER_THREAD on.",
        ),
        "one sample per group": (
            where(sample % SAMPLES_PER_THREAD == 0),
            "Each thread stores one sample only: it has SAMPLES_PER_THREAD of them.",
        ),
        "last sample of each group missing": (
            where(sample % SAMPLES_PER_THREAD != SAMPLES_PER_THREAD - 1),
            "The last of a thread's samples is not stored: it has SAMPLES_PER_THREAD of them.",
        ),
        "first sample of each group missing": (
            where(sample % SAMPLES_PER_THREAD != 0),
            "The first of a thread's samples is not stored: begin at 0.",
        ),
        "last group left out": (
            where(sample < samples // SAMPLES_PER_THREAD * SAMPLES_PER_THREAD),
            f"The last {samples % SAMPLES_PER_THREAD} of {samples} samples, what is left over by "
            "SAMPLES_PER_THREAD, are not stored: is a number of groups rounded down, or does a "
            "thread leave if its last sample is not there? Round up, and let each thread store "
            "those of its samples that are there.",
        ),
        "unit and group exchanged": (
            where(unit < threads),
            "Unit and group are exchanged: x counts units, y groups of samples.",
        ),
        "added to what is there": (tuple(UNWRITTEN + array for array in expected), ADDED),
    }


def both_at_once(computed, left_out):
    """Wrong numbers, of which some are not even written: the sentence of both."""
    return {
        f"{code} and {other}": (
            tuple(
                np.where(part == UNWRITTEN, UNWRITTEN, array)
                for array, part in zip(arrays, parts, strict=True)
            ),
            f"{sentence} And: {text}",
        )
        for code, (parts, sentence) in left_out.items()
        if all((part == UNWRITTEN).any() for part in parts)
        for other, (arrays, text) in computed.items()
    }


def backward_mistakes(deltas, weights, slopes):
    d, w, s = (array.astype(np.float64) for array in (deltas, weights, slopes))
    back = d @ w.T
    known = {
        "slope forgotten": (
            back,
            "The slope of the layer below is missing: multiply each total by slopes[sample, i].",
        ),
        "divided by the slope": (back / s, "The total is multiplied by the slope, not divided."),
        "mask in place of the slope": (
            np.where(s > 0, back, 0),
            "That is ReLU's mask. A sine has a slope everywhere: multiply by it.",
        ),
        "mask beside the slope": (
            np.where(s > 0, back * s, 0),
            "Where the slope is negative, nothing passes: a sine needs no mask, multiply by the "
            "slope everywhere.",
        ),
        "slope without its sign": (
            back * np.abs(s),
            "The slope has lost its sign: where it is negative, so is the factor.",
        ),
        "slope added": (back + s, "The slope is a factor: multiply, do not add."),
        "cosine of the slope": (
            back * np.cos(s),
            "The slopes are the derivatives already: no cosine is needed on the way back.",
        ),
        "slope twice": (back * s * s, "The slope is in the product twice."),
        "sign reversed": (-back * s, "The sign is reversed."),
        "last unit only": (
            d[:, -1:] @ w[:, -1:].T * s,
            "Only the product with the last unit is left: add to the total, with +=, which "
            "begins once, before the loop.",
        ),
        "last unit missing": (
            d[:, :-1] @ w[:, :-1].T * s,
            "The last unit of the layer is missing: there are deltas.shape[1].",
        ),
        "first unit missing": (
            d[:, 1:] @ w[:, 1:].T * s,
            "The first unit of the layer is missing: begin at 0.",
        ),
        "slope of the last unit": (
            back * s[:, [min(d.shape[1], s.shape[1]) - 1]],
            "All units below have the slope of one: `unit` has its last value after the loop, and "
            "the slope is that of slopes[first + j, i].",
        ),
        "totals go on": (
            running(back, 0) * s,
            "The totals go on from sample to sample: each of the eight has one of its own.",
        ),
        "slope of the first sample": (
            back * np.repeat(s[::SAMPLES_PER_THREAD], SAMPLES_PER_THREAD, axis=0)[: len(s)],
            "All eight samples have the slope of the first: slopes[first + j, i].",
        ),
    }
    for code, (which, sentence) in other_samples(len(d)).items():
        known[code] = d[which] @ w.T * s, f"{sentence} deltas[first + j, unit]."
    fan_in, fan_out = w.shape
    if fan_out <= fan_in:
        known["slope of the unit above"] = (
            (d * s[:, :fan_out]) @ w.T,
            "The slopes are those of the layer below, so their column is i, which the thread has, "
            "and not the unit that it goes over: multiply the total by slopes[first + j, i].",
        )
    if w.shape[0] == w.shape[1]:
        known["weights not transposed"] = (
            d @ w * s,
            "On the way back the weights are used the other way round: weights[i, unit], where i "
            "is what the thread has and unit what it goes over.",
        )
    return known


def chunk_mistakes(x, d, expected):
    chunks, _, fan_out = expected.shape
    samples, fan_in = x.shape
    ends = np.minimum((np.arange(chunks) + 1) * CHUNK, samples)
    sizes = np.diff(ends, prepend=0)[:, None, None]
    whole = np.broadcast_to(expected.sum(axis=0), expected.shape)
    first = np.broadcast_to(expected[:1], expected.shape)
    with_ones = np.hstack([x, np.ones((samples, 1))])
    strided, far_apart = (
        np.stack([with_ones[c::step].T @ d[c::step] for c in range(chunks)])
        for step in (chunks, CHUNK)
    )
    side_by_side = (
        "The samples of a chunk lie side by side: chunk 0 has 0 to 63, chunk 1 has 64 to 127."
    )

    def sums_of(some):
        return with_ones[some].T @ d[some]

    short = np.stack(
        [
            sums_of(slice(c * SAMPLES_PER_THREAD, (c + 1) * SAMPLES_PER_THREAD))
            for c in range(chunks)
        ]
    )
    row = np.arange(fan_in + 1)[:, None]
    full = fan_in // INPUTS_PER_THREAD * INPUTS_PER_THREAD  # rows of groups that are not cut
    last_left_out = expected.copy()
    for chunk, end in enumerate(ends):
        last_left_out[chunk] -= np.outer(with_ones[end - 1], d[end - 1])

    bounds = list(zip(ends - sizes.ravel(), ends, strict=True))
    last_again = expected.copy()
    last_again[-1] += (chunks * CHUNK - samples) * np.outer(with_ones[-1], d[-1])

    def biases(row):
        return np.concatenate([expected[:, :-1], row], axis=1)

    known = {
        "all samples in each chunk": (
            whole,
            "Each chunk has the sum over all samples: a chunk has 64, from chunk * CHUNK_SAMPLES "
            "on.",
        ),
        "first chunk everywhere": (
            first,
            "Each chunk has the sum of the first one: begin at chunk * CHUNK_SAMPLES.",
        ),
        "chunks of eight": (
            short,
            "A chunk has CHUNK_SAMPLES samples, 64 of them, and begins at chunk * CHUNK_SAMPLES: "
            "these have eight.",
        ),
        "every so many samples": (strided, side_by_side),
        "every 64th sample": (far_apart, side_by_side),
        "inputs of the first chunk": (
            np.stack([with_ones[: e - n].T @ d[n:e] for n, e in bounds]),
            "Every chunk reads the inputs of the first one: inputs[sample, i], with the same "
            "sample as the deltas.",
        ),
        "deltas of the first chunk": (
            np.stack([with_ones[n:e].T @ d[: e - n] for n, e in bounds]),
            "Every chunk reads the deltas of the first one: deltas[sample, unit], with the same "
            "sample as the inputs.",
        ),
        "to the end of the batch": (
            expected[::-1].cumsum(axis=0)[::-1],
            "Each chunk goes on to the end of the batch: it has CHUNK_SAMPLES samples, and only "
            "the last one ends earlier.",
        ),
        **{
            f"chunks {apart} apart": (
                np.stack([sums_of(slice(c * apart, c * apart + CHUNK)) for c in range(chunks)]),
                f"A chunk begins {apart} after the one before, and they overlap: it begins at "
                "chunk * CHUNK_SAMPLES.",
            )
            for apart in (1, INPUTS_PER_THREAD)
        },
        "last group of inputs left out": (
            np.where((row < full) | (row == fan_in), expected, UNWRITTEN),
            "The last group has fewer than INPUTS_PER_THREAD inputs, and none of them is stored: "
            "store those that are there.",
        ),
        "up to the chunk": (
            np.cumsum(expected, axis=0),
            "Each chunk goes on from the one before: its sum begins at zero, and its samples at "
            "chunk * CHUNK_SAMPLES.",
        ),
        "last sample again": (
            last_again,
            "Where the batch ends before the chunk does, the last sample is counted again for each "
            "that is missing: reading it once more is for samples whose result nobody stores. A "
            "sum ends with the batch.",
        ),
        **{
            code: (
                np.stack([sums_of(other(c * CHUNK + np.arange(CHUNK))) for c in range(chunks)]),
                f"Where the batch ends before the chunk does, {which} counted for those that are "
                "missing. A sum ends with the batch.",
            )
            for code, which, other in (
                ("begins anew", "the first samples are", lambda sample: sample % samples),
                (
                    "first sample again",
                    "sample 0 is",
                    lambda sample: np.where(sample < samples, sample, 0),
                ),
            )
        },
        "last sample missing": (last_left_out, "The last sample of each chunk is missing."),
        "mean": (expected / sizes, "This is the mean of a chunk: the sum is wanted."),
        "divided by 64": (
            expected / CHUNK,
            "The sums are divided by 64: they are wanted as they are.",
        ),
        "divided by the batch": (
            expected / samples,
            "The sums are divided by the batch: that division is in the deltas already.",
        ),
        "no deltas": (
            np.stack([np.repeat(with_ones[e - n : e].sum(axis=0)[:, None], fan_out, axis=1)
                      for e, n in zip(ends, sizes.ravel(), strict=True)]),
            "The inputs are added up without the deltas.",
        ),
        "last sample only": (
            np.stack([np.outer(with_ones[end - 1], d[end - 1]) for end in ends]),
            "Only the last sample of each chunk is left: add to the total, with +=, which "
            "begins once, before the loop.",
        ),
        "biases multiplied by an input": (
            biases(expected[:, -2:-1]),
            "The last row is that of the biases: the sum of the deltas alone.",
        ),
        "biases counted": (
            biases(np.broadcast_to(sizes, (chunks, 1, fan_out))),
            "The last row counts samples: it should be the sum of the deltas.",
        ),
        "biases are zero": (
            biases(np.zeros((chunks, 1, fan_out))),
            "The last row is zero: it should be the sum of the deltas, stored when all of them "
            "have been added.",
        ),
        "biases not stored": (
            biases(np.full((chunks, 1, fan_out), UNWRITTEN)),
            "Nobody stores the last row, partial[chunk, fan_in, unit]: it is the sum of the "
            "deltas, and one group of inputs has to store it"
            + (
                f". Here {fan_in} inputs fill their groups of {INPUTS_PER_THREAD}, so none has a "
                "place left over for the row: let the first group store it."
                if fan_in % INPUTS_PER_THREAD == 0
                else "."
            ),
        ),
        "biases of the first chunk only": (
            biases(np.where(np.arange(chunks)[:, None, None] == 0, expected[:, -1:], UNWRITTEN)),
            "Only the first chunk has its biases: each chunk has a last row of its own.",
        ),
        "inputs of the first group": (
            np.concatenate(
                [expected[:, np.arange(fan_in) % INPUTS_PER_THREAD], expected[:, -1:]], axis=1
            ),
            "Every group adds up the first eight inputs: those of a group begin at group * "
            "INPUTS_PER_THREAD.",
        ),
        "biases over the first input": (
            np.concatenate(
                [expected[:, -1:], expected[:, 1:-1], np.full((chunks, 1, fan_out), UNWRITTEN)],
                axis=1,
            ),
            "The biases are stored over the sums of input 0: their row is the last one, fan_in.",
        ),
        "biases for each input": (
            biases(INPUTS_PER_THREAD * expected[:, -1:]),
            "A delta is added to the biases once for each of the eight inputs: once for each "
            "sample is right.",
        ),
        "biases of all samples": (
            biases(whole[:, -1:]),
            "The last row has the sum over all samples, in each chunk: only its own 64 belong "
            "there.",
        ),
        "biases first": (
            np.concatenate([expected[:, -1:], expected[:, :-1]], axis=1),
            "The biases are in the first row, and the weights come behind them: the weights of "
            "input i belong in row i, from 0 on, and the biases in the last row, fan_in.",
        ),
        "totals of one for all": (
            np.concatenate([running_inputs(expected[:, :-1]), expected[:, -1:]], axis=1),
            "The totals go on from input to input: each of the eight has one of its own.",
        ),
    }  # fmt: skip
    if full < fan_in:
        known["last group of inputs and biases left out"] = (
            np.where(row < full, expected, UNWRITTEN),
            "The last group has fewer than INPUTS_PER_THREAD inputs, and neither these nor the "
            "biases are stored.",
        )
    if fan_in == fan_out:
        known["transposed"] = (
            np.concatenate([expected[:, :-1].transpose(0, 2, 1), expected[:, -1:]], axis=1),
            "Rows and columns are exchanged: row i, column unit.",
        )
    together = np.full_like(expected, UNWRITTEN)
    together[0] += whole[0]
    known |= {
        "added to what is there": (UNWRITTEN + expected, ADDED),
        "added to the first chunk": (
            together,
            "All chunks are added to the first one. Each has a place of its own, partial[chunk]: "
            "store its sum there; adding them up is the second stage.",
        ),
    }
    return known | rows_mistaken(known, expected) | directions_exchanged(expected)


def directions_exchanged(expected):
    """What is written if the three numbers of the grid are taken in another order."""
    chunks, rows, units = expected.shape
    number = np.arange(rows) // INPUTS_PER_THREAD
    number[-1] = 0  # the first group stores the biases
    chunk, group, unit = np.ix_(np.arange(chunks), number, np.arange(units))
    started = 32 * -(-units // 32), -(-(rows - 1) // INPUTS_PER_THREAD), chunks  # x, y, z
    known = {}
    for names in itertools.permutations(("unit", "group", "chunk")):
        reached = np.ones(expected.shape, bool)
        for name, threads in zip(names, started, strict=True):
            reached &= {"unit": unit, "group": group, "chunk": chunk}[name] < threads
        known[f"grid as {', '.join(names)}"] = (
            np.where(reached, expected, UNWRITTEN),
            "The three numbers of the grid are taken in another order: unit, group, chunk = "
            "cuda.grid(3). x counts units, y groups of inputs, z chunks.",
        )
    return known


def rows_mistaken(known, expected):
    """The same mistakes made for the weights alone, or for the biases alone."""
    weights, biases = expected[:, :-1], expected[:, -1:]
    parts = {}
    for code, (wrong, sentence) in known.items():
        in_weights = np.concatenate([wrong[:, :-1], biases], axis=1)
        in_biases = np.concatenate([weights, wrong[:, -1:]], axis=1)
        parts[f"{code}, in the weights' rows"] = in_weights, f"In the weights' rows: {sentence}"
        parts[f"{code}, in the biases' row"] = in_biases, f"In the biases' row: {sentence}"
    return parts


def running_inputs(sums):
    """Sums that go on from each input of a thread to the next."""
    parts = range(0, sums.shape[1], INPUTS_PER_THREAD)
    return np.concatenate(
        [np.cumsum(sums[:, i : i + INPUTS_PER_THREAD], axis=1) for i in parts], axis=1
    )


def sum_mistakes(partial):
    exact = partial.sum(axis=0)
    rows, fan_out = exact.shape
    row, unit = np.indices(exact.shape)
    reached = (row < 32 * -(-fan_out // 32)) & (unit < 4 * -(-rows // 4))
    return {
        "row and unit exchanged": (
            np.where(reached, exact, UNWRITTEN),
            "Row and unit are exchanged: x counts units, so unit, row = cuda.grid(2).",
        ),
        "added to what is there": (UNWRITTEN + exact, ADDED),
        "first chunk only": (partial[0], "Only the first chunk is there: add up all of them."),
        "last chunk only": (
            partial[-1],
            "Only the last chunk is left: add to the total, with +=, which "
            "begins once, before the loop.",
        ),
        "last chunk missing": (
            partial[:-1].sum(axis=0),
            "The last chunk is missing: there are partial.shape[0].",
        ),
        "first chunk missing": (
            partial[1:].sum(axis=0),
            "The first chunk is missing: begin at 0.",
        ),
        "first chunk twice": (
            exact + partial[0],
            "The first chunk is counted twice: a total that begins with it goes on at chunk 1.",
        ),
        "mean": (
            partial.mean(axis=0),
            "This is the mean of the chunks: the gradient is their sum.",
        ),
        "squares": ((partial * partial).sum(axis=0), "The squares are added up."),
        "biases not summed": (
            np.concatenate([partial[:, :-1].sum(axis=0), partial[:1, -1]]),
            "The last row, that of the biases, has only the first chunk.",
        ),
    }


# ---------------------------------------------------------------- a small network


class Layer(NamedTuple):
    """One layer's parameters with the biases in the last row, and Adam's averages."""

    parameters: np.ndarray  # (fan_in + 1, fan_out) float64
    m: np.ndarray
    v: np.ndarray
    omega: float

    def move(self, gradient, step, rate=3e-3):
        """A step of Adam (Kingma and Ba, 2015, algorithm 1), in float64."""
        self.m[:] = 0.9 * self.m + 0.1 * gradient
        self.v[:] = 0.99 * self.v + 0.01 * gradient**2
        unbiased = np.sqrt(self.v / (1 - 0.99**step)) + 1e-8
        self.parameters[:] -= rate * self.m / (1 - 0.9**step) / unbiased

    def plain(self):
        """The layer that the reference takes."""
        return reference_siren.Layer(self.parameters[:-1], self.parameters[-1], self.omega)

    def arrays(self):
        """(weights, biases, omega) as kernels take them."""
        weights = np.ascontiguousarray(self.parameters[:-1], np.float32)
        return weights, self.parameters[-1].astype(np.float32), np.float32(self.omega)


def begin(case, width):
    """Three layers, 2 -> width -> width -> 3, with random weights."""
    layers = []
    for fan_in, fan_out, omega in ((2, width, 20), (width, width, 1), (width, 3, 1)):
        reach = 0.5 if fan_in == 2 else np.sqrt(6 / fan_in)
        start = case.rng.uniform(-reach, reach, (fan_in + 1, fan_out))
        layers.append(Layer(start, np.zeros_like(start), np.zeros_like(start), omega))
    return layers


def students(case, layers, where, target):
    """The gradients of all layers by the student's kernels; the last layer is the reference's."""
    inputs, slopes = [where], []
    for layer in layers[:-1]:
        shape = len(where), layer.parameters.shape[1]
        outputs, slope = case.output(shape), case.output(shape)
        weights, biases, omega = layer.arrays()
        arguments = inputs[-1], weights, biases, omega, outputs, slope
        case.run("launch_sine_layer", *arguments, engine="native")
        inputs.append(outputs.array.copy())
        slopes.append(slope.array.copy())
    last = layers[-1].plain()
    colours = reference_siren.colour_layer(inputs[-1], last.weights, last.biases)
    deltas = reference_siren.colour_deltas(colours, target).astype(np.float32)
    found = []
    for number in range(len(layers) - 1, -1, -1):
        rows, fan_out = layers[number].parameters.shape
        partial = case.output((-(-len(where) // CHUNK), rows, fan_out))
        gradients = case.output((rows, fan_out))
        case.run("launch_chunk_sums", inputs[number], deltas, partial, engine="native")
        case.run("launch_sum_chunks", partial.array.copy(), gradients, engine="native")
        found.append(gradients.array.astype(np.float64))
        if number:
            below = case.output((len(where), rows - 1))
            weights, _, _ = layers[number].arrays()
            arguments = deltas, weights, slopes[number - 1], below
            case.run("launch_sine_backward", *arguments, engine="native")
            deltas = below.array.copy()
    return found[::-1]


def plain(case, layers, where, target):
    """The same gradients in float64."""
    found = reference_siren.gradients(where, target, [layer.plain() for layer in layers])
    return [np.vstack([layer.weights, layer.biases]) for layer in found]


def psnr(layers, where, colours):
    painted, _, _ = reference_siren.forward(where, [layer.plain() for layer in layers])
    return reference.psnr(painted, colours)


def picture(case):
    """Smooth colours and a hill, 64 x 44 pixels."""
    y, x = np.mgrid[0:44, 0:64]
    hills = 24 + 6 * np.sin(x / 7 + case.rng.uniform(0, 6))
    image = np.stack([0.3 + y / 130, 0.5 + y / 120, 0.9 - y / 100], axis=2)
    image[y > hills] = 0.15, 0.4, 0.1
    return image.astype(np.float32)
