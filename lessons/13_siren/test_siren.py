"""Checks of lesson 13. Values are compared with float64; what is read is counted."""

from typing import NamedTuple

import numpy as np

from lessons import reference
from lessons.grading.judge.case import check
from lessons.reference import siren as reference_siren

SAMPLES_PER_THREAD, CHUNK = 8, 64
# (samples, fan_in, fan_out): ragged and square ones; more than a block's 32 units and 32 samples.
LAYERS = (64, 4, 32), (69, 13, 40), (5, 21, 21), (1, 3, 1)
BACKWARDS = (64, 32, 16), (69, 40, 3), (5, 21, 21), (1, 1, 33)
# Twice as many chunks as groups of inputs, or more: else two of the three numbers look alike.
CHUNKS = (197, 9, 20), (64, 8, 32), (128, 2, 40), (1, 21, 5)
SUMS = (9, 66, 3), (2, 9, 32), (1, 3, 40)  # (chunks, rows, fan_out)
COUNTED = 64, 16, 32  # (samples, fan_in, fan_out)
READS = 1.3  # allowed per product: four samples per thread do, or eight units, or tiles
# (fan_in, fan_out, omega, whether it is the first); enough numbers to see their spread.
BEGINS = (2, 800, 30.0, True), (64, 64, 1.0, False), (5, 500, 1.0, True), (3, 700, 7.5, False)
TO_LEARN = 40, 256, 64  # steps, samples of each, units of a layer


@check("begins")
def test_begins(case):
    for fan_in, fan_out, omega, is_first in BEGINS:
        numbers = case.rng.random((fan_in + 1, fan_out))
        found = np.asarray(case.call("initial_layer", numbers, omega, is_first), float)
        reach = 1 / fan_in if is_first else np.sqrt(6 / fan_in) / omega
        require_spread(case, found, numbers.shape, reach, is_first, omega)


@check("layer")
def test_layer(case):
    for sizes in LAYERS:
        run_layer(case, *sizes)


@check("backward")
def test_backward(case):
    for sizes in BACKWARDS:
        run_backward(case, *sizes)


@check("chunks")
def test_chunks(case):
    for sizes in CHUNKS:
        run_chunks(case, *sizes)


@check("sums")
def test_sums(case):
    for sizes in SUMS:
        run_sums(case, *sizes)


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
    counts, arrays = run_layer(case, *COUNTED, measure=True)
    budget(case, "sine_layer", counts, arrays)
    counts, arrays = run_backward(case, *COUNTED, measure=True)
    budget(case, "sine_backward", counts, arrays)
    counts, partial = run_chunks(case, *COUNTED, measure=True)
    inputs_and_deltas = [array for array in counts.originals if array is not partial]
    budget(case, "chunk_sums", counts, inputs_and_deltas)


@check("float32")
def test_float32(case):
    run_layer(case, 9, 3, 5)
    run_backward(case, 9, 3, 5)
    run_chunks(case, 9, 3, 5)
    run_sums(case, 2, 4, 5)


@check("learns")
def test_learns(case):
    steps, samples, width = case.size(large=TO_LEARN, small=(2, 20, 9))
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
    return (case.measure if measure else case.run)(function, *arguments)


def run_layer(case, samples, fan_in, fan_out, measure=False):
    """(counts, (inputs, weights)) after a layer with random numbers, which is right."""
    inputs, weights = case.random((samples, fan_in), -1, 1), case.random((fan_in, fan_out), -1, 1)
    biases = case.random(fan_out, 0.3, 1)
    omega = np.float32(case.rng.uniform(1.5, 3))
    outputs, slopes = case.output((samples, fan_out)), case.output((samples, fan_out))
    arguments = inputs, weights, biases, omega, outputs, slopes
    counts = start(case, measure, "launch_sine_layer", *arguments)
    sines, cosines = reference_siren.sine_layer(inputs, weights, biases, omega)
    case.expect(outputs, sines, "outputs")
    case.expect(slopes, cosines, "slopes")
    return counts, (inputs, weights)


def run_backward(case, samples, fan_in, fan_out, measure=False):
    """(counts, (deltas, weights)) after a backward pass with random numbers, which is right."""
    deltas, weights = case.random((samples, fan_out), -1, 1), case.random((fan_in, fan_out), -1, 1)
    slopes, below = case.random((samples, fan_in), -2, 2), case.output((samples, fan_in))
    counts = start(case, measure, "launch_sine_backward", deltas, weights, slopes, below)
    case.expect(below, reference_siren.sine_backward(deltas, weights, slopes), "deltas_below")
    return counts, (deltas, weights)


def run_chunks(case, samples, fan_in, fan_out, measure=False):
    """(counts, partial) after the first stage with random numbers, which is right."""
    inputs, deltas = case.random((samples, fan_in), -1, 1), case.random((samples, fan_out), -1, 1)
    partial = case.output((-(-samples // CHUNK), fan_in + 1, fan_out))
    counts = start(case, measure, "launch_chunk_sums", inputs, deltas, partial)
    case.expect(partial, reference_siren.chunk_sums(inputs, deltas, CHUNK), "partial")
    return counts, partial


def run_sums(case, chunks, rows, fan_out, measure=False):
    """(counts, gradients) after the second stage with random numbers, which is right."""
    partial = case.random((chunks, rows, fan_out), -1, 1)
    gradients = case.output((rows, fan_out))
    counts = start(case, measure, "launch_sum_chunks", partial, gradients)
    case.expect(gradients, partial.astype(np.float64).sum(axis=0), "gradients")
    return counts, gradients


def require_spread(case, found, shape, reach, is_first, omega):
    """End the check unless all rows of `found` spread evenly from -reach to reach."""
    layer = f"{'the first' if is_first else 'a later'} layer, {shape[0] - 1} inputs, omega {omega}"
    case.require(
        found.shape == shape,
        "another shape",
        f"{layer}: {found.shape} came back, and numbers is {shape}: one weight or bias for each.",
    )
    wanted = reach / np.sqrt(3)  # the standard deviation of what is uniform
    spreads = found.std(), found[-1].std()
    is_near = abs(spreads[0] / wanted - 1) < case.check.tolerance
    case.require(
        is_near and abs(spreads[1] / wanted - 1) < 0.25 and np.abs(found).max() < 1.001 * reach,
        "another spread",
        f"{layer}: the standard deviation of what it begins with is {spreads[0]:.4f}, that of the "
        f"biases {spreads[1]:.4f}, and the largest magnitude {np.abs(found).max():.4f}. Wanted "
        f"are {wanted:.4f}, {wanted:.4f}, and at most {reach:.4f}.",
    )
    case.require(
        abs(found.mean()) < 0.2 * reach,
        "not around zero",
        f"{layer}: the mean is {found.mean():.4f}; weights of both signs should be equally likely.",
    )


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


def budget(case, kernel, counts, arrays):
    per_product = counts.of(*arrays).reads / np.prod(COUNTED)
    case.budget(
        f"numbers read from global memory per product, in {kernel}",
        yours=per_product,
        ours=1 + 1 / SAMPLES_PER_THREAD,
        allowed=READS,
        diagnosis="read for one product",
        sentence=f"{kernel} reads {per_product:.2f} numbers per product. Read one of the two into "
        "a variable, and use it for several totals: for eight samples per thread it is 1 + 1 / 8.",
        line=counts.busiest_line("reads", *arrays),
    )


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
