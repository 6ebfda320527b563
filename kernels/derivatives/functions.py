"""The functions that a tape may name, and their derivatives.

    numbers of a thread, or arrays and a position  ->  one number
    the same, and a gradient                       ->  gradients of what was read

The idea: no function here is longer than a few lines, and so its derivative is easily written, and
easily compared with finite differences. A network is a chain of them. What the derivative of the
chain is, a machine finds (`tape`), and writes down as kernels (`writer`).

Those in the upper part take one number of each array. Those in the lower part take whole arrays
(rows, columns), float32, and the position of the result.

Sources: Hendrycks, Gimpel, "Gaussian Error Linear Units", 2016, for GELU and its tanh form;
Griewank, Walther, "Evaluating Derivatives", 2008, for all the rest.
"""

import math

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.config import FOURIER_OCTAVES, GRID_CHANNELS, SUB_CELL_FEATURES
from kernels.derivatives.registry import derivative_of, differentiable
from kernels.field_math import (
    GELU_CUBE,
    GELU_SCALE,
    TURNS_PER_RADIAN,
    corner_weights,
    gelu,
    luminance,
    neighbours,
    relu,
    sigmoid,
    sine,
    sine_of_turns,
)

# ---------------------------------------------------------------- one number of each array


@derivative_of(luminance)
@register_jitable
def luminance_derivative(gradient):
    """The gradients of red, green and blue. luminance is a sum of them, each times its weight."""
    return float32(0.2126) * gradient, float32(0.7152) * gradient, float32(0.0722) * gradient


# What is plain has no docstring: a derivative gets `gradient`, and returns one for each parameter.


@register_jitable
def added(a, b):
    return a + b


@derivative_of(added)
@register_jitable
def added_derivative(gradient):
    return gradient, gradient


@register_jitable
def difference(a, b):
    return a - b


@derivative_of(difference)
@register_jitable
def difference_derivative(gradient):
    return gradient, -gradient


@register_jitable
def product(a, b):
    return a * b


@derivative_of(product)
@register_jitable
def product_derivative(a, b, gradient):
    return gradient * b, gradient * a


@register_jitable
def square(x):
    return x * x


@derivative_of(square)
@register_jitable
def square_derivative(x, gradient):
    return float32(2) * x * gradient


@derivative_of(relu)
@register_jitable
def relu_derivative(x, gradient):
    return gradient if x > float32(0) else float32(0)


@derivative_of(sigmoid)
@register_jitable
def sigmoid_derivative(x, gradient):
    y = sigmoid(x)
    return gradient * y * (float32(1) - y)


@derivative_of(sine)
@register_jitable
def sine_derivative(x, gradient):
    """The gradient of x, where `gradient` is that of sine(x): both float32."""
    # A cosine is a sine that started a quarter turn earlier.
    return gradient * sine_of_turns(x * float32(TURNS_PER_RADIAN) + float32(0.25))


@derivative_of(gelu)
@register_jitable
def gelu_derivative(x, gradient):
    """The gradient of x, where `gradient` is that of gelu(x): both float32, |x| up to 1,000."""
    inner = float32(GELU_SCALE) * (x + float32(GELU_CUBE) * x * x * x)
    inner_slope = float32(GELU_SCALE) * (float32(1) + float32(3 * GELU_CUBE) * x * x)
    t = math.tanh(inner)
    # x / 2 grows by itself, and so does what it is multiplied by.
    own = float32(0.5) * (float32(1) + t)
    other = float32(0.5) * x * (float32(1) - t * t) * inner_slope
    return gradient * (own + other)


# ---------------------------------------------------------------- whole arrays, and a position


@register_jitable
def matmul(inputs, weights, row, column):
    """One number of the product of inputs (rows, fan_in) and weights (fan_in, columns)."""
    total = float32(0)
    for k in range(weights.shape[0]):
        total += inputs[row, k] * weights[k, column]
    return total


@register_jitable
def linear(inputs, weights, biases, row, column):
    """The same, plus biases (1, columns)."""
    return matmul(inputs, weights, row, column) + biases[0, column]


@derivative_of(linear, gathers="inputs")
@derivative_of(matmul, gathers="inputs")
@register_jitable
def inputs_derivative(weights, gradients, row, column):
    """inputs[row, column] went into each number of its row, times a weight."""
    total = float32(0)
    for unit in range(gradients.shape[1]):
        total += gradients[row, unit] * weights[column, unit]
    return total


@derivative_of(linear, gathers="weights")
@derivative_of(matmul, gathers="weights")
@register_jitable
def weights_derivative(inputs, gradients, row, column):
    """weights[row, column] was used by every sample, times one of its inputs."""
    total = float32(0)
    for sample in range(gradients.shape[0]):
        total += inputs[sample, row] * gradients[sample, column]
    return total


@derivative_of(linear, gathers="biases")
@register_jitable
def biases_derivative(gradients, row, column):
    """biases[0, column] was added for every sample."""
    total = float32(0)
    for sample in range(gradients.shape[0]):
        total += gradients[sample, column]
    return total


@differentiable
@register_jitable
def bilinear(grid, uv, row, column):
    """Channel `column` of grid (gh, gw, channels) at the point uv[row]; edges clamp."""
    left, right, x_fraction = neighbours(uv[row, 0], grid.shape[1])
    top, bottom, y_fraction = neighbours(uv[row, 1], grid.shape[0])
    w0, w1, w2, w3 = corner_weights(x_fraction, y_fraction)
    return (
        w0 * grid[top, left, column]
        + w1 * grid[top, right, column]
        + w2 * grid[bottom, left, column]
        + w3 * grid[bottom, right, column]
    )


@derivative_of(bilinear, scatters="grid")
@register_jitable
def bilinear_derivative(grad_grid, uv, row, column, gradient):
    """Add to grad_grid (gh, gw, channels) float32 what its cells have done to one number.

    That number is bilinear(grid, uv, row, column), and `gradient` its gradient, float32. Threads of
    other numbers add to the same cells at the same time. Returns nothing.
    """
    left, right, x_fraction = neighbours(uv[row, 0], grad_grid.shape[1])
    top, bottom, y_fraction = neighbours(uv[row, 1], grad_grid.shape[0])
    w0, w1, w2, w3 = corner_weights(x_fraction, y_fraction)
    cuda.atomic.add(grad_grid, (top, left, column), w0 * gradient)
    cuda.atomic.add(grad_grid, (top, right, column), w1 * gradient)
    cuda.atomic.add(grad_grid, (bottom, left, column), w2 * gradient)
    cuda.atomic.add(grad_grid, (bottom, right, column), w3 * gradient)


@register_jitable
def encoded(grid, uv, row, column):
    """Feature `column` of the point uv[row], as `kernels/encode.py` numbers them: 0 to 15."""
    if column < GRID_CHANNELS:
        return bilinear(grid, uv, row, column)
    axis = column - GRID_CHANNELS
    if axis < SUB_CELL_FEATURES:
        _, _, fraction = neighbours(uv[row, axis], grid.shape[1 - axis])
        return sine_of_turns(fraction)
    wave = axis - SUB_CELL_FEATURES
    if wave >= 4 * FOURIER_OCTAVES:
        return float32(1)
    coordinate = uv[row, wave // (2 * FOURIER_OCTAVES)]
    octave = wave // 2 % FOURIER_OCTAVES
    quarter = float32(0.25) * float32(wave % 2)
    return sine_of_turns(coordinate * float32(1 << octave) + quarter)


@derivative_of(encoded, scatters="grid")
@register_jitable
def encoded_derivative(grad_grid, uv, row, column, gradient):
    """Only the first features come from the grid; the others have no parameters."""
    if column < GRID_CHANNELS:
        bilinear_derivative(grad_grid, uv, row, column, gradient)
