"""The inline network against its float64 reference, on each engine; and the gradients there."""

import numpy as np
import pytest

from kernels.inline import fused, learn, paint, scatter
from kernels.inline.model import Stages, initial_parameters, learning_step, make_arrays, parts
from kernels.inline.sizes import CHANNELS, WEIGHTS_SHAPE, grid_shape
from lessons import reference
from lessons.reference import inline as reference_inline

pytestmark = pytest.mark.gpu

# One cell, and a bit of four; no multiple of 16, not square.
SIZES = [(16, 16), (19, 35), (1, 1), (37, 5)]


def random(*shape, seed=0, low=-1.0, high=1.0):
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)


def network(height, width, seed=5):
    """A grid and weights for a picture, in which some units are active and some are not."""
    grid, weights = initial_parameters(height, width, seed)
    weights[:, -1] = random(3, 16, seed=seed)
    return grid, weights


@pytest.mark.slow
@pytest.mark.parametrize("height, width", SIZES)
def test_paint(engine, height, width):
    grid, weights = network(height, width)
    picture = engine.output((height, width, 3))
    paint.launch_paint(
        engine.array(grid), engine.array(weights), picture.array, launch=engine.launch
    )
    expected = reference_inline.paint(grid, weights, height, width)
    np.testing.assert_allclose(picture.read(), expected, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("height, width", SIZES)
@pytest.mark.parametrize("launch", [scatter.launch_scatter_direct, scatter.launch_scatter_block])
def test_scatter(engine, launch, height, width):
    gradient, shape = random(height, width, CHANNELS), grid_shape(height, width)
    grad_grid = engine.output(shape, np.full(shape, 0.5))
    launch(engine.array(gradient), grad_grid.array, launch=engine.launch)
    expected = 0.5 + reference_inline.scatter(gradient, shape)
    np.testing.assert_allclose(grad_grid.read(), expected, atol=2e-5)


@pytest.mark.slow
@pytest.mark.thorough_on("native")  # a step, below, compiles there
@pytest.mark.parametrize("height, width", SIZES)
@pytest.mark.parametrize("launch", [learn.launch_learn, fused.launch_learn_by_warps])
def test_learn(engine, launch, height, width):
    grid, weights = network(height, width)
    image = random(height, width, 3, seed=7, low=0)
    already = np.float32(2**-10)  # gradients are added to what is there; small, to lose no digits
    outputs = [
        engine.output(shape, np.full(shape, already)) for shape in (grid.shape, WEIGHTS_SHAPE, (1,))
    ]
    launch(
        *map(engine.array, (image, grid, weights)), *(o.array for o in outputs),
        launch=engine.launch,
    )  # fmt: skip
    expected = reference_inline.backward(image, grid, weights)
    for output, values in zip(
        outputs, (expected.grad_grid, expected.grad_weights, [expected.loss]), strict=True
    ):
        largest = np.abs(values).max()
        np.testing.assert_allclose(output.read() - already, values, atol=1e-5 * largest + 1e-8)


@pytest.mark.slow
def test_a_step_is_that_of_the_reference(engine):
    image = random(19, 21, 3, low=0)
    arrays = make_arrays(image, 3, engine.to_device)
    grid, weights = initial_parameters(19, 21, 3)
    for step in (1, 2):
        learning_step(Stages(), arrays, step, engine.launch)
    flat = np.concatenate([grid.ravel(), weights.ravel()]).astype(np.float64)
    m, v = np.zeros_like(flat), np.zeros_like(flat)
    total = 0
    for step in (1, 2):
        found = reference_inline.backward(image, *parts(flat, grid.shape))
        total += found.loss
        gradient = np.concatenate([found.grad_grid.ravel(), found.grad_weights.ravel()])
        flat, m, v = reference.adam(flat, gradient, m, v, step, 0.03, 0.9, 0.999, 1e-8)
    got = engine.to_host(arrays.parameters)
    # Adam divides by the gradient's size: where that is nearly zero, rounding decides.
    sure = np.abs(m) > 1e-6
    np.testing.assert_allclose(got[sure], flat[sure], atol=2e-3)
    assert sure.mean() > 0.2
    np.testing.assert_allclose(engine.to_host(arrays.loss_sum), [total], rtol=1e-4)
    assert not engine.to_host(arrays.gradients).any()


def test_the_reference_agrees_with_slopes():
    """Ten parameters of each kind: what the loss does when one of them moves a little."""
    grid, weights = (array.astype(np.float64) for array in network(19, 21))
    image = random(19, 21, 3, seed=7, low=0)
    found = reference_inline.backward(image, grid, weights)
    chosen = np.random.default_rng(1)
    for values, gradient in ((grid, found.grad_grid), (weights, found.grad_weights)):
        active = np.flatnonzero(gradient)
        for place in chosen.choice(active, 10):
            slope = (
                loss_with(image, grid, weights, values, place, 1e-6)
                - loss_with(image, grid, weights, values, place, -1e-6)
            ) / 2e-6
            assert slope == pytest.approx(gradient.flat[place], rel=1e-4, abs=1e-9)


def loss_with(image, grid, weights, moved, place, by):
    before = moved.flat[place]
    moved.flat[place] = before + by
    loss = reference_inline.backward(image, grid, weights).loss
    moved.flat[place] = before
    return loss


def test_a_picture_of_512_pixels_has_16062_parameters():
    arrays = make_arrays(np.zeros((512, 512, 3), np.float32), 1, np.array)
    assert arrays.parameters.shape == (16_062,)
    assert arrays.grid.shape == (33, 33, 14)
