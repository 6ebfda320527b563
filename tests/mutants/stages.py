"""For each kernel: run its stage on small inputs, and compare with the float64 reference.

A stage takes the module to test, mutated or not, and a launcher (see `kernels/launch.py`). Inputs
are ragged, not square and different in every element, and outputs lie between guard zones and
begin as a sentinel, as in `tests/kernels/test_kernels.py`.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from kernels import adam, backward, encode, histogram, image_ops, matmul, mlp_forward, sampler
from kernels.classifier import column_sums, gelu, sgd, softmax
from kernels.config import Config
from kernels.inline import learn, paint, scatter
from kernels.inline.model import initial_parameters
from kernels.siren import layers as siren_layers
from kernels.siren import sums as siren_sums
from kernels.transfers import block_shapes
from kernels.warm_ups import gradients as warm_up_gradients
from kernels.warm_ups import layers as warm_up_layers
from lessons import reference
from lessons.reference import classifier as reference_classifier
from lessons.reference import inline as reference_inline
from lessons.reference import siren as reference_siren
from lessons.reference import transfers as reference_transfers
from lessons.reference import warm_ups as reference_warm_ups
from tests.engines import Checked
from tests.kernels.test_kernels import (
    RAGGED_BATCH,
    RAGGED_GRID,
    RAGGED_IMAGE,
    SEED,
    adam_inputs,
    network,
    random,
    random_uv,
    random_weights,
)

HOST = Checked()  # arrays are NumPy arrays, whatever the launcher does with them


class Stage(NamedTuple):
    """module: the one that defines the kernel. run(module, launch, **case): raises AssertionError
    if a result is wrong. cases: keyword arguments of `run`, one dict for each call."""

    module: object
    run: Callable
    cases: tuple = ({},)


def check(kernel, module, launch):
    """None if the stage computes what the reference does, else what is wrong, in one line.

    kernel: a key of `STAGES`. module: the one its kernel is defined in, or a mutant of it.
    """
    stage = STAGES[kernel]
    for case in stage.cases:
        try:
            stage.run(module, launch, **case)
        except AssertionError as reason:
            return str(reason)
    return None


def expect(name, actual, expected, relative=0.0, absolute=0.0):
    """Raise AssertionError with the first element that is not as expected."""
    wrong = ~np.isclose(actual, expected, rtol=relative, atol=absolute)
    if not wrong.any():
        return
    position = tuple(int(i) for i in np.argwhere(wrong)[0])
    index = ", ".join(map(str, position))
    raise AssertionError(
        f"{name}[{index}] is {actual[position]}, not {expected[position]}; "
        f"{wrong.sum()} of {wrong.size} elements are wrong"
    )


def expect_sum(name, actual, expected):
    """As `expect`, for sums of many float32 of both signs: right to 1e-5 of the largest."""
    expect(name, actual, expected, absolute=1e-5 * np.abs(expected).max())


# ---------------------------------------------------------------- the stages


def sample_batch(module, launch):
    image, step = random(*RAGGED_IMAGE, low=0), 7
    uv, target = HOST.output((RAGGED_BATCH, 2)), HOST.output((RAGGED_BATCH, 3))
    module.launch_sample_batch(image, SEED, step, uv.array, target.array, launch=launch)
    expected_uv, expected_target = reference.sample(image, step, SEED, RAGGED_BATCH)
    expect("uv", uv.read(), expected_uv)
    expect("target", target.read(), expected_target, absolute=2e-6)


def pixel_centres(module, launch):
    height, width, _ = RAGGED_IMAGE
    uv = HOST.output((RAGGED_BATCH, 2))
    module.launch_pixel_centres(10, width, height, uv.array, launch=launch)
    expected = reference.pixel_centres(width, height)[10 : 10 + RAGGED_BATCH]
    expect("uv", uv.read(), expected, absolute=1e-7)


def encoding(module, launch):
    uv, grid = random_uv(RAGGED_BATCH), random(*RAGGED_GRID)
    features = HOST.output((RAGGED_BATCH, 16))
    module.launch_encode(uv, grid, features.array, launch=launch)
    expect("features", features.read(), reference.encode(uv, grid), absolute=1e-5)


def product(module, launch, rows, inner, columns):
    a, b, c = random(rows, inner), random(inner, columns), HOST.output((rows, columns))
    for launch_product in (module.launch_matmul_naive, module.launch_matmul_tiled):
        launch_product(a, b, c.array, launch=launch)
        expect("c", c.read(), a.astype(np.float64) @ b, absolute=1e-5)
        c = HOST.output((rows, columns))


def histograms(module, launch, pixels, bins):
    brightness = random(pixels, low=0)
    # In float32, as the kernel: a number next to a border may be in the other bin in float64.
    expected = np.bincount((brightness * np.float32(bins)).astype(int), minlength=bins)
    for launch_histogram in (module.launch_histogram_global, module.launch_histogram_shared):
        counts = np.zeros(bins, np.int32)
        launch_histogram(brightness, counts, launch=launch)
        expect("counts", counts, expected)


def sum_by_tree(module, launch, values):
    numbers, total = random(values, low=0), HOST.output((1,), np.float32(2))
    module.launch_sum_tree(numbers, total.array, launch=launch)
    expected = np.array([2 + numbers.sum(dtype=np.float64)])
    expect("total", total.read(), expected, relative=1e-6)


def forward(module, launch, hidden, layers):
    features, weights = random(RAGGED_BATCH, 16), random_weights(hidden, layers)
    activations = HOST.output((layers, RAGGED_BATCH, hidden))
    outputs = HOST.output((RAGGED_BATCH, 16))
    module.launch_mlp_forward(features, weights, activations.array, outputs.array, launch=launch)
    matrices = reference.split_weights(weights, hidden, layers)
    expected_outputs, expected_activations = reference.mlp_forward(features, matrices)
    expect("outputs", outputs.read(), expected_outputs, absolute=2e-6)
    expect("hidden", activations.read(), np.stack(expected_activations[1:]), absolute=1e-5)


def backpropagation(module, launch, hidden, layers):
    uv, grid, weights, target, matrices, features, outputs, activations = network(
        RAGGED_BATCH, hidden, layers
    )
    already = np.float32(2**-12)  # gradients are added to what is there; small, to lose no digits
    grad_weights = HOST.output(weights.shape, np.full(weights.shape, already))
    grad_grid = HOST.output(grid.shape, np.full(grid.shape, already))
    loss_sum = HOST.output((1,), [already])
    module.launch_backward(
        uv, HOST.array(features), HOST.array(np.stack(activations[1:])), HOST.array(outputs),
        target, weights, grad_weights.array, grad_grid.array, loss_sum.array, launch=launch,
    )  # fmt: skip
    expected = reference.backward(uv, grid, matrices, target)
    expect("loss_sum", loss_sum.read() - already, np.array([expected.loss]), relative=1e-5)
    expect_sum("grad_weights", grad_weights.read() - already, expected.grad_weights)
    expect_sum("grad_feature_grid", grad_grid.read() - already, expected.grad_feature_grid)


def unit_behind_relu(module, launch, samples):
    sums, weights, outputs = random(samples, 16), random(16, seed=1), HOST.output((samples,))
    module.launch_relu_unit(sums, weights, outputs.array, launch=launch)
    expect("outputs", outputs.read(), reference_warm_ups.relu_unit(sums, weights), absolute=2e-6)


def mixed_units(module, launch, samples, layers):
    features, outputs = random(samples, 16), HOST.output((samples, 16))
    module.launch_mix_units(features, layers, outputs.array, launch=launch)
    expected = reference_warm_ups.mix_units(features, layers)
    expect("outputs", outputs.read(), expected, absolute=2e-6)


def mask_of_relu(module, launch, shape):
    gradients, before = random(*shape), np.maximum(random(*shape, seed=1), 0)
    activations = HOST.output(shape, before)
    module.launch_relu_backward(gradients, activations.array, launch=launch)
    expected = reference_warm_ups.relu_backward(gradients, before)
    expect("activations", activations.read(), expected)


def products_of_samples(module, launch, samples):
    activations, deltas = random(samples, 16), random(samples, 16, seed=1)
    grad_weights = HOST.output((16, 16), np.full((16, 16), np.float32(2)))
    module.launch_add_weight_gradients(activations, deltas, grad_weights.array, launch=launch)
    expected = 2 + reference_warm_ups.add_weight_gradients(activations, deltas)
    expect_sum("grad_weights", grad_weights.read(), expected)


def adam_weights(module, launch, step):
    config, inputs = Config(), adam_inputs((203,))
    outputs = [HOST.output((203,), array) for array in inputs]
    module.launch_adam_weights(
        *(output.array for output in outputs), step,
        adam.bias_corrections(config.beta1, config.beta2), 0.01, config.adam_rates, launch=launch,
    )  # fmt: skip
    expected = reference.adam(*inputs, step, 0.01, config.beta1, config.beta2, config.epsilon)
    expect_adam(outputs, expected)


def adam_grid(module, launch):
    config, shape = Config(), (5, 27, 3)
    inputs = adam_inputs(shape)
    gradient = inputs[1]
    untouched = np.random.default_rng(10).random(shape[:2]) < 0.5
    gradient[untouched] = 0
    gradient[:, ::2, 0] = 0  # one channel without a gradient does not make a cell untouched
    outputs = [HOST.output(shape, array) for array in inputs]
    steps = np.random.default_rng(9).integers(0, 3000, shape[:2]).astype(np.int32)
    steps_after = steps.copy()
    module.launch_adam_grid(
        *(output.array for output in outputs), steps_after,
        adam.bias_corrections(config.beta1, config.beta2), 0.02, config.adam_rates, launch=launch,
    )  # fmt: skip
    *expected, expected_steps = reference.adam_grid(
        *inputs, steps, 0.02, config.beta1, config.beta2, config.epsilon
    )
    expect_adam(outputs, expected)
    expect("steps", steps_after, expected_steps)


def expect_adam(outputs, expected):
    parameter, gradient, m, v = (output.read() for output in outputs)
    expect("parameter", parameter, expected[0], absolute=1e-6)
    expect("m", m, expected[1], relative=1e-5, absolute=1e-10)
    expect("v", v, expected[2], relative=1e-5)
    expect("gradient", gradient, np.zeros_like(gradient))


def grayscale(module, launch):
    image, gray = random(*RAGGED_IMAGE, low=0), HOST.output(RAGGED_IMAGE[:2])
    module.launch_over_pixels(module.grayscale, image, gray.array, launch)
    expect("gray", gray.read(), reference.grayscale(image), absolute=1e-6)


def downsample(module, launch, width, height):
    image, small = random(*RAGGED_IMAGE, low=0), HOST.output((height, width, 3))
    module.launch_over_pixels(module.downsample, image, small.array, launch)
    expected = reference.area_downsample(image, width, height)
    expect("small", small.read(), expected, absolute=2e-6)


def upsample(module, launch, width, height):
    small, large = random(*RAGGED_GRID, low=0), HOST.output((height, width, 3))
    module.launch_over_pixels(module.upsample, small, large.array, launch)
    expected = reference.bilinear_upsample(small, width, height)
    expect("large", large.read(), expected, absolute=5e-6)


def sine_layer(module, launch, samples, fan_in, units):
    inputs, weights, biases = random(samples, fan_in), random(fan_in, units), random(units)
    outputs, slopes = HOST.output((samples, units)), HOST.output((samples, units))
    omega = np.float32(2.5)
    module.launch_sine_layer(
        inputs, weights, biases, omega, outputs.array, slopes.array, launch=launch
    )
    expected_outputs, expected_slopes = reference_siren.sine_layer(inputs, weights, biases, omega)
    expect("outputs", outputs.read(), expected_outputs, absolute=2e-5)
    expect("slopes", slopes.read(), expected_slopes, absolute=2e-5)


def sine_backward(module, launch, samples, fan_in, units):
    deltas, weights = random(samples, units), random(fan_in, units)
    slopes, below = random(samples, fan_in), HOST.output((samples, fan_in))
    module.launch_sine_backward(deltas, weights, slopes, below.array, launch=launch)
    expect_sum("below", below.read(), reference_siren.sine_backward(deltas, weights, slopes))


def gradient_sums(module, launch, samples, fan_in, units):
    inputs, deltas = random(samples, fan_in), random(samples, units)
    expected = reference_siren.chunk_sums(inputs, deltas, 64)
    partial, gradients = HOST.output(expected.shape), HOST.output(expected.shape[1:])
    module.launch_chunk_sums(inputs, deltas, partial.array, launch=launch)
    expect_sum("partial", partial.read(), expected)
    module.launch_sum_chunks(partial.array, gradients.array, launch=launch)
    expect_sum("gradients", gradients.read(), expected.sum(axis=0))


def activation(module, launch):
    sums, bias, before = random(9, 37, low=-3, high=3), random(37), random(9, 37, low=0.5)
    hidden, delta = HOST.output((9, 37)), HOST.output((9, 37), before)
    module.launch_bias_gelu(sums, bias, hidden.array, launch=launch)
    module.launch_gelu_backward(sums, bias, delta.array, launch=launch)
    x = sums + bias.astype(np.float64)
    expect("hidden", hidden.read(), reference_classifier.gelu(x), absolute=3e-6)
    slope = reference_classifier.gelu_slope(x)
    expect("delta", delta.read(), before * slope, absolute=3e-6)


def probabilities_and_losses(module, launch, classes, logit):
    logits, bias = random(5, classes, low=-3, high=3), random(classes)
    logits[1] += logit
    labels = np.array([classes - 1, 0, 1, classes // 2, 0], np.int32)
    outputs = [HOST.output(shape) for shape in ((5, classes), (5, classes), (5,))]
    arrays = [output.array for output in outputs]
    module.launch_softmax_cross_entropy(logits, bias, labels, *arrays, launch=launch)
    z = logits + bias
    y = reference_classifier.softmax(z)
    expect("probabilities", outputs[0].read(), y, absolute=3e-6)
    expect("delta", outputs[1].read(), y - np.eye(classes)[labels], absolute=3e-6)
    losses = reference_classifier.cross_entropy(z, labels)
    expect("losses", outputs[2].read(), losses, relative=1e-5, absolute=1e-5)


def sums_of_columns(module, launch, rows, columns):
    values, sums = random(rows, columns), HOST.output((columns,))
    module.launch_column_sums(values, sums.array, launch=launch)
    expect("sums", sums.read(), values.astype(np.float64).sum(axis=0), absolute=1e-5)


def gradient_descent(module, launch):
    before, gradients = random(300), random(300, low=0.1)
    parameters = HOST.output((300,), before)
    module.launch_sgd(parameters.array, gradients, 0.3, launch=launch)
    expect("parameters", parameters.read(), before - 0.3 * gradients, absolute=1e-6)


# The cheapest case first. Networks: one whose widths are one tile, and one with more than one tile
# and more than one layer to keep apart.
NETWORKS = {"hidden": 16, "layers": 1}, {"hidden": 32, "layers": 2}

# Within one tile; and with ragged tiles in all three directions.
HISTOGRAMS = {"pixels": 300, "bins": 10}, {"pixels": 4500, "bins": 300}
PRODUCTS = {"rows": 9, "inner": 5, "columns": 7}, {"rows": 19, "inner": 37, "columns": 21}

LOGITS = {"classes": 40, "logit": 0}, {"classes": 5, "logit": -1e4}, {"classes": 40, "logit": 1e4}
MATRICES = {"rows": 9, "columns": 5}, {"rows": 19, "columns": 37}


def shrinking(module, launch, shape, factor):
    image = random(*shape, low=0)
    small = HOST.output((shape[0] // factor, shape[1] // factor))
    module.launch_shrink(image, small.array, factor, (16, 4), launch=launch)
    expect("small", small.read(), reference_transfers.shrink(image, factor), absolute=1e-6)


def tinting(module, launch, shape):
    image, gains = random(*shape, low=0.1), random(shape[2], seed=1, low=0.4, high=1.6)
    tinted = HOST.output(shape)
    module.launch_tint(image, gains, tinted.array, launch=launch)
    expect("tinted", tinted.read(), reference_transfers.tint(image, gains), absolute=1e-6)


def inline_network(height, width):
    """A picture and its network: image, grid, weights."""
    grid, weights = initial_parameters(height, width, 5)
    weights[:, -1] = random(3, 16)
    return random(height, width, 3, seed=7, low=0), grid, weights


def inline_painting(module, launch, height, width):
    image, grid, weights = inline_network(height, width)
    picture = HOST.output(image.shape)
    module.launch_paint(grid, weights, picture.array, launch=launch)
    expected = reference_inline.paint(grid, weights, height, width)
    expect("picture", picture.read(), expected, absolute=1e-5)


def inline_scattering(module, launch, height, width):
    gradient, shape = random(height, width, 14), reference_inline.grid_shape(height, width)
    expected = 1 + reference_inline.scatter(gradient, shape)
    for launch_scatter in (module.launch_scatter_direct, module.launch_scatter_block):
        grad_grid = HOST.output(shape, np.ones(shape))
        launch_scatter(gradient, grad_grid.array, launch=launch)
        expect("grad_grid", grad_grid.read(), expected, absolute=2e-5)


def inline_learning(module, launch, height, width):
    image, grid, weights = inline_network(height, width)
    right = reference_inline.backward(image, grid, weights)
    expected = right.grad_grid, right.grad_weights, np.array([right.loss])
    already = np.float32(2**-10)
    outputs = [HOST.output(array.shape, np.full(array.shape, already)) for array in expected]
    arrays = [output.array for output in outputs]
    module.launch_learn(image, grid, weights, *arrays, launch=launch)
    for output, values in zip(outputs, expected, strict=True):
        expect_sum("gradients", output.read() - already, values)


# Two cells that are not full, and one that is.
CELLS = {"height": 11, "width": 19}, {"height": 16, "width": 16}

SINE_LAYERS = {"samples": 5, "fan_in": 3, "units": 4}, {"samples": 69, "fan_in": 13, "units": 40}

MIXED = {"samples": 70, "layers": 3}, {"samples": 5, "layers": 2}, {"samples": 3, "layers": 0}

STAGES = {
    "sine_layer": Stage(siren_layers, sine_layer, SINE_LAYERS),
    "sine_backward": Stage(siren_layers, sine_backward, SINE_LAYERS),
    "chunk_sums": Stage(siren_sums, gradient_sums, SINE_LAYERS),
    "sum_chunks": Stage(siren_sums, gradient_sums, SINE_LAYERS),
    "sample_batch": Stage(sampler, sample_batch),
    "pixel_centres": Stage(sampler, pixel_centres),
    "encode": Stage(encode, encoding),
    "matmul_naive": Stage(matmul, product, PRODUCTS),
    "matmul_tiled": Stage(matmul, product, PRODUCTS),
    "histogram_global": Stage(histogram, histograms, HISTOGRAMS),
    "histogram_shared": Stage(histogram, histograms, HISTOGRAMS),
    "sum_tree": Stage(histogram, sum_by_tree, ({"values": 300}, {"values": 4500})),
    "mlp_forward": Stage(mlp_forward, forward, NETWORKS),
    "backward": Stage(backward, backpropagation, NETWORKS),
    "relu_unit": Stage(warm_up_layers, unit_behind_relu, ({"samples": 1}, {"samples": 70})),
    "mix_units": Stage(warm_up_layers, mixed_units, MIXED),
    "relu_backward": Stage(warm_up_gradients, mask_of_relu, ({"shape": (19, 37)},)),
    "add_weight_gradients": Stage(warm_up_gradients, products_of_samples, ({"samples": 70},)),
    "adam_weights": Stage(adam, adam_weights, ({"step": 1}, {"step": 100}, {"step": 5000})),
    "adam_grid": Stage(adam, adam_grid),
    "grayscale": Stage(image_ops, grayscale),
    "paint": Stage(paint, inline_painting, CELLS),
    "scatter_direct": Stage(scatter, inline_scattering, CELLS),
    "scatter_block": Stage(scatter, inline_scattering, CELLS),
    "learn": Stage(learn, inline_learning, CELLS),
    "bias_gelu": Stage(gelu, activation),
    "gelu_backward": Stage(gelu, activation),
    "softmax_cross_entropy": Stage(softmax, probabilities_and_losses, LOGITS),
    "column_sums": Stage(column_sums, sums_of_columns, MATRICES),
    "sgd": Stage(sgd, gradient_descent),
    "downsample": Stage(image_ops, downsample, ({"width": 7, "height": 4},)),
    "upsample": Stage(image_ops, upsample, ({"width": 14, "height": 9},)),
    "shrink": Stage(
        block_shapes,
        shrinking,
        ({"shape": (11, 46), "factor": 2}, {"shape": (13, 52), "factor": 3}),
    ),
    "tint": Stage(block_shapes, tinting, ({"shape": (5, 35, 3)}, {"shape": (33, 4, 4)})),
}
