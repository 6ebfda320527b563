"""Lesson 16: a classifier. Which digit is it, and how often is it right?

Write the ten functions marked "write me"; the story is in README.md beside this file.

    images (B, inputs) -> sums -> hidden -> logits -> probabilities, delta, losses
    delta -> gradients -> parameters

Check your work with `python -m lessons check 16`.
"""

import math

import numpy as np
from numba import cuda, float32
from numba.extending import register_jitable

from kernels.classifier.column_sums import STRIP_COLUMNS, STRIP_WARPS
from kernels.classifier.gelu import ELEMENT_THREADS, blocks_over
from kernels.classifier.network import first_rows, layers_of
from kernels.classifier.softmax import CLASS_THREADS
from kernels.config import BLOCK_THREADS
from kernels.field_math import GELU_CUBE, GELU_SCALE
from kernels.launch import blocks_for, on_gpu
from kernels.products.tiles import launch_product_registers
from kernels.products.transposed import launch_product_nt, launch_product_tn


@register_jitable
def gelu(x):
    """x / 2 * (1 + tanh(GELU_SCALE * (x + GELU_CUBE * x^3))), all of it float32.

    That is about x times the probability that a normal random number is below x. GELU_SCALE and
    GELU_CUBE are Python's floats: doubles to Numba.
    """
    raise NotImplementedError("write me")


@register_jitable
def gelu_slope(x):
    """The derivative of `gelu` at x: float32."""
    raise NotImplementedError("write me")


@cuda.jit
def bias_gelu(sums, bias, hidden):
    """hidden (B, units) = gelu(sums (B, units) + bias (units,)), all float32.

    One thread per element: x goes along the units, y along the samples.
    """
    raise NotImplementedError("write me")


@cuda.jit
def gelu_backward(sums, bias, delta):
    """Take delta (B, units) back through `bias_gelu`, in place; threads as there.

    sums (B, units), bias (units,): as `bias_gelu` got them. delta: the loss's slope along hidden;
    afterwards, along sums. All float32.
    """
    raise NotImplementedError("write me")


def launch_bias_gelu(sums, bias, hidden, launch=on_gpu):
    launch(bias_gelu, blocks_over(hidden), ELEMENT_THREADS, sums, bias, hidden)


def launch_gelu_backward(sums, bias, delta, launch=on_gpu):
    launch(gelu_backward, blocks_over(delta), ELEMENT_THREADS, sums, bias, delta)


@register_jitable
def largest_of_block(shared, value):
    """The largest `value` of the block's CLASS_THREADS threads; each of them gets it.

    shared: (CLASS_THREADS,) float32 in shared memory, free to use; it is free again afterwards.
    """
    thread = cuda.threadIdx.x
    shared[thread] = value
    active = CLASS_THREADS // 2
    while active > 0:
        cuda.syncthreads()
        if thread < active:
            shared[thread] = max(shared[thread], shared[thread + active])
        active //= 2
    cuda.syncthreads()
    largest = shared[0]
    # Nobody may use `shared` for something else before all have read.
    cuda.syncthreads()
    return largest


@register_jitable
def sum_of_block(shared, value):
    """The sum of the block's values, as `largest_of_block`."""
    raise NotImplementedError("write me")


@cuda.jit
def softmax_cross_entropy(logits, bias, labels, probabilities, delta, losses):
    """Softmax of logits + bias, and how wrong it is; one block of CLASS_THREADS threads per sample.

    logits (B, classes), bias (classes,): float32; labels (B,): int32 in [0, classes).
    Writes probabilities (B, classes), whose rows sum to 1; delta (B, classes), the loss's slope
    along logits; losses (B,), each sample's cross entropy: float32.
    """
    raise NotImplementedError("write me")


def launch_softmax_cross_entropy(
    logits, bias, labels, probabilities, delta, losses, launch=on_gpu
):  # fmt: skip
    launch(
        softmax_cross_entropy, logits.shape[0], CLASS_THREADS,
        logits, bias, labels, probabilities, delta, losses,
    )  # fmt: skip


@cuda.jit
def column_sums(values, sums):
    """sums (columns,) = the sum of values (rows, columns) over its rows, both float32.

    Blocks of STRIP_COLUMNS x STRIP_WARPS threads, each for STRIP_COLUMNS columns.
    """
    raise NotImplementedError("write me")


def launch_column_sums(values, sums, launch=on_gpu):
    blocks = blocks_for(values.shape[1], STRIP_COLUMNS)
    launch(column_sums, blocks, (STRIP_COLUMNS, STRIP_WARPS), values, sums)


@cuda.jit
def sgd(parameters, gradients, learning_rate):
    """parameters (n,) -= learning_rate * gradients (n,); all float32."""
    raise NotImplementedError("write me")


def launch_sgd(parameters, gradients, learning_rate, launch=on_gpu):
    blocks = blocks_for(parameters.shape[0], BLOCK_THREADS)
    launch(sgd, blocks, BLOCK_THREADS, parameters, gradients, np.float32(learning_rate))


def classify(images, labels, losses, network, launch):
    """What the network says of each image, and how wrong it is.

    images: (B, inputs) float32; labels: (B,) int32. network: `Network` with room for B samples.
    Fills its sums, hidden, logits, probabilities and delta, and losses (B,).
    """
    layers = layers_of(network.parameters, network)
    launch_product_registers(images, layers.weights_1, network.sums, launch=launch)
    launch_bias_gelu(network.sums, layers.bias_1, network.hidden, launch=launch)
    launch_product_registers(network.hidden, layers.weights_2, network.logits, launch=launch)
    launch_softmax_cross_entropy(
        network.logits, layers.bias_2, labels, network.probabilities, network.delta, losses,
        launch=launch,
    )  # fmt: skip


def training_step(images, labels, losses, network, learning_rate, launch):
    """Classify one mini-batch, and move every parameter against its gradient.

    As `classify`; then fills network.delta_hidden and network.gradients, and changes
    network.parameters. The gradients are sums over the batch, not means.
    """
    raise NotImplementedError("write me")


def train_epoch(images, labels, losses, network, batch, learning_rate, launch):
    """One training step for each mini-batch: every sample once, in order.

    images: (n, inputs), labels: (n,), losses: (n,), resident on the device. batch: samples per
    mini-batch; the last one has what is left.
    """
    raise NotImplementedError("write me")
