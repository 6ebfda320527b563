"""NumPy computes, and the kernels have nothing to do."""
# points: 1

import math

import numpy as np

from numba.extending import register_jitable

from kernels.classifier.gelu import CUBIC, ROOT_2_OVER_PI
from kernels.launch import on_gpu


@register_jitable
def gelu(x):
    return 0.5 * x * (1 + math.tanh(ROOT_2_OVER_PI * (x + CUBIC * x * x * x)))


def launch_bias_gelu(sums, bias, hidden, launch=on_gpu):
    x = sums + bias
    hidden[:] = 0.5 * x * (1 + np.tanh(ROOT_2_OVER_PI * (x + CUBIC * x**3)))


def launch_softmax_cross_entropy(logits, bias, labels, probabilities, delta, losses, launch=on_gpu):
    z = logits + bias
    z -= z.max(axis=1, keepdims=True)
    probabilities[:] = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    rows = np.arange(len(labels))
    delta[:] = probabilities
    delta[rows, labels] -= 1
    losses[:] = np.log(np.exp(z).sum(axis=1)) - z[rows, labels]


def launch_column_sums(values, sums, launch=on_gpu):
    sums[:] = values.sum(axis=0)


def launch_sgd(parameters, gradients, learning_rate, launch=on_gpu):
    parameters -= learning_rate * gradients
