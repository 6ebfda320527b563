"""Checks of lesson 6: networks of one tile and of several, whole and ragged batches."""

import itertools

import numpy as np

from lessons import reference
from lessons.grading.case import check

FEATURES, OUTPUTS = 16, 16


@check("one_hidden_layer")
def test_one_hidden_layer(case):
    evaluate(case, batch=64, hidden=16, layers=1)


@check("wide_and_deep")
def test_wide_and_deep(case):
    evaluate(case, batch=64, hidden=16, layers=3)
    evaluate(case, batch=64, hidden=32, layers=2)
    evaluate(case, batch=33, hidden=64, layers=1)


@check("ragged_batch")
def test_ragged_batch(case):
    for batch in (1, 70, 150):
        evaluate(case, batch, hidden=16, layers=1)


@check("full_size")
def test_full_size(case):
    evaluate(case, batch=5003, hidden=32, layers=2, engine="native")


def evaluate(case, batch, hidden, layers, engine=None):
    features = case.random((batch, FEATURES), -1, 1)
    widths = [FEATURES, *[hidden] * layers, OUTPUTS]
    sizes = list(itertools.pairwise(widths))
    weights = np.concatenate(
        [case.random(a * b, -1, 1) * np.sqrt(6 / (a + b)) for a, b in sizes]
    ).astype(np.float32)
    stored, outputs = case.output((layers, batch, hidden)), case.output((batch, OUTPUTS))
    case.run("launch_mlp_forward", features, weights, stored, outputs, engine=engine)

    matrices = reference.split_weights(weights, hidden, layers)
    expected_outputs, activations = reference.mlp_forward(features, matrices)
    wrong = {
        code: (network(features, *change(weights, matrices, sizes)), sentence)
        for code, (change, sentence) in MISTAKES.items()
    }
    if layers == 1 and hidden == 16:
        wrong["sum goes on"] = (sums_kept(features, matrices), SUM_GOES_ON)
    wrong["one buffer"] = (one_buffer(features, matrices), ONE_BUFFER)
    of_outputs = {code: (result[0], sentence) for code, (result, sentence) in wrong.items()}
    case.expect(outputs, expected_outputs, "outputs", candidates=of_outputs)
    of_hidden = {
        code: (np.stack(result[1]), sentence) for code, (result, sentence) in wrong.items()
    }
    case.expect(stored, np.stack(activations[1:]), "hidden", candidates=of_hidden)


# ---------------------------------------------------------------- mistakes that are known


def relu(x):
    return np.maximum(x, 0)


def same(x):
    return x


def network(features, matrices, between=relu, stored=relu, last=reference.sigmoid):
    """(outputs, hidden layers), with other functions than ReLU, ReLU and sigmoid."""
    x, hidden = features.astype(np.float64), []
    for matrix in matrices[:-1]:
        total = x @ matrix
        x = between(total)
        hidden.append(stored(total))
    return last(x @ matrices[-1]), hidden


def transposed(weights, matrices, sizes):
    return ([m.reshape(m.shape[1], m.shape[0]).T for m in matrices],)


def first_again(weights, matrices, sizes):
    flat = weights.astype(np.float64)
    return ([flat[: a * b].reshape(a, b) for a, b in sizes],)


def sums_kept(features, matrices):
    first = features.astype(np.float64) @ matrices[0]
    return reference.sigmoid(first + relu(first) @ matrices[1]), [relu(first)]


def one_buffer(features, matrices):
    """Each tile of units overwrites activations that the next tile of the same layer needs."""
    buffer = np.zeros((len(features), 64))
    buffer[:, :FEATURES] = features
    hidden = []
    for number, matrix in enumerate(matrices):
        fan_in, fan_out = matrix.shape
        last = number == len(matrices) - 1
        for first in range(0, fan_out, 16):
            total = buffer[:, :fan_in] @ matrix[:, first : first + 16]
            buffer[:, first : first + 16] = reference.sigmoid(total) if last else relu(total)
        hidden.append(buffer[:, :fan_out].copy())
    return hidden[-1], hidden[:-1]


ONE_BUFFER = (
    "A layer overwrites the activations that it still reads: write to the other buffer, 1 - source."
)
SUM_GOES_ON = (
    "The totals go on from one layer to the next: set them to zero for each tile of units."
)
MISTAKES = {
    "stored before ReLU": (
        lambda weights, matrices, sizes: (matrices, relu, same),
        "hidden holds the sums before the ReLU; the backward pass needs the values after it.",
    ),
    "ReLU forgotten": (
        lambda weights, matrices, sizes: (matrices, same, same),
        "There is no ReLU: without it, all layers together are a single matrix.",
    ),
    "sigmoid everywhere": (
        lambda weights, matrices, sizes: (matrices, reference.sigmoid, reference.sigmoid),
        "The hidden layers have a sigmoid: it belongs to the last layer only.",
    ),
    "sigmoid forgotten": (
        lambda weights, matrices, sizes: (matrices, relu, relu, same),
        "The outputs are the sums themselves: a sigmoid has to bring them between 0 and 1.",
    ),
    "ReLU on the outputs": (
        lambda weights, matrices, sizes: (matrices, relu, relu, relu),
        "The last layer has a ReLU: colours need a sigmoid.",
    ),
    "weights transposed": (
        transposed,
        "The weights are read transposed: input i, unit u is at offset + i * fan_out + u.",
    ),
    "first matrix again": (
        first_again,
        "Every layer uses the first matrix: move offset on by fan_in * fan_out after each layer.",
    ),
}
