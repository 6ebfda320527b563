"""Every kernel of `kernels/` runs clean, and gives one result, whatever order threads run in."""

import numpy as np
import pytest

from kernels import adam, backward, encode, histogram, image_ops, mlp_forward, sampler
from kernels.config import Config
from lessons.lab import checked_run
from tests.kernels import test_kernels
from tests.kernels.test_kernels import (
    RAGGED_BATCH,
    RAGGED_GRID,
    RAGGED_IMAGE,
    SEED,
    random,
    random_uv,
)

SCHEDULES = [*range(20), "reverse"]


def zeros(*shape):
    return np.zeros(shape, np.float32)


def single(array):
    return np.ascontiguousarray(array, np.float32)


def sample_batch(launch):
    image = random(*RAGGED_IMAGE, low=0)
    uv, target = zeros(RAGGED_BATCH, 2), zeros(RAGGED_BATCH, 3)
    sampler.launch_sample_batch(image, SEED, 7, uv, target, launch=launch)


def pixel_centres(launch):
    sampler.launch_pixel_centres(10, 14, 9, zeros(RAGGED_BATCH, 2), launch=launch)


def encoding(launch):
    features = zeros(RAGGED_BATCH, 16)
    encode.launch_encode(random_uv(RAGGED_BATCH), random(*RAGGED_GRID), features, launch=launch)


def forward(launch):
    weights = test_kernels.random_weights(32, 1)
    hidden, outputs = zeros(1, RAGGED_BATCH, 32), zeros(RAGGED_BATCH, 16)
    mlp_forward.launch_mlp_forward(
        random(RAGGED_BATCH, 16), weights, hidden, outputs, launch=launch
    )


def backpropagation(launch):
    uv, grid, weights, target, _, features, outputs, activations = test_kernels.network(
        RAGGED_BATCH, 16, 1
    )
    backward.launch_backward(
        uv, single(features), single(np.stack(activations[1:])), single(outputs), target, weights,
        zeros(*weights.shape), zeros(*grid.shape), zeros(1), launch=launch,
    )  # fmt: skip


def adam_weights(launch):
    config = Config()
    corrections = adam.bias_corrections(config.beta1, config.beta2)
    arrays = test_kernels.adam_inputs((203,))
    adam.launch_adam_weights(*arrays, 3, corrections, 0.01, config.adam_rates, launch=launch)


def adam_grid(launch):
    config = Config()
    corrections = adam.bias_corrections(config.beta1, config.beta2)
    arrays, steps = test_kernels.adam_inputs((5, 27, 3)), np.zeros((5, 27), np.int32)
    adam.launch_adam_grid(*arrays, steps, corrections, 0.01, config.adam_rates, launch=launch)


def grayscale(launch):
    image = random(*RAGGED_IMAGE, low=0)
    image_ops.launch_over_pixels(image_ops.grayscale, image, zeros(9, 14), launch)


def resampling(launch):
    image, small = random(*RAGGED_IMAGE, low=0), zeros(4, 7, 3)
    image_ops.launch_over_pixels(image_ops.downsample, image, small, launch)
    image_ops.launch_over_pixels(image_ops.upsample, small, zeros(*RAGGED_IMAGE), launch)


def histograms(launch):
    brightness, counts = random(300, low=0), np.zeros(270, np.int32)
    histogram.launch_histogram_global(brightness, counts, launch=launch)
    histogram.launch_histogram_shared(brightness, counts, launch=launch)


def sum_by_tree(launch):
    # One block: float32 sums of several depend on which comes first.
    histogram.launch_sum_tree(random(300, low=0), zeros(1), launch=launch)


@pytest.mark.parametrize(
    "stage",
    [
        sample_batch,
        pixel_centres,
        encoding,
        adam_weights,
        grayscale,
        histograms,
        sum_by_tree,
        pytest.param(adam_grid, marks=pytest.mark.slow),
        pytest.param(resampling, marks=pytest.mark.slow),
        # Large blocks in many orders take seconds. `test_kernels` runs them every time, in one.
        pytest.param(forward, marks=pytest.mark.slow),
        pytest.param(backpropagation, marks=pytest.mark.thorough),
    ],
    ids=lambda stage: stage.__name__,
)
def test_clean_in_any_order(stage):
    reports = []

    def launch(kernel, blocks, threads, *arguments):
        reports.append(
            checked_run(kernel, blocks, threads, *arguments, schedule=SCHEDULES, ask_numba=False)
        )

    stage(launch)
    assert reports
    for report in reports:
        assert report.ok, report
