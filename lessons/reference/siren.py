"""A network of sine layers in plain float64 NumPy, written from the equations.

Sitzmann and others, "Implicit Neural Representations with Periodic Activation Functions" (SIREN),
NeurIPS 2020, equation 2; the gradients by the chain rule. Inputs may be float32; results are
float64. As in `lessons.reference`, which decides the rest, nothing is imported from `kernels/`.
"""

from typing import NamedTuple

import numpy as np


class Layer(NamedTuple):
    weights: np.ndarray  # (fan_in, fan_out)
    biases: np.ndarray  # (fan_out,)
    omega: float  # of the sine; the last layer has a sigmoid, and none


class Gradients(NamedTuple):
    """Of the loss with respect to one layer's parameters."""

    weights: np.ndarray  # (fan_in, fan_out)
    biases: np.ndarray  # (fan_out,)


def doubles(*arrays):
    return (np.asarray(array, np.float64) for array in arrays)


def pixel_positions(width, height):
    """The middles of all pixels, row by row: (H W, 2), x and y between -1 and 1."""
    x = 2 * (np.arange(width) + 0.5) / width - 1
    y = 2 * (np.arange(height) + 0.5) / height - 1
    return np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)


def sine_layer(inputs, weights, biases, omega):
    """(outputs, slopes), both (B, fan_out); slopes: the derivative with respect to the sums."""
    inputs, weights, biases = doubles(inputs, weights, biases)
    angles = float(omega) * (inputs @ weights + biases)
    return np.sin(angles), float(omega) * np.cos(angles)


def colour_layer(inputs, weights, biases):
    inputs, weights, biases = doubles(inputs, weights, biases)
    return 1 / (1 + np.exp(-(inputs @ weights + biases)))


def forward(positions, network):
    """(colours, outputs, slopes); the lists have an entry per sine layer."""
    outputs, slopes = [], []
    inputs = np.asarray(positions, np.float64)
    for layer in network[:-1]:
        inputs, slope = sine_layer(inputs, *layer)
        outputs.append(inputs)
        slopes.append(slope)
    return colour_layer(inputs, network[-1].weights, network[-1].biases), outputs, slopes


def loss(colours, target):
    """The mean squared error, over the batch and the colours."""
    return float(np.mean((colours - target) ** 2))


def colour_deltas(colours, target):
    """Gradient of the loss with respect to the sums of the last layer, before its sigmoid."""
    colours, target = doubles(colours, target)
    return 2 * (colours - target) / target.size * colours * (1 - colours)


def sine_backward(deltas, weights, slopes):
    """Gradient with respect to the sums of the layer below, (B, fan_in)."""
    deltas, weights, slopes = doubles(deltas, weights, slopes)
    return deltas @ weights.T * slopes


def chunk_sums(inputs, deltas, chunk_samples):
    """(chunks, fan_in + 1, fan_out): inputs^T @ deltas of each chunk; below, the sum of deltas."""
    inputs, deltas = doubles(inputs, deltas)
    with_ones = np.hstack([inputs, np.ones((len(inputs), 1))])
    parts = range(0, len(inputs), chunk_samples)
    return np.stack(
        [with_ones[i : i + chunk_samples].T @ deltas[i : i + chunk_samples] for i in parts]
    )


def gradients(positions, target, network):
    """The `Gradients` of every layer."""
    colours, outputs, slopes = forward(positions, network)
    inputs = [np.asarray(positions, np.float64), *outputs]
    deltas = colour_deltas(colours, target)
    found = []
    for number in range(len(network) - 1, -1, -1):
        found.append(Gradients(inputs[number].T @ deltas, deltas.sum(axis=0)))
        if number:
            deltas = sine_backward(deltas, network[number].weights, slopes[number - 1])
    return found[::-1]
