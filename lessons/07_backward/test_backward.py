"""Checks of lesson 7. Gradients are compared with float64, and with what forgotten terms give."""

import itertools
from typing import NamedTuple

import numpy as np

from lessons import reference
from lessons.grading.case import check

GRID_SHAPE = 5, 7, 3


@check("loss")
def test_loss(case):
    net = network(case, batch=64, hidden=16, layers=1)
    _, _, loss_sum = run(case, net)
    expected = np.array([gradients(net).loss])
    samples = net.target.size
    candidates = {
        "not divided": (expected * samples, "This is the sum: divide by batch times channels."),
        "divided by the batch": (
            expected * 3,
            "Divide by 3 B: the mean goes over the channels, too.",
        ),
        "added by every thread": (
            expected * 256,
            "Every thread adds the block's sum: one of them, thread 0, is enough.",
        ),
        "16 samples of 64": (
            np.array([np.sum((net.outputs[:16, :3] - net.target[:16]) ** 2) / samples]),
            "Only the first 16 of the block's 64 samples count: each thread has four.",
        ),
    }
    tolerance = case.check.tolerance * expected.max()
    case.expect(loss_sum, expected, "loss_sum", tolerance=tolerance, candidates=candidates)


@check("last_layer")
def test_last_layer(case):
    net = network(case, batch=64, hidden=32, layers=1)
    grad_weights, _, _ = run(case, net)
    last = np.s_[-32 * 16 :]
    compare_weights(case, net, grad_weights.array[last], last)


@check("all_layers")
def test_all_layers(case):
    for hidden, layers in ((16, 2), (32, 1)):
        net = network(case, 64, hidden, layers)
        grad_weights, _, _ = run(case, net)
        compare_weights(case, net, grad_weights.array, np.s_[:])


@check("grid")
def test_grid(case):
    net = network(case, batch=64, hidden=16, layers=1)
    _, grad_grid, _ = run(case, net)
    compare_grid(case, net, grad_grid.array)


@check("many_blocks")
def test_many_blocks(case):
    already = np.float32(2.0**-12)  # what is there before; small, so that no digits are lost
    for batch, hidden, engine in ((150, 16, None), (2003, 32, "native")):
        net = network(case, batch, hidden, layers=2)
        grad_weights, grad_grid, loss_sum = run(case, net, already, engine)
        loss = np.array([gradients(net).loss])
        tolerance = case.check.tolerance * loss.max()
        case.expect(loss_sum.array - already, loss, "loss_sum", tolerance=tolerance)
        compare_weights(case, net, grad_weights.array - already, np.s_[:])
        compare_grid(case, net, grad_grid.array - already)


# ---------------------------------------------------------------- inputs


class Network(NamedTuple):
    uv: np.ndarray
    grid: np.ndarray
    weights: np.ndarray
    matrices: list  # float64
    target: np.ndarray
    features: np.ndarray
    hidden: np.ndarray
    outputs: np.ndarray


def network(case, batch, hidden, layers):
    """A random network and what its forward pass has left, in float32."""
    uv, grid = case.random((batch, 2)), case.random(GRID_SHAPE, -1, 1)
    widths = [16, *[hidden] * layers, 16]
    weights = np.concatenate(
        [case.random(a * b, -1, 1) * np.sqrt(6 / (a + b)) for a, b in itertools.pairwise(widths)]
    ).astype(np.float32)
    matrices = reference.split_weights(weights, hidden, layers)
    features = reference.encode(uv, grid)
    outputs, activations = reference.mlp_forward(features, matrices)
    hidden_activations = np.stack(activations[1:])
    target = case.random((batch, 3))
    arrays = (np.ascontiguousarray(a, np.float32) for a in (features, hidden_activations, outputs))
    return Network(uv, grid, weights, matrices, target, *arrays)


def run(case, net, already=0.0, engine=None):
    def start(shape):
        return case.output(shape, initial=np.full(shape, already))

    grad_weights, grad_grid, loss_sum = start(net.weights.shape), start(GRID_SHAPE), start((1,))
    case.run(
        "launch_backward", net.uv, net.features, net.hidden, net.outputs, net.target,
        net.weights, grad_weights, grad_grid, loss_sum, engine=engine,
    )  # fmt: skip
    return grad_weights, grad_grid, loss_sum


# ---------------------------------------------------------------- gradients, right and wrong


class Gradients(NamedTuple):
    loss: float
    weights: np.ndarray
    features: np.ndarray  # (B, 16)


def gradients(
    net, factor=2.0, count=None, slope=True, mask=True, transposed=True, samples=None
):  # fmt: skip
    """The chain rule in float64; every argument is a term that is easily forgotten."""
    error = net.outputs[:, :3].astype(np.float64) - net.target
    count = count or error.size
    rgb = net.outputs[:, :3].astype(np.float64)
    delta = np.zeros((len(error), 16))
    delta[:, :3] = factor * error / count * (rgb * (1 - rgb) if slope else 1)
    if samples is not None:
        delta[np.arange(len(delta)) % 64 >= samples] = 0
    inputs = [net.features.astype(np.float64), *net.hidden.astype(np.float64)]
    grads = []
    for activations, matrix in zip(reversed(inputs), reversed(net.matrices), strict=True):
        grads.insert(0, (activations.T @ delta).ravel())
        delta = delta @ (matrix.T if transposed else matrix.reshape(matrix.T.shape))
        if mask and activations is not inputs[0]:
            delta = delta * (activations > 0)
    return Gradients(np.sum(error**2) / error.size, np.concatenate(grads), delta)


def known_mistakes(net):
    batch = len(net.uv)
    return {
        "ReLU mask forgotten": (
            gradients(net, mask=False),
            "The ReLU's mask is missing: where the activation is 0, no gradient passes.",
        ),
        "sigmoid's slope forgotten": (
            gradients(net, slope=False),
            "The sigmoid's derivative is missing: output * (1 - output).",
        ),
        "2 forgotten": (
            gradients(net, factor=1.0),
            "The 2 is missing: the derivative of error squared is 2 * error.",
        ),
        "sign reversed": (
            gradients(net, factor=-2.0),
            "The sign is reversed: error is output - target, not target - output.",
        ),
        "divided by the batch": (
            gradients(net, count=batch),
            "Divide by 3 B: the mean goes over the channels, too.",
        ),
        "not divided": (
            gradients(net, count=1),
            "The mean's division by 3 B is missing.",
        ),
        "weights not transposed": (
            gradients(net, transposed=False),
            "On the way back the weights are used transposed: the sum goes over the units.",
        ),
        "16 samples of 64": (
            gradients(net, samples=16),
            "Only the first 16 of the block's 64 samples count: each thread has four.",
        ),
    }


def compare_weights(case, net, got, part):
    expected = gradients(net).weights[part]
    candidates = {code: (g.weights[part], s) for code, (g, s) in known_mistakes(net).items()}
    tolerance = case.check.tolerance * np.abs(expected).max()
    case.expect(got, expected, "grad_weights", tolerance=tolerance, candidates=candidates)


def compare_grid(case, net, got):
    features = gradients(net).features
    expected = scattered(net.uv, features)
    candidates = {
        code: (scattered(net.uv, g.features), s) for code, (g, s) in known_mistakes(net).items()
    }
    candidates["corner weights forgotten"] = (
        scattered(net.uv, features, weigh=lambda weights: np.ones_like(weights)),
        "Each corner got the whole gradient: multiply it by the corner's weight.",
    )
    candidates["one corner"] = (
        scattered(net.uv, features, weigh=lambda weights: weights * [1, 0, 0, 0]),
        "Only the top left corner got its part: there are four corners.",
    )
    candidates["corners exchanged"] = (
        scattered(net.uv, features, weigh=lambda weights: weights[:, [0, 2, 1, 3]]),
        "The weights of the top right and the bottom left corner are exchanged.",
    )
    candidates["nearest cell"] = (
        nearest(net.uv, features),
        "The nearest cell got everything: divide it among the four corners.",
    )
    tolerance = case.check.tolerance * np.abs(expected).max()
    case.expect(got, expected, "grad_feature_grid", tolerance=tolerance, candidates=candidates)


def scattered(uv, grad_features, weigh=lambda weights: weights):
    height, width, channels = GRID_SHAPE
    indices, weights, _ = reference.bilinear_corners(uv, width, height)
    cells = np.zeros((height * width, channels))
    parts = weigh(weights)[:, :, np.newaxis] * grad_features[:, np.newaxis, :3]
    np.add.at(cells, indices, parts)
    return cells.reshape(GRID_SHAPE)


def nearest(uv, grad_features):
    height, width, channels = GRID_SHAPE
    rows = np.minimum((uv[:, 1] * height).astype(int), height - 1)
    columns = np.minimum((uv[:, 0] * width).astype(int), width - 1)
    cells = np.zeros(GRID_SHAPE)
    np.add.at(cells, (rows, columns), grad_features[:, :channels])
    return cells
