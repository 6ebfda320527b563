"""For each kernel: run its stage on small inputs, and compare with the float64 reference.

A stage takes the module to test, mutated or not, and a launcher (see `kernels/launch.py`). Inputs
are ragged, not square and different in every element, and outputs lie between guard zones and
begin as a sentinel, as in `tests/kernels/test_kernels.py`.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from kernels import adam, backward, encode, histogram, image_ops, matmul, mlp_forward, sampler
from kernels.config import Config
from lessons import reference
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


# The cheapest case first. Networks: one whose widths are one tile, and one with more than one tile
# and more than one layer to keep apart.
NETWORKS = {"hidden": 16, "layers": 1}, {"hidden": 32, "layers": 2}

# Within one tile; and with ragged tiles in all three directions.
HISTOGRAMS = {"pixels": 300, "bins": 10}, {"pixels": 4500, "bins": 300}
PRODUCTS = {"rows": 9, "inner": 5, "columns": 7}, {"rows": 19, "inner": 37, "columns": 21}

STAGES = {
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
    "adam_weights": Stage(adam, adam_weights, ({"step": 1}, {"step": 100}, {"step": 5000})),
    "adam_grid": Stage(adam, adam_grid),
    "grayscale": Stage(image_ops, grayscale),
    "downsample": Stage(image_ops, downsample, ({"width": 7, "height": 4},)),
    "upsample": Stage(image_ops, upsample, ({"width": 14, "height": 9},)),
}
