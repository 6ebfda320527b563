"""Every CUDA kernel against the float64 reference, on each engine there is (see `engines`).

Sizes are ragged (no multiple of any block or tile), images are not square and every element is
different, so a missing guard, a transposed index or a shifted tile cannot pass. Outputs lie between
guard zones and start as a sentinel, so a write outside or a missing write shows.
"""

import numpy as np
import pytest

from kernels import adam, backward, encode, histogram, image_ops, mlp_forward, sampler
from kernels.config import Config
from kernels.field_math import philox4x32
from lessons import reference

pytestmark = pytest.mark.gpu

SEED = 0x1234_5678_9ABC_DEF0
STEP = 7
RAGGED_BATCH = 70  # one full tile of 64 samples and a bit
RAGGED_IMAGE = (9, 14, 3)
RAGGED_GRID = (5, 7, 3)


def random(*shape, seed=0, low=-1.0, high=1.0):
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)


def random_uv(batch, seed=1):
    """Random coordinates, some of them on the very edge, away from the borders between cells."""
    uv = random(batch, 2, seed=seed, low=0, high=1)
    uv[:4] = [[0, 0], [0, 1 - 2**-24], [1 - 2**-24, 0], [1 - 2**-24, 1 - 2**-24]]
    return uv


def random_weights(hidden, layers, seed=2):
    config = Config(hidden=hidden, layers=layers)
    scales = [np.full(i * o, np.sqrt(3 / i)) for i, o in config.layer_shapes]
    return (random(config.weight_count, seed=seed) * np.concatenate(scales)).astype(np.float32)


def network(batch, hidden, layers):
    """Everything the backward pass needs, as the reference computes it."""
    uv, grid = random_uv(batch), random(*RAGGED_GRID, seed=3)
    weights, target = random_weights(hidden, layers), random(batch, 3, seed=4, low=0)
    matrices = reference.split_weights(weights, hidden, layers)
    features = reference.encode(uv, grid)
    outputs, activations = reference.mlp_forward(features, matrices)
    return uv, grid, weights, target, matrices, features, outputs, activations


# ---------------------------------------------------------------- sampler


@pytest.mark.parametrize(
    "counter, key, words",
    [
        ((0,) * 4, (0,) * 2, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_philox_gives_the_published_answers(counter, key, words):
    arguments = [np.uint64(word) for word in counter + key]
    assert tuple(int(word) for word in philox4x32(*arguments)) == words


@pytest.mark.parametrize("step", [1, STEP, (1 << 32) + 5])
def test_sample_batch_draws_the_reference_batch_bit_for_bit(engine, step):
    image = random(*RAGGED_IMAGE, low=0)
    uv, target = engine.output((RAGGED_BATCH, 2)), engine.output((RAGGED_BATCH, 3))
    sampler.launch_sample_batch(
        engine.array(image), SEED, step, uv.array, target.array, launch=engine.launch
    )
    expected_uv, expected_target = reference.sample(image, step, SEED, RAGGED_BATCH)
    np.testing.assert_array_equal(uv.read(), expected_uv)
    np.testing.assert_allclose(target.read(), expected_target, atol=2e-6)


@pytest.mark.parametrize("shape", [(1, 1, 3), (3, 2, 3), (1, 17, 3)])
def test_sample_batch_works_on_tiny_images(engine, shape):
    image = random(*shape, low=0)
    uv, target = engine.output((5, 2)), engine.output((5, 3))
    sampler.launch_sample_batch(
        engine.array(image), 3, 1, uv.array, target.array, launch=engine.launch
    )
    np.testing.assert_allclose(target.read(), reference.sample(image, 1, 3, 5)[1], atol=1e-6)


def test_pixel_centres_go_row_by_row_from_any_pixel(engine):
    uv = engine.output((RAGGED_BATCH, 2))
    sampler.launch_pixel_centres(10, 14, 9, uv.array, launch=engine.launch)
    expected = reference.pixel_centres(14, 9)[10 : 10 + RAGGED_BATCH]
    np.testing.assert_allclose(uv.read(), expected, atol=1e-7)


def test_pixel_centres_past_the_picture_stay_inside_it(engine):
    uv = engine.output((40, 2))
    sampler.launch_pixel_centres(0, 5, 3, uv.array, launch=engine.launch)
    written = uv.read()
    np.testing.assert_allclose(written[:15], reference.pixel_centres(5, 3), atol=1e-7)
    assert ((written > 0) & (written < 1)).all()


# ---------------------------------------------------------------- encode


@pytest.mark.parametrize("grid_shape", [RAGGED_GRID, (1, 1, 3), (1, 6, 3), (8, 2, 3)])
def test_encode(engine, grid_shape):
    uv, grid = random_uv(RAGGED_BATCH), random(*grid_shape)
    features = engine.output((RAGGED_BATCH, 16))
    encode.launch_encode(engine.array(uv), engine.array(grid), features.array, launch=engine.launch)
    np.testing.assert_allclose(features.read(), reference.encode(uv, grid), atol=1e-5)


# ---------------------------------------------------------------- mlp_forward


@pytest.mark.parametrize("layers, hidden", [(1, 16), (2, 32), (4, 16), (3, 64)])
@pytest.mark.slow_on("native")
def test_mlp_forward(engine, layers, hidden):
    features, weights = random(RAGGED_BATCH, 16), random_weights(hidden, layers)
    hidden_out = engine.output((layers, RAGGED_BATCH, hidden))
    outputs = engine.output((RAGGED_BATCH, 16))
    mlp_forward.launch_mlp_forward(
        engine.array(features), engine.array(weights), hidden_out.array, outputs.array,
        launch=engine.launch,
    )  # fmt: skip
    matrices = reference.split_weights(weights, hidden, layers)
    expected, activations = reference.mlp_forward(features, matrices)
    np.testing.assert_allclose(outputs.read(), expected, atol=2e-6)
    np.testing.assert_allclose(hidden_out.read(), np.stack(activations[1:]), atol=1e-5)


@pytest.mark.slow_on("native")
@pytest.mark.parametrize("batch", [1, 63, 64])
def test_mlp_forward_at_the_edges_of_a_tile(engine, batch):
    features, weights = random(batch, 16), random_weights(16, 1)
    hidden_out, outputs = engine.output((1, batch, 16)), engine.output((batch, 16))
    mlp_forward.launch_mlp_forward(
        engine.array(features), engine.array(weights), hidden_out.array, outputs.array,
        launch=engine.launch,
    )  # fmt: skip
    expected, _ = reference.mlp_forward(features, reference.split_weights(weights, 16, 1))
    np.testing.assert_allclose(outputs.read(), expected, atol=2e-6)


# ---------------------------------------------------------------- backward


@pytest.mark.parametrize("layers, hidden", [(1, 16), (2, 32), (4, 16), (2, 64)])
@pytest.mark.slow_on("native")
def test_backward(engine, layers, hidden):
    uv, grid, weights, target, matrices, features, outputs, activations = network(
        RAGGED_BATCH, hidden, layers
    )
    already = np.float32(2**-12)  # gradients are added to what is there; small, to lose no digits
    grad_weights = engine.output(weights.shape, np.full(weights.shape, already))
    grad_grid = engine.output(grid.shape, np.full(grid.shape, already))
    loss_sum = engine.output((1,), [already])
    backward.launch_backward(
        engine.array(uv), engine.array(features), engine.array(np.stack(activations[1:])),
        engine.array(outputs), engine.array(target), engine.array(weights),
        grad_weights.array, grad_grid.array, loss_sum.array,
        launch=engine.launch,
    )  # fmt: skip
    expected = reference.backward(uv, grid, matrices, target)
    np.testing.assert_allclose(loss_sum.read() - already, expected.loss, rtol=1e-5)
    close_to_scale(grad_weights.read() - already, expected.grad_weights)
    close_to_scale(grad_grid.read() - already, expected.grad_feature_grid)


def close_to_scale(actual, expected):
    """Equal to within 1e-5 of the largest element: float32 sums of numbers of both signs."""
    np.testing.assert_allclose(actual, expected, atol=1e-5 * max(0.01, np.abs(expected).max()))


# ---------------------------------------------------------------- Adam


def adam_inputs(shape):
    return (
        random(*shape, seed=5),
        random(*shape, seed=6, low=-1e-3, high=1e-3),
        random(*shape, seed=7, low=-1e-3, high=1e-3),
        random(*shape, seed=8, low=1e-9, high=1e-6),
    )


@pytest.mark.parametrize("step", [1, 2, 100, 5000])
def test_adam_weights(engine, step):
    config = Config()
    parameter, grad, m, v = adam_inputs((203,))
    outputs = [engine.output((203,), array) for array in (parameter, grad, m, v)]
    weights, gradient, mean, square = (output.array for output in outputs)
    corrections = engine.array(adam.bias_corrections(config.beta1, config.beta2))
    adam.launch_adam_weights(
        weights, gradient, mean, square, step, corrections, 0.01, config.adam_rates,
        launch=engine.launch,
    )  # fmt: skip
    expected = reference.adam(
        parameter, grad, m, v, step, 0.01, config.beta1, config.beta2, config.epsilon
    )
    new_parameter, new_grad, new_m, new_v = (output.read() for output in outputs)
    np.testing.assert_allclose(new_parameter, expected[0], atol=1e-6)
    np.testing.assert_allclose(new_m, expected[1], rtol=1e-5, atol=1e-10)
    np.testing.assert_allclose(new_v, expected[2], rtol=1e-5)
    assert (new_grad == 0).all()


@pytest.mark.slow
def test_adam_grid_moves_touched_cells_and_no_other_bit(engine):
    config = Config()
    shape = (5, 27, 3)
    parameter, grad, m, v = adam_inputs(shape)
    steps = np.random.default_rng(9).integers(0, 3000, shape[:2]).astype(np.int32)
    touched = np.random.default_rng(10).random(shape[:2]) < 0.5
    grad[~touched] = 0
    grad[touched, 0] = 0  # one channel without a gradient does not make a cell untouched
    outputs = [engine.output(shape, array) for array in (parameter, grad, m, v)]
    grid, gradient, mean, square = (output.array for output in outputs)
    steps_after = engine.array(steps, np.int32)
    corrections = engine.array(adam.bias_corrections(config.beta1, config.beta2))
    adam.launch_adam_grid(
        grid, gradient, mean, square, steps_after, corrections, 0.02, config.adam_rates,
        launch=engine.launch,
    )  # fmt: skip
    expected = reference.adam_grid(
        parameter, grad, m, v, steps, 0.02, config.beta1, config.beta2, config.epsilon
    )
    new_parameter, new_grad, new_m, new_v = (output.read() for output in outputs)
    np.testing.assert_allclose(new_parameter, expected[0], atol=1e-6)
    np.testing.assert_allclose(new_m, expected[1], rtol=1e-5, atol=1e-10)
    np.testing.assert_allclose(new_v, expected[2], rtol=1e-5)
    np.testing.assert_array_equal(engine.to_host(steps_after), expected[3])
    for before, after in ((parameter, new_parameter), (m, new_m), (v, new_v)):
        np.testing.assert_array_equal(after[~touched], before[~touched])
        assert (after[touched] != before[touched]).any()
    assert (new_grad == 0).all()


def test_bias_corrections_end_where_float32_shows_no_difference():
    table = adam.bias_corrections(0.9, 0.99)
    step = np.arange(1, len(table))
    np.testing.assert_allclose(table[1:, 0], 1 / (1 - 0.9**step), rtol=1e-7)
    np.testing.assert_allclose(table[1:, 1], 1 / (1 - 0.99**step), rtol=1e-7)
    assert (table[-1] == 1).all() and len(table) < 2000


# ---------------------------------------------------------------- whole images


def test_grayscale(engine):
    image, gray = random(*RAGGED_IMAGE, low=0), engine.output(RAGGED_IMAGE[:2])
    image_ops.launch_over_pixels(
        image_ops.grayscale, engine.array(image), gray.array, engine.launch
    )
    np.testing.assert_allclose(gray.read(), reference.grayscale(image), atol=1e-6)


@pytest.mark.slow_on("native")
@pytest.mark.parametrize("size", [(7, 4), (14, 9), (1, 1), (3, 20), (17, 2)])
def test_downsample_and_upsample_between_any_sizes(engine, size):
    width, height = size
    image = random(*RAGGED_IMAGE, low=0)
    small, large = engine.output((height, width, 3)), engine.output(RAGGED_IMAGE)
    image_ops.launch_over_pixels(
        image_ops.downsample, engine.array(image), small.array, engine.launch
    )
    expected = reference.area_downsample(image, width, height)
    np.testing.assert_allclose(small.read(), expected, atol=2e-6)
    image_ops.launch_over_pixels(
        image_ops.upsample, engine.array(expected), large.array, engine.launch
    )
    upsampled = reference.bilinear_upsample(expected, RAGGED_IMAGE[1], RAGGED_IMAGE[0])
    np.testing.assert_allclose(large.read(), upsampled, atol=5e-6)


# ---------------------------------------------------------------- histogram


@pytest.mark.parametrize(
    "pixels, bins",
    [
        (300, 10),
        *(
            pytest.param(*size, marks=pytest.mark.slow)
            for size in [(1, 1), (5000, 300), (4097, 1024)]
        ),
    ],
)
@pytest.mark.slow_on("native")
def test_histograms_and_sum(engine, pixels, bins):
    """More bins than threads, a last block of few pixels; what was there before is added to."""
    brightness = random(pixels, low=0)
    brightness[-1] = 1  # in the last bin
    # In float32, as the kernel: a number next to a border may be in the other bin in float64.
    numbers = np.minimum((brightness * np.float32(bins)).astype(int), bins - 1)
    for launch in (histogram.launch_histogram_global, histogram.launch_histogram_shared):
        counts = engine.array(np.arange(bins), np.int32)
        launch(engine.array(brightness), counts, launch=engine.launch)
        expected = np.arange(bins) + np.bincount(numbers, minlength=bins)
        np.testing.assert_array_equal(engine.to_host(counts), expected)
    total = engine.output((1,), np.float32(2))
    histogram.launch_sum_tree(engine.array(brightness), total.array, launch=engine.launch)
    exact = 2 + brightness.sum(dtype=np.float64)
    np.testing.assert_allclose(total.read(), [exact], rtol=1e-6)
