"""The sine layers against float64, and the whole network's gradients against differences.

The gradients of the whole network need every kernel but the sampler: that test is quick, those of
the single kernels are slow.
"""

import numpy as np
import pytest

from kernels.plumbing.recording import OneByOne
from kernels.siren import layers, network, positions, sums
from lessons import reference
from lessons.reference import siren as reference_siren
from tests.engines import Native

pytestmark = pytest.mark.gpu

# Ragged: groups of 8 samples, chunks of 64, blocks of 32 units and of 32 samples.
SAMPLES = 69
SHAPES = [(2, 40), (40, 33), (33, 3)]


def random(shape, seed=0, low=-1.0, high=1.0):
    return np.random.default_rng([seed, *shape]).uniform(low, high, shape).astype(np.float32)


def close(actual, expected, tolerance):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * np.abs(expected).max())


def reference_network(parameters, shapes, omega):
    """The same layers as views of float64 parameters."""
    found = network.layers_of(parameters, parameters, shapes, omega)
    return [reference_siren.Layer(one.weights, one.biases, one.omega) for one in found]


@pytest.mark.slow
@pytest.mark.parametrize("omega", [1.0, 30.0])
def test_sine_layer(engine, omega):
    inputs, weights, biases = random((SAMPLES, 13)), random((13, 33)), random((33,), 1)
    outputs, slopes = engine.output((SAMPLES, 33)), engine.output((SAMPLES, 33))
    layers.launch_sine_layer(
        *map(engine.to_device, (inputs, weights, biases)), np.float32(omega),
        outputs.array, slopes.array, engine.launch,
    )  # fmt: skip
    expected = reference_siren.sine_layer(inputs, weights, biases, omega)
    close(outputs.read(), expected[0], 2e-6 * omega)
    close(slopes.read(), expected[1], 2e-6 * omega)


@pytest.mark.slow
@pytest.mark.parametrize("fan_out", [3, 40])
def test_sine_backward(engine, fan_out):
    deltas, weights = random((SAMPLES, fan_out)), random((33, fan_out))
    slopes, below = random((SAMPLES, 33)), engine.output((SAMPLES, 33))
    layers.launch_sine_backward(
        *map(engine.to_device, (deltas, weights, slopes)), below.array, engine.launch
    )
    close(below.read(), reference_siren.sine_backward(deltas, weights, slopes), 2e-6)


@pytest.mark.slow
@pytest.mark.parametrize("samples, fan_in", [(SAMPLES, 13), (128, 2), (1, 40)])
def test_sums_in_two_stages(engine, samples, fan_in):
    inputs, deltas = random((samples, fan_in)), random((samples, 33))
    chunks = -(-samples // sums.CHUNK_SAMPLES)
    partial, gradients = engine.output((chunks, fan_in + 1, 33)), engine.output((fan_in + 1, 33))
    sums.launch_chunk_sums(
        engine.to_device(inputs), engine.to_device(deltas), partial.array, engine.launch
    )
    sums.launch_sum_chunks(partial.array, gradients.array, engine.launch)
    expected = reference_siren.chunk_sums(inputs, deltas, sums.CHUNK_SAMPLES)
    close(partial.read(), expected, 2e-6)
    close(gradients.read(), expected.sum(axis=0), 2e-6)


@pytest.mark.slow
def test_colours_and_their_deltas(engine):
    inputs, weights, biases = random((SAMPLES, 13)), random((13, 3)), random((3,), 1)
    target = random((SAMPLES, 3), 2, 0)
    colours, deltas = engine.output((SAMPLES, 3)), engine.output((SAMPLES, 3))
    squared_errors = engine.output((SAMPLES,))
    layers.launch_colour_layer(
        *map(engine.to_device, (inputs, weights, biases)), colours.array, engine.launch
    )
    layers.launch_colour_deltas(
        colours.array, engine.to_device(target), deltas.array, squared_errors.array, engine.launch
    )
    expected = reference_siren.colour_layer(inputs, weights, biases)
    close(colours.read(), expected, 2e-6)
    close(deltas.read(), reference_siren.colour_deltas(expected, target), 1e-5)
    close(squared_errors.read(), ((expected - target) ** 2).sum(axis=1), 1e-5)


@pytest.mark.slow
def test_positions_of_pixels(engine):
    found = engine.output((40, 2))
    positions.launch_pixel_positions(0, 7, 5, found.array, engine.launch)
    np.testing.assert_allclose(
        found.read()[:35], reference_siren.pixel_positions(7, 5), rtol=0, atol=1e-6
    )
    positions.launch_pixel_positions(30, 7, 5, found.array, engine.launch)
    np.testing.assert_allclose(
        found.read()[:5], reference_siren.pixel_positions(7, 5)[30:], rtol=0, atol=1e-6
    )


@pytest.mark.slow
def test_random_pixels_and_their_colours(engine):
    image = random((5, 7, 3), 0, 0)
    found, target = engine.output((SAMPLES, 2)), engine.output((SAMPLES, 3))
    clock = engine.to_device(np.array([0, 0, 2]))
    positions.launch_random_pixels(
        engine.to_device(image), 7, clock, found.array, target.array, engine.launch
    )
    drawn = np.floor(reference.draw_uv(SAMPLES, 2, 7) * (7, 5)).astype(int)
    np.testing.assert_allclose(found.read(), 2 * (drawn + 0.5) / (7, 5) - 1, rtol=0, atol=1e-6)
    assert (target.read() == image[drawn[:, 1], drawn[:, 0]]).all()


@pytest.mark.slow
def test_gradients_of_the_whole_network(engine):
    parameters = network.initial_parameters(3, SHAPES)
    gradients = engine.output(parameters.shape)
    found = network.layers_of(engine.to_device(parameters), gradients.array, SHAPES)
    batch = network.new_batch(SAMPLES, SHAPES, engine.backend.empty)
    where, target = random((SAMPLES, 2)), random((SAMPLES, 3), 2, 0)
    batch = batch._replace(positions=engine.to_device(where), target=engine.to_device(target))
    network.launch_forward(found, batch, launch=engine.launch)
    network.launch_backward(found, batch, launch=engine.launch)
    plain = reference_network(parameters.astype(np.float64), SHAPES, network.OMEGA)
    expected = reference_siren.gradients(where, target, plain)
    flat = np.concatenate([part.ravel() for layer in expected for part in layer])
    close(gradients.read(), flat, 1e-4)


# ---------------------------------------------------------------- the reference itself


def test_the_references_gradients_are_those_of_finite_differences():
    parameters = network.initial_parameters(5, SHAPES).astype(np.float64)
    where, target = random((11, 2)), random((11, 3), 2, 0)
    plain = reference_network(parameters, SHAPES, 1.0)
    flat = np.concatenate(
        [
            part.ravel()
            for layer in reference_siren.gradients(where, target, plain)
            for part in layer
        ]
    )
    for index in np.random.default_rng(0).permutation(parameters.size)[:20]:
        losses = []
        for change in (-1e-5, 1e-5):
            moved = parameters.copy()
            moved[index] += change
            colours, _, _ = reference_siren.forward(where, reference_network(moved, SHAPES, 1.0))
            losses.append(reference_siren.loss(colours, target))
        difference = (losses[1] - losses[0]) / 2e-5
        assert abs(difference - flat[index]) < 1e-7 + 1e-5 * abs(difference)


# ---------------------------------------------------------------- parameters and training


def test_the_parameters_are_counted_and_begin_as_they_should():
    shapes = network.layer_shapes()
    parameters = network.initial_parameters(1, shapes)
    assert parameters.shape == (33_667,) and parameters.dtype == np.float32
    first, *hidden, last = network.layers_of(parameters, parameters, shapes)
    assert [layer.omega for layer in (first, *hidden)] == [30, *[1] * 8]
    assert 0.49 < np.abs(first.weights).max() <= 0.5
    reach = np.sqrt(6 / 64)
    for layer in (*hidden, last):
        assert 0.98 * reach < np.abs(layer.weights).max() <= reach
    assert (last.biases == 0).all() and np.abs(hidden[0].biases).max() > 0.2
    assert (network.initial_parameters(1) == parameters).all()
    assert (network.initial_parameters(2) != parameters).any()


def test_layers_are_views_that_share_nothing():
    shapes = network.layer_shapes(16, 2)
    count = sum((fan_in + 1) * fan_out for fan_in, fan_out in shapes)
    parameters, gradients = np.zeros(count, np.float32), np.zeros(count, np.float32)
    for layer in network.layers_of(parameters, gradients, shapes):
        layer.weights[:] += 1
        layer.biases[:] += 1
        layer.gradients[:] += 1
    assert (parameters == 1).all() and (gradients == 1).all()


@pytest.mark.slow
def test_it_learns_and_any_schedule_gives_the_same_bits():
    image = random((6, 9, 3), 4, 0)

    def trained(engine):
        siren = network.Siren(image, 1, 32, Here(engine))
        first = [siren.train(1), siren.loss()][1]
        for step in range(2, 121):
            siren.train(step)
        return first, siren.loss(), siren.parameters.copy()

    first, last, parameters = trained(Native())
    assert last < first / 3
    assert (trained(Native())[2] == parameters).all()


class Here:
    """A device of `Siren`, made of an engine."""

    def __init__(self, engine):
        self.launch, self.to_device = engine.launch, engine.to_device
        self.to_host, self.empty = engine.to_host, engine.backend.empty

    def repeated(self, work, proof=()):
        return OneByOne(work, self.launch)


def test_omega_reaches_the_kernel_as_a_float32():
    seen = []
    arrays = [np.zeros(shape, np.float32) for shape in ((3, 2), (2, 4), 4)]
    outputs = [np.zeros((3, 4), np.float32) for _ in range(2)]
    layers.launch_sine_layer(*arrays, 30.0, *outputs, launch=lambda *given: seen.extend(given))
    assert [type(one) for one in seen if np.isscalar(one)] == [np.float32]
