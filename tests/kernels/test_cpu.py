"""The CPU backend against the float64 reference: each stage on a block, and whole steps."""

import numpy as np
import pytest

from kernels.config import Config
from kernels.cpu import images
from kernels.cpu import matrix as cpu_matrix
from kernels.cpu import step as cpu
from kernels.state import initial_state
from kernels.training import second_compiler
from kernels.training.cpu_backend import CpuBackend
from lessons import reference
from lessons.reference import training as reference_training

SEED = 11


def random(*shape, seed=0, low=-1.0, high=1.0):
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)


def backend(config, image, partitions):
    return CpuBackend(image, config, initial_state(config), partitions)


def rates(steps, mlp=0.005, grid=0.02):
    return np.tile(np.array([[mlp, grid]], np.float32), (steps, 1))


@pytest.mark.parametrize("inputs, units", [(16, 32), (64, 64), (32, 4), (4, 16)])
def test_matrix_products(inputs, units):
    matrix, source = random(inputs, units), random(inputs, cpu.BLOCK, seed=1)
    delta, grad = random(units, cpu.BLOCK, seed=2), random(inputs, units, seed=3)
    product = np.full((units, cpu.BLOCK), np.nan, np.float32)
    cpu_matrix.multiply(matrix, source, product)
    np.testing.assert_allclose(product, matrix.T @ source, atol=1e-4)
    expected = grad + source.astype(float) @ delta.T
    cpu_matrix.add_outer(source, delta, grad)
    np.testing.assert_allclose(grad, expected, atol=1e-4)


def corner_arrays(uv):
    """Room for what `find_corners` writes."""
    return np.empty((4, uv.shape[1]), np.uint32), np.empty((4, uv.shape[1]), np.float32)


@pytest.mark.slow
def test_drawing_and_blending_give_the_reference_batch():
    image = random(9, 14, 3, low=0)
    uv, target = np.empty((2, cpu.BLOCK), np.float32), np.empty((3, cpu.BLOCK), np.float32)
    cpu.draw_uv(np.uint64(SEED), 5, 300, uv)
    corners, blend_weights = corner_arrays(uv)
    cpu.find_corners(uv, image, corners, blend_weights)
    cpu.blend_corners(image, corners, blend_weights, target)
    expected_uv, expected_target = reference.sample(image, 5, SEED, 300 + cpu.BLOCK)
    np.testing.assert_array_equal(uv.T, expected_uv[300:])
    np.testing.assert_allclose(target.T, expected_target[300:], atol=2e-6)


@pytest.mark.slow
def test_encode():
    grid, uv = random(5, 7, 3), random(2, cpu.BLOCK, low=0, high=1)
    features = np.ones((16, cpu.BLOCK), np.float32)
    cpu.encode(uv, grid, *corner_arrays(uv), features)
    np.testing.assert_allclose(features.T, reference.encode(uv.T, grid), atol=1e-5)


@pytest.mark.parametrize("layers, hidden", [(1, 16), (2, 32), (4, 64)])
@pytest.mark.parametrize(
    "batch, partitions",
    [
        (257, 1),
        (601, 6),
        *(pytest.param(*sizes, marks=pytest.mark.slow) for sizes in [(1, 1), (700, 3), (5, 8)]),
    ],
)
def test_gradients_and_loss_of_one_step(layers, hidden, batch, partitions):
    config = Config(batch=batch, hidden=hidden, layers=layers, grid_width=7, grid_height=5)
    image, state = random(9, 14, 3, low=0), initial_state(config)
    workspace = cpu.make_workspace(config, partitions)
    for partition in range(partitions):
        cpu.gradient_of_partition(partition, 0, batch, image, np.uint64(SEED), 1, state, workspace)
    uv, target = reference.sample(image, 1, SEED, batch)
    matrices = reference.split_weights(state.weights, hidden, layers)
    expected = reference.backward(uv, state.feature_grid, matrices, target)
    np.testing.assert_allclose(workspace.losses.sum(), expected.loss, rtol=1e-5)
    for actual, wanted in (
        (workspace.grad_weights.sum(axis=0), expected.grad_weights),
        (grid_gradient(workspace), expected.grad_feature_grid),
    ):
        np.testing.assert_allclose(actual, wanted, atol=2e-5 * np.abs(wanted).max() + 1e-9)


def grid_gradient(workspace):
    """The sum of all copies; or the rows of each owner, that has received what was sent."""
    copies = workspace.grad_feature_grid
    owners, rows = copies.shape[:2]
    if owners <= cpu.MOST_COPIES:
        return copies.sum(axis=0)
    for owner, copy in enumerate(copies):
        copy[:] = np.nan  # a row that is not cleared shows
        cpu.receive(owner, workspace)
    return np.concatenate(
        [copy[rows * i // owners : rows * (i + 1) // owners] for i, copy in enumerate(copies)]
    )


@pytest.mark.parametrize("partitions", [2, 6])
def test_twenty_steps_follow_the_reference(partitions):
    config = Config(batch=200, hidden=16, layers=2, grid_width=7, grid_height=5, seed=SEED)
    image, state = random(9, 14, 3, low=0), initial_state(config)
    trainer = backend(config, image, partitions)
    trainer.run(1, rates(20))
    losses, grid, weights = reference_training.train(
        image, state.feature_grid, state.weights, 20, SEED, config.batch,
        hidden=16, layers=2, weight_learning_rate=0.005, grid_learning_rate=0.02,
        beta1=config.beta1, beta2=config.beta2, epsilon=config.epsilon,
    )  # fmt: skip
    np.testing.assert_allclose(trainer.take_losses(), losses, rtol=1e-4)
    np.testing.assert_allclose(trainer.state().weights, weights, atol=2e-3)
    np.testing.assert_allclose(trainer.feature_grid(), grid, atol=2e-3)


def test_untouched_cells_keep_every_bit():
    config = Config(batch=3, hidden=16, layers=1, grid_width=40, grid_height=30, seed=SEED)
    image, before = random(9, 14, 3, low=0), initial_state(config)
    trainer = backend(config, image, 2)
    trainer.run(1, rates(1))
    after = trainer.state()
    touched = after.grid_steps == 1
    assert 3 <= touched.sum() <= 12 and after.grid_steps.max() == 1
    for name in ("feature_grid", "grid_m", "grid_v"):
        old, new = getattr(before, name), getattr(after, name)
        np.testing.assert_array_equal(new[~touched], old[~touched])
        assert (new[touched] != old[touched]).any()


@pytest.mark.parametrize("partitions", [3, 6])
def test_the_same_partitions_give_the_same_bits_and_others_nearly_the_same(partitions):
    config = Config(batch=1500, hidden=16, layers=1, grid_width=7, grid_height=5)
    image = random(9, 14, 3, low=0)
    runs = [backend(config, image, count) for count in (partitions, partitions, 1)]
    for run in runs:
        run.run(1, rates(10))
    first, second, other = (run.state() for run in runs)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_allclose(other.weights, first.weights, atol=1e-3)


def test_running_in_pieces_changes_nothing():
    config = Config(batch=300, hidden=16, layers=1, grid_width=7, grid_height=5)
    image = random(9, 14, 3, low=0)
    whole, pieces = backend(config, image, 2), backend(config, image, 2)
    whole.run(1, rates(9))
    for first, count in ((1, 4), (5, 1), (6, 4)):
        pieces.run(first, rates(count))
    assert whole.take_losses() == pieces.take_losses()
    for a, b in zip(whole.state(), pieces.state(), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("width, height", [(14, 9), (1, 1), (300, 2), (3, 7)])
def test_render(width, height):
    config = Config(hidden=32, layers=2, grid_width=7, grid_height=5)
    state = initial_state(config)
    painted = backend(config, random(1, 1, 3, low=0), 2).render(width, height)
    matrices = reference.split_weights(state.weights, 32, 2)
    expected = reference.render(state.feature_grid, matrices, width, height)
    np.testing.assert_allclose(painted, expected, atol=5e-6)


@pytest.mark.parametrize("width, height", [(7, 4), (14, 9), (1, 1), (17, 2)])
def test_bilinear_baseline(width, height):
    image = random(9, 14, 3, low=0)
    small = reference.area_downsample(image, width, height)
    expected = reference.bilinear_upsample(small, 14, 9)
    actual = CpuBackend.bilinear_baseline(image, width, height)
    np.testing.assert_allclose(actual, expected, atol=5e-6)


def test_a_second_process_compiles_just_what_the_first_one_needs():
    picture = random(9, 14, 3, low=0)
    first = backend(Config(batch=64, hidden=16, layers=1, grid_width=7, grid_height=5), picture, 2)
    first.run(1, rates(1))
    first.render(3, 2)
    second_compiler.compile_loops()
    assert len(cpu.train_steps.signatures) == len(images.render.signatures) == 1
