"""The inline model of lesson 14 in plain float64 NumPy, written from the equations.

Nothing is imported from `kernels/`. Inputs may be float32; results are float64. Shape tags:

    H, W    height and width of a picture, in pixels
    R, C    rows and columns of the grid: the corners of cells of 16 x 16 pixels
    P       H * W pixels, row by row
"""

from typing import NamedTuple

import numpy as np

CELL, CHANNELS, UNITS, LAYERS = 16, 14, 16, 3


class Gradients(NamedTuple):
    """The loss of a picture, and its slope along every parameter and every feature."""

    loss: float
    grad_grid: np.ndarray  # (R, C, 14)
    grad_weights: np.ndarray  # (3, 17, 16); row 16 of each layer is that of the biases
    grad_features: np.ndarray  # (H, W, 16)


def grid_shape(height, width):
    """Shape of the grid: cells that cover the picture have one more corner along each axis."""
    return int(np.ceil(height / CELL)) + 1, int(np.ceil(width / CELL)) + 1, CHANNELS


def corners(height, width):
    """The four corners of each pixel's cell, and how much each of them counts.

    Returns indices (P, 4) into the corners row by row, and shares (P, 4), which sum to one: top
    left, top right, bottom left, bottom right; and places (P, 2), along x and y, in [0, 1).
    """
    columns = grid_shape(height, width)[1]
    y, x = np.divmod(np.arange(height * width), width)
    top_left = y // CELL * columns + x // CELL
    indices = top_left[:, np.newaxis] + [0, 1, columns, columns + 1]
    px, py = x / CELL - x // CELL, y / CELL - y // CELL
    shares = np.stack([(1 - px) * (1 - py), px * (1 - py), (1 - px) * py, px * py], axis=1)
    return indices, shares, np.stack([px, py], axis=1)


def encode(grid, height, width):
    """The features of each pixel, (H, W, 16): 14 blended channels, and its place in the cell."""
    indices, shares, places = corners(height, width)
    blended = np.einsum("pk, pkc -> pc", shares, np.reshape(grid, (-1, CHANNELS))[indices])
    return np.hstack([blended, places]).reshape(height, width, UNITS)


def forward(grid, weights, height, width):
    """[features, and the outputs of each layer], each (H, W, 16): relu(inputs @ matrix + biases).

    grid: (R, C, 14); weights: (3, 17, 16), whose row 16 holds the biases.
    """
    activations = [encode(np.asarray(grid, np.float64), height, width)]
    for layer in np.asarray(weights, np.float64):
        activations.append(np.maximum(activations[-1] @ layer[:UNITS] + layer[UNITS], 0))
    return activations


def paint(grid, weights, height, width):
    """The picture, (H, W, 3): the first three outputs of the last layer."""
    return forward(grid, weights, height, width)[-1][:, :, :3]


def scatter(grad_features, shape):
    """What the corners of a grid get back from its pixels' features, (H, W, 14 or more)."""
    height, width, _ = grad_features.shape
    indices, shares, _ = corners(height, width)
    flat = np.reshape(grad_features, (height * width, -1))[:, :CHANNELS]
    found = np.zeros((shape[0] * shape[1], CHANNELS))
    np.add.at(found, indices, shares[:, :, np.newaxis] * flat[:, np.newaxis, :])
    return found.reshape(shape)


def backward(image, grid, weights):
    """The chain rule, from the mean squared error of all pixels and colours back to the grid.

    Rumelhart, Hinton, Williams: Learning representations by back-propagating errors (1986).

    image: (H, W, 3). Returns `Gradients`.
    """
    height, width, _ = image.shape
    weights = np.asarray(weights, np.float64)
    activations = forward(grid, weights, height, width)
    error = activations[-1][:, :, :3] - image
    grad = np.zeros((height, width, UNITS))
    grad[:, :, :3] = 2 * error / error.size
    grad_weights = np.zeros(weights.shape)
    for layer in reversed(range(LAYERS)):
        delta = grad * (activations[layer + 1] > 0)
        grad_weights[layer, :UNITS] = np.einsum("yxk, yxu -> ku", activations[layer], delta)
        grad_weights[layer, UNITS] = delta.sum(axis=(0, 1))
        grad = delta @ weights[layer, :UNITS].T
    return Gradients(
        loss=float(np.mean(error**2)),
        grad_grid=scatter(grad, np.shape(grid)),
        grad_weights=grad_weights,
        grad_features=grad,
    )
