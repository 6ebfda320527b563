"""The warm-ups of lessons 6 and 7, in float64 NumPy, from their equations."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def relu_unit(sums: ArrayLike, weights: ArrayLike) -> Array:
    """One unit behind a ReLU: sums (B, 16), weights (16,) -> (B,)."""
    return np.maximum(exact(sums), 0) @ exact(weights)


def mix_units(features: ArrayLike, layers: int) -> Array:
    """(B, 16) -> (B, 16): each layer is max(0, unit u - unit u + 1); unit 0 follows the last."""
    units = exact(features)
    for _ in range(layers):
        units = np.maximum(units - np.roll(units, -1, axis=1), 0)
    return units


def relu_backward(gradients: ArrayLike, activations: ArrayLike) -> Array:
    """Both (B, units) -> the deltas: the derivative of ReLU is 1 above zero, and 0 elsewhere."""
    return exact(gradients) * (exact(activations) > 0)


def add_weight_gradients(activations: ArrayLike, deltas: ArrayLike) -> Array:
    """Both (B, 16) -> (16, 16): activation times delta, summed over samples."""
    return exact(activations).T @ exact(deltas)


def exact(array: ArrayLike) -> Array:
    return np.asarray(array, np.float64)
