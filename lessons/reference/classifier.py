"""The classifier in plain float64 NumPy, written from the equations.

Nothing is imported from `kernels/`. The letters in the shape tags: B samples, I inputs, H hidden
units, C classes. Parameters are a tuple (weights_1 (I, H), bias_1 (H,), weights_2 (H, C),
bias_2 (C,)).
"""

import numpy as np


def gelu(x):
    """Hendrycks and Gimpel: Gaussian Error Linear Units (2016), with the tangent for the normal."""
    x = np.asarray(x, np.float64)
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def gelu_slope(x):
    """The derivative of `gelu`; 1 - tanh^2 is tanh's."""
    x = np.asarray(x, np.float64)
    tangent = np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))
    inner_slope = np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * x**2)
    return (1 + tangent) / 2 + x / 2 * (1 - tangent**2) * inner_slope


def softmax(z):
    """exp(z) over its sum, row by row: (B, C). Cannot overflow."""
    z = np.asarray(z, np.float64)
    exponentials = np.exp(z - z.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def cross_entropy(z, labels):
    """-log of each label's softmax, from z (B, C) and labels (B,): (B,)."""
    z = np.asarray(z, np.float64)
    largest = z.max(axis=1)
    total = np.exp(z - largest[:, np.newaxis]).sum(axis=1)
    return np.log(total) + largest - z[np.arange(len(labels)), labels]


def split(flat, inputs, hidden, classes):
    """The four arrays that a flat vector (n,) holds, one after the other: float64."""
    shapes = (inputs, hidden), (hidden,), (hidden, classes), (classes,)
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
    pieces = np.split(np.asarray(flat, np.float64), ends[:-1])
    return tuple(piece.reshape(shape) for piece, shape in zip(pieces, shapes, strict=True))


def logits(images, parameters):
    """z (B, C), biases included, of images (B, I)."""
    weights_1, bias_1, weights_2, bias_2 = parameters
    hidden = gelu(np.asarray(images, np.float64) @ weights_1 + bias_1)
    return hidden @ weights_2 + bias_2


def loss(images, labels, parameters):
    """The cross entropy, summed over the samples."""
    return float(cross_entropy(logits(images, parameters), labels).sum())


def gradients(images, labels, parameters):
    """The slope of `loss` along each of the parameters, in their order.

    Bishop: Pattern Recognition and Machine Learning (2006), sections 4.3.4 and 5.3.
    """
    images = np.asarray(images, np.float64)
    weights_1, bias_1, weights_2, bias_2 = parameters
    sums = images @ weights_1 + bias_1
    hidden = gelu(sums)
    delta = softmax(hidden @ weights_2 + bias_2)
    delta[np.arange(len(labels)), labels] -= 1
    delta_hidden = delta @ weights_2.T * gelu_slope(sums)
    return (
        images.T @ delta_hidden,
        delta_hidden.sum(axis=0),
        hidden.T @ delta,
        delta.sum(axis=0),
    )


def train_epoch(images, labels, parameters, batch, learning_rate):
    """One step of gradient descent per mini-batch, in order. Returns (losses (n,), parameters)."""
    losses = []
    for first in range(0, len(images), batch):
        chosen = slice(first, first + batch)
        losses.append(cross_entropy(logits(images[chosen], parameters), labels[chosen]))
        slopes = gradients(images[chosen], labels[chosen], parameters)
        parameters = tuple(
            parameter - learning_rate * slope
            for parameter, slope in zip(parameters, slopes, strict=True)
        )
    return np.concatenate(losses), parameters


def accuracy(images, labels, parameters):
    """The share of images whose largest logit is that of the label."""
    return float(np.mean(logits(images, parameters).argmax(axis=1) == labels))
