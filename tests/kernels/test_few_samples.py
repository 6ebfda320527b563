"""Blocks of eight samples: their gradients against float64, their barriers, and what they learn."""

import inspect
import re

import numpy as np
import pytest

from kernels.classifier import fused as fused_classifier
from kernels.classifier import network as classifier
from kernels.config import COLOURS, PUBLISHED_RATES
from kernels.fused import few_samples
from kernels.inline import fused as fused_inline
from kernels.inline import model as inline
from kernels.plumbing.recording import FIRST_STEP
from kernels.siren import fused, network
from lessons.lab import checked_run
from lessons.reference import classifier as reference_classifier
from lessons.reference import siren as reference_siren
from tests.engines import Native
from tests.kernels.test_siren import Here, close, random, reference_network
from tests.mutants.generate import load

pytestmark = pytest.mark.gpu


def turned(parameters, shapes):
    copy = np.empty_like(parameters)
    matrices = [matrix for inputs, units in shapes for matrix in ((inputs, units), (1, units))]
    copy[few_samples.turned_places(matrices)] = parameters
    return copy


def siren_case(width, layers, samples):
    """(shapes, parameters, positions, target)"""
    shapes = network.layer_shapes(width, layers)
    parameters = network.initial_parameters(3, shapes)
    return shapes, parameters, random((samples, 2)), random((samples, COLOURS), 2, 0)


@pytest.mark.thorough_on("native")  # which compiles for 16 s
# Idle warps, blocks with more than one round, matrices of less than 64 inputs and units.
@pytest.mark.parametrize(
    "width, layers, samples, blocks",
    [
        (40, 2, 11, 2),
        pytest.param(64, 1, 8, 1, marks=pytest.mark.thorough),
        pytest.param(64, 3, 20, 2, marks=pytest.mark.thorough),
        pytest.param(33, 9, 17, 1, marks=pytest.mark.thorough),
    ],
)
def test_gradients_of_the_sines(engine, width, layers, samples, blocks):
    shapes, parameters, where, target = siren_case(width, layers, samples)
    sums = engine.output((blocks, parameters.size))
    squared_errors, clock = engine.output((samples,)), engine.to_device(np.array([0, 0, 5]))
    given = map(engine.to_device, (parameters, turned(parameters, shapes)))
    fused.launch_siren_gradients(
        clock, *given, shapes, 1.5, *map(engine.to_device, (where, target)), sums.array,
        squared_errors.array, engine.launch,
    )  # fmt: skip
    plain = reference_network(parameters.astype(np.float64), shapes, 1.5)
    expected = reference_siren.gradients(where, target, plain)
    flat = np.concatenate([part.ravel() for layer in expected for part in layer])
    close(sums.read().sum(axis=0, dtype=np.float64), flat, 1e-4)
    colours = reference_siren.forward(where, plain)[0]
    close(squared_errors.read(), ((colours - target) ** 2).sum(axis=1), 1e-4)
    assert engine.to_host(clock)[FIRST_STEP] == 6


def findings(module, kernel, blocks, threads, *arguments):
    report = checked_run(getattr(module, kernel), blocks, threads, *arguments, ask_numba=False)
    return {finding.kind for finding in report.findings if not finding.advice}


def kinds_in_siren(module):
    """Two rounds, so that the second may meet what the first has left."""
    shapes, parameters, where, target = siren_case(40, 3, 16)
    copy = turned(parameters, shapes)
    arrays = np.empty((1, parameters.size), np.float32), np.empty(16, np.float32)
    scalars = np.int64(40), np.int64(3), np.float32(1)
    return findings(
        module, "siren_gradients", 1, few_samples.THREADS, np.zeros(3, np.int64), parameters, copy,
        *scalars, where, target, *arrays,
    )  # fmt: skip


# ---------------------------------------------------------------- the classifier


# Idle warps, a last batch that is short, inputs of one chunk and of two and a bit.
@pytest.mark.thorough_on("native")
@pytest.mark.parametrize("inputs", [11, pytest.param(130, marks=pytest.mark.thorough)])
def test_an_epoch_of_the_classifier(engine, inputs):
    hidden, classes, samples, batch = 33, 35, 14, 9
    images, labels = random((samples, inputs)), np.arange(samples, dtype=np.int32) * 5 % classes
    count = classifier.parameter_count(inputs, hidden, classes)
    parameters = random((count,), 4, -0.5, 0.5)
    made = classifier.new_network(parameters, hidden, classes, batch, engine.array)
    losses = engine.output((samples,))
    train_epoch = fused_classifier.make_train_epoch(made, batch, engine.backend.empty)
    train_epoch(
        engine.array(images), engine.array(labels, np.int32), losses.array, made, batch, 0.1,
        engine.launch,
    )  # fmt: skip
    before = reference_classifier.split(parameters, inputs, hidden, classes)
    expected_losses, expected = reference_classifier.train_epoch(images, labels, before, batch, 0.1)
    close(losses.read(), expected_losses, 2e-6)
    close(
        engine.to_host(made.parameters), np.concatenate([part.ravel() for part in expected]), 2e-6
    )


# ---------------------------------------------------------------- barriers

BARRIER = r"cuda\.sync(threads|warp)\(\)"


def without_barriers(module):
    """The module with each of its barriers left out in turn."""
    text = inspect.getsource(module)
    for place in re.finditer(BARRIER, text):
        changed = text[: place.start()] + "pass" + text[place.end() :]
        yield load(changed, module.__name__, f"<{module.__name__}, {place.start()}>")


def kinds_in_classifier(module):
    images, labels = random((8, 70)), np.arange(8, dtype=np.int32)
    parameters = random((classifier.parameter_count(70, 33, 35),), 4)
    sums, losses = np.empty((1, parameters.size), np.float32), np.empty(8, np.float32)
    return findings(
        module, "classifier_gradients", 1, few_samples.THREADS, images, labels, parameters,
        np.int64(33), np.int64(35), sums, losses,
    )  # fmt: skip


def kinds_in_moving(module):
    """Of 16 blocks' sums of 40 weights."""
    places, vectors = np.arange(40, dtype=np.int32), random((4, 40))
    arrays = random((16, 40)), vectors[0], vectors[1], places, vectors[2], abs(vectors[3])
    tables = random((1, 2)), random((3, 2), low=0)
    return findings(
        module, "move_by_adam", 2, (32, few_samples.ROWS_AT_ONCE), np.array([0, 0, 2]), tables[0],
        *arrays, tables[1], PUBLISHED_RATES,
    )  # fmt: skip


def kinds_in_inline(module):
    """Of one cell: each warp has two rounds."""
    grid, weights = inline.initial_parameters(16, 16, 1)
    image, sums = (
        random((16, 16, 3), low=0),
        [np.zeros_like(a) for a in (grid, weights, grid[0, 0, :1])],
    )
    return findings(module, "learn_by_warps", 1, module.THREADS, image, grid, weights, *sums)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "module, kinds_in, barriers",
    [
        (fused, kinds_in_siren, 5),
        (fused_classifier, kinds_in_classifier, 9),
        (few_samples, kinds_in_moving, 1),
        (fused_inline, kinds_in_inline, 6),
    ],
)
def test_the_lab_notices_every_barrier_that_is_missing(module, kinds_in, barriers):
    assert kinds_in(module) == set()
    assert [kinds_in(one) for one in without_barriers(module)] == [{"race"}] * barriers


def move(engine, module=few_samples):
    """(weights, their copies, m, v) after the third step of Adam, and what they were before."""
    before = [random((70,), seed) for seed in range(3)]
    before[2] = abs(before[2])
    sums = random((19, 70), 4)
    places = np.random.default_rng(1).permutation(70).astype(np.int32)
    weights, m, v = (engine.output((70,), array) for array in before)
    copies = engine.output((70,))
    corrections = engine.to_device(np.array([[1, 1], [9, 9], [8, 8], [3, 2]], np.float32))
    module.launch_move_by_adam(
        engine.to_device(np.array([0, 0, 4])), engine.to_device(np.full((1, 2), 0.25, np.float32)),
        engine.to_device(sums), weights.array, copies.array, engine.to_device(places), m.array,
        v.array, corrections, PUBLISHED_RATES, launch=engine.launch,
    )  # fmt: skip
    return [one.read() for one in (weights, copies, m, v)], before, sums, places


def test_weights_are_moved_by_adam(engine):
    (weights, copies, m, v), before, sums, places = move(engine)
    rates, gradient = PUBLISHED_RATES, sums.sum(axis=0, dtype=np.float64)
    expected_m = rates.beta1 * before[1] + (1 - rates.beta1) * gradient
    expected_v = rates.beta2 * before[2] + (1 - rates.beta2) * gradient**2
    step = 0.25 * 3 * expected_m / (np.sqrt(2 * expected_v) + rates.epsilon)
    close(m, expected_m, 2e-6)
    close(v, expected_v, 2e-6)
    close(weights, before[0] - step, 2e-6)
    assert (copies[places] == weights).all()


def test_turned_places_turn_every_matrix_where_it_lies():
    places = few_samples.turned_places([(2, 3), (1, 3), (3, 1), (1, 1)])
    assert places.tolist() == [0, 2, 4, 1, 3, 5, 6, 7, 8, 9, 10, 11, 12]


@pytest.mark.thorough
def test_it_learns_what_the_readable_kernels_learn_and_leaves_the_same_bits():
    image = random((6, 9, 3), 4, 0)

    def trained(kind):
        siren = kind(image, 1, 32, Here(Native()))
        for step in range(1, 41):
            # The host says which step it is at the first one, and when the rate changes.
            siren.train(step, 1e-3 if step < 20 else 5e-4)
        return siren

    one, other, readable = map(trained, (fused.FusedSiren, fused.FusedSiren, network.Siren))
    assert (one.parameters == other.parameters).all()
    assert (one.turned == turned(one.parameters, one.shapes)).all()
    assert abs(one.loss() / readable.loss() - 1) < 0.02
    close(one.parameters, readable.parameters, 0.01)
