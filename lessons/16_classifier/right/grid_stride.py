"""Steps as wide as the grid, in one direction, over the elements of a matrix."""

import numpy as np

from numba import cuda, float32

from kernels.classifier.gelu import gelu, gelu_slope
from kernels.config import BLOCK_THREADS
from kernels.launch import on_gpu


@cuda.jit
def bias_gelu(sums, bias, hidden):
    units = hidden.shape[1]
    for i in range(cuda.grid(1), hidden.shape[0] * units, cuda.gridsize(1)):
        hidden[i // units, i % units] = gelu(sums[i // units, i % units] + bias[i % units])


@cuda.jit
def gelu_backward(sums, bias, delta):
    units = delta.shape[1]
    for i in range(cuda.grid(1), delta.shape[0] * units, cuda.gridsize(1)):
        delta[i // units, i % units] *= gelu_slope(sums[i // units, i % units] + bias[i % units])


@cuda.jit
def sgd(parameters, gradients, learning_rate):
    for i in range(cuda.grid(1), parameters.shape[0], cuda.gridsize(1)):
        parameters[i] -= learning_rate * gradients[i]


def launch_bias_gelu(sums, bias, hidden, launch=on_gpu):
    launch(bias_gelu, 2, BLOCK_THREADS, sums, bias, hidden)


def launch_gelu_backward(sums, bias, delta, launch=on_gpu):
    launch(gelu_backward, 2, BLOCK_THREADS, sums, bias, delta)


def launch_sgd(parameters, gradients, learning_rate, launch=on_gpu):
    launch(sgd, 2, BLOCK_THREADS, parameters, gradients, np.float32(learning_rate))
