"""Gradient descent: every parameter takes a step against its gradient; one thread per parameter.

    parameters (n,), gradients (n,), learning_rate  ->  parameters (n,)

The idea: the gradients are sums over a mini-batch, a few samples drawn from all. It is not quite
the gradient of the whole data, but it points roughly the same way, and there is a new one every
few microseconds. Hence "stochastic" gradient descent.

Source: Robbins and Monro, "A stochastic approximation method", 1951.
"""

import numpy as np
from numba import cuda

from kernels.config import BLOCK_THREADS
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def sgd(parameters, gradients, learning_rate):
    """parameters (n,) -= learning_rate * gradients (n,); all float32."""
    i = cuda.grid(1)
    if i >= parameters.shape[0]:
        return

    parameters[i] -= learning_rate * gradients[i]


def launch_sgd(parameters, gradients, learning_rate, launch=on_gpu):
    blocks = blocks_for(parameters.shape[0], BLOCK_THREADS)
    launch(sgd, blocks, BLOCK_THREADS, parameters, gradients, np.float32(learning_rate))
