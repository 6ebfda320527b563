"""The warm-ups of lessons 6 and 7 against NumPy, on each engine, and in many orders of threads."""

import numpy as np
import pytest

from kernels.warm_ups import gradients, layers
from lessons.lab.simulator.run import checked_run
from lessons.reference import warm_ups as reference_warm_ups
from tests.kernels.test_kernels import random
from tests.kernels.test_schedules import SCHEDULES

pytestmark = [pytest.mark.gpu, pytest.mark.slow]

SAMPLES = [1, 64, 70, 130]  # with 70, rows 6 to 15 of the second block have no sample


@pytest.mark.parametrize("samples", SAMPLES)
def test_relu_unit(engine, samples):
    sums, weights = random(samples, 16), random(16, seed=1)
    outputs = engine.output((samples,))
    arrays = engine.array(sums), engine.array(weights), outputs.array
    layers.launch_relu_unit(*arrays, launch=engine.launch)
    expected = reference_warm_ups.relu_unit(sums, weights)
    np.testing.assert_allclose(outputs.read(), expected, atol=2e-6)


@pytest.mark.parametrize("samples, number", [(1, 1), (64, 2), (70, 3), (130, 0)])
def test_mix_units(engine, samples, number):
    features, outputs = random(samples, 16), engine.output((samples, 16))
    layers.launch_mix_units(engine.array(features), number, outputs.array, launch=engine.launch)
    expected = reference_warm_ups.mix_units(features, number)
    np.testing.assert_allclose(outputs.read(), expected, atol=2e-6)


@pytest.mark.parametrize("shape", [(1, 1), (70, 16), (19, 37)])
def test_relu_backward(engine, shape):
    """Some activations are exactly zero, as behind a ReLU; none of their gradients passes."""
    arriving, before = random(*shape), np.maximum(random(*shape, seed=1), 0)
    activations = engine.output(shape, before)
    gradients.launch_relu_backward(engine.array(arriving), activations.array, launch=engine.launch)
    expected = reference_warm_ups.relu_backward(arriving, before)
    np.testing.assert_array_equal(activations.read(), expected)


@pytest.mark.parametrize("samples", SAMPLES)
def test_add_weight_gradients(engine, samples):
    activations, deltas = random(samples, 16), random(samples, 16, seed=1)
    grad_weights = engine.output((16, 16), np.full((16, 16), np.float32(2)))
    arrays = engine.array(activations), engine.array(deltas), grad_weights.array
    gradients.launch_add_weight_gradients(*arrays, launch=engine.launch)
    expected = 2 + reference_warm_ups.add_weight_gradients(activations, deltas)
    np.testing.assert_allclose(grad_weights.read(), expected, atol=2e-5)


def test_clean_in_any_order():
    def launch(kernel, blocks, threads, *arguments):
        orders = checked_run(kernel, blocks, threads, *arguments, schedule=SCHEDULES)
        assert orders.ok, orders

    outputs = np.zeros((70, 16), np.float32)
    layers.launch_relu_unit(random(70, 16), random(16), np.zeros(70, np.float32), launch=launch)
    layers.launch_mix_units(random(70, 16), 3, outputs, launch=launch)
    gradients.launch_relu_backward(random(70, 16), random(70, 16, seed=1), launch=launch)
    # One block: float32 sums of several depend on which comes first.
    grad_weights = np.zeros((16, 16), np.float32)
    gradients.launch_add_weight_gradients(
        random(60, 16), random(60, 16, seed=1), grad_weights, launch=launch
    )
