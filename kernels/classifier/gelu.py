"""Bias and GELU, and the way back through them: one thread per element.

    sums (B, units), bias (units,)          ->  hidden (B, units) = gelu(sums + bias)
    sums, bias, delta = dL/dhidden          ->  delta = dL/dsums = delta * gelu_slope(sums + bias)

The idea: GELU lets a number x pass in proportion to how likely a normal random number is below x.
Large x pass whole, very negative ones not at all, and in between it is smooth where ReLU has a
corner. The normal distribution's integral has no formula; a hyperbolic tangent is near enough, and
is what most networks compute. Neither sums + bias nor the slope is stored for the way back: to add
and to take the tangent again costs less than to read another array.

Source: Hendrycks and Gimpel, "Gaussian Error Linear Units (GELUs)", 2016.
"""

import math

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.field_math import GELU_CUBE, GELU_SCALE, gelu
from kernels.launch import blocks_for, on_gpu

ROOT_2_OVER_PI, CUBIC = GELU_SCALE, GELU_CUBE  # what older exercises import
ELEMENT_THREADS = 32, 8  # a warp reads 32 neighbours of one row


@register_jitable
def gelu_slope(x):
    """The derivative of `gelu` at x: float32."""
    tangent = math.tanh(float32(GELU_SCALE) * (x + float32(GELU_CUBE) * x * x * x))
    inner_slope = float32(GELU_SCALE) * (float32(1) + float32(3 * GELU_CUBE) * x * x)
    # The product rule: x / 2 is one factor, 1 + tanh the other; tanh's slope is 1 - tanh^2.
    rising = float32(0.5) * x * (float32(1) - tangent * tangent) * inner_slope
    return float32(0.5) * (float32(1) + tangent) + rising


@cuda.jit
def bias_gelu(sums, bias, hidden):
    """hidden (B, units) = gelu(sums (B, units) + bias (units,)), all float32.

    One thread per element: x goes along the units, y along the samples.
    """
    unit, sample = cuda.grid(2)
    if sample >= hidden.shape[0] or unit >= hidden.shape[1]:
        return

    hidden[sample, unit] = gelu(sums[sample, unit] + bias[unit])


@cuda.jit
def gelu_backward(sums, bias, delta):
    """Take delta (B, units) back through `bias_gelu`, in place; threads as there.

    sums (B, units), bias (units,): as `bias_gelu` got them. delta: the loss's slope along hidden;
    afterwards, along sums. All float32.
    """
    unit, sample = cuda.grid(2)
    if sample >= delta.shape[0] or unit >= delta.shape[1]:
        return

    delta[sample, unit] *= gelu_slope(sums[sample, unit] + bias[unit])


def launch_bias_gelu(sums, bias, hidden, launch=on_gpu):
    launch(bias_gelu, blocks_over(hidden), ELEMENT_THREADS, sums, bias, hidden)


def launch_gelu_backward(sums, bias, delta, launch=on_gpu):
    launch(gelu_backward, blocks_over(delta), ELEMENT_THREADS, sums, bias, delta)


def blocks_over(matrix):
    """Blocks (across, down) of ELEMENT_THREADS that cover the elements of a matrix."""
    rows, columns = matrix.shape
    return blocks_for(columns, ELEMENT_THREADS[0]), blocks_for(rows, ELEMENT_THREADS[1])
