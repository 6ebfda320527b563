"""The epoch in NumPy: it starts no kernel."""
# points: 8

import numpy as np

from kernels.classifier.gelu import CUBIC, ROOT_2_OVER_PI
from kernels.classifier.network import layers_of


def train_epoch(images, labels, losses, network, batch, learning_rate, launch):
    for first in range(0, len(images), batch):
        x, t = images[first : first + batch], labels[first : first + batch]
        weights_1, bias_1, weights_2, bias_2 = layers_of(network.parameters, network)
        sums = x @ weights_1 + bias_1
        tangent = np.tanh(ROOT_2_OVER_PI * (sums + CUBIC * sums**3))
        hidden = sums / 2 * (1 + tangent)
        z = hidden @ weights_2 + bias_2
        z -= z.max(axis=1, keepdims=True)
        y = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
        rows = np.arange(len(t))
        losses[first : first + batch] = -np.log(y[rows, t])
        y[rows, t] -= 1
        inner = ROOT_2_OVER_PI * (1 + 3 * CUBIC * sums**2)
        back = y @ weights_2.T * ((1 + tangent) / 2 + sums / 2 * (1 - tangent**2) * inner)
        slopes_2, slope_2 = hidden.T @ y, y.sum(axis=0)
        weights_1 -= learning_rate * (x.T @ back)
        bias_1 -= learning_rate * back.sum(axis=0)
        weights_2 -= learning_rate * slopes_2
        bias_2 -= learning_rate * slope_2
