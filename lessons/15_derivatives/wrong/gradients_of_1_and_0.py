"""disagrees tries the gradients 1 and 0, and believes what multiplies by it twice."""
# caught by: wrong_derivative
# diagnosis: multiplies by the gradient twice

import math

import numpy as np
from numba import cuda, float32
from numba.extending import register_jitable

from kernels.config import GRID_CHANNELS
from kernels.derivatives.functions import bilinear, encoded, gelu
from kernels.derivatives.registry import derivative_of
from kernels.field_math import (
    GELU_CUBE,
    GELU_SCALE,
    TURNS_PER_RADIAN,
    corner_weights,
    neighbours,
    sine,
    sine_of_turns,
)


@derivative_of(sine)
@register_jitable
def sine_derivative(x, gradient):
    """The gradient of x, where `gradient` is that of sine(x): both float32."""
    turns = x * float32(TURNS_PER_RADIAN)
    return gradient * sine_of_turns(turns + float32(0.25))


@derivative_of(gelu)
@register_jitable
def gelu_derivative(x, gradient):
    """The gradient of x, where `gradient` is that of gelu(x): both float32, |x| up to 1,000."""
    one, half = float32(1), float32(0.5)
    scale, cube = float32(GELU_SCALE), float32(GELU_CUBE)
    bent = math.tanh(scale * (x + cube * x * x * x))
    inner_slope = scale * (one + float32(3) * cube * x * x)
    return gradient * (half * (one + bent) + half * x * (one - bent * bent) * inner_slope)


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


@derivative_of(encoded, scatters="grid")
@register_jitable
def encoded_derivative(grad_grid, uv, row, column, gradient):
    """Only the first features come from the grid; the others have no parameters."""
    if column < GRID_CHANNELS:
        bilinear_derivative(grad_grid, uv, row, column, gradient)


def needs_gradient(steps, parameters):
    """The names whose value a parameter can change: the parameters, and what is made of them.

    steps: list of (output, function, inputs), in order. parameters: tuple of names. Returns a list
    of names, in any order; inputs may also be numbers, which nothing can change.
    """
    names = list(parameters)
    for output, _, inputs in steps:
        if output not in names and any(name in names for name in inputs):
            names.append(output)
    return names


def backward_steps(steps, result, parameters):
    """The backward pass of a tape: a list of (output, function, inputs, actions), in order.

    steps: list of (output, function, inputs). result: the name whose gradient is known. parameters:
    tuple of the names whose gradients are wanted. actions: for each input "set", if this is the
    first part of its gradient; "add", if it has one already; None, if it needs none. Steps that no
    wanted gradient needs are left out.
    """
    wanted = set(needs_gradient(steps, parameters))
    known = {result}
    way_back = []
    for output, function, inputs in reversed(steps):
        if output not in known or output not in wanted:
            continue
        actions = []
        for name in inputs:
            if name not in wanted:
                actions.append(None)
            elif name in known:
                actions.append("add")
            else:
                actions.append("set")
                known.add(name)
        if any(actions):
            way_back.append((output, function, inputs, tuple(actions)))
    return way_back


def finite_difference(function, inputs, position):
    """The slope of function(*inputs) along inputs[position], from values of the function.

    inputs: tuple of float32 numbers, up to about 3 in size; function takes float32 numbers, and
    returns one. Returns a number, right to about 1e-3 of the function's own size.
    """

    def value_at(moved):
        point = (*inputs[:position], moved, *inputs[position + 1 :])
        return float(function(*point))

    middle = np.float32(inputs[position])
    right = np.float32(middle + np.float32(0.01))
    left = np.float32(middle - np.float32(0.01))
    return (value_at(right) - value_at(left)) / (float(right) - float(left))


def disagrees(function, derivative, inputs):
    """Whether a derivative is wrong at one point: True or False.

    inputs: tuple of float32 numbers. derivative(*inputs, gradient) should return `gradient` times
    the slope along its one input, or a tuple of those along each. Wrong is what is off by more than
    a hundredth of the largest slope (or of 1, where slopes are small). Wrong are NaN and infinity,
    too, and more or fewer values than inputs.
    """
    count = len(inputs)
    measured = [finite_difference(function, inputs, k) for k in range(count)]
    scale = max(1.0, max(abs(slope) for slope in measured))

    for gradient in (1, 0):
        values = derivative(*inputs, np.float32(gradient))
        values = values if isinstance(values, tuple) else (values,)
        if len(values) != count or not np.all(np.isfinite(values)):
            return True
        for k in range(count):
            if abs(float(values[k]) - gradient * measured[k]) > 0.01 * scale:
                return True
    return False


def wrong_derivatives(candidates):
    """The names of the candidates whose derivative disagrees at any of their points.

    candidates: list of (name, function, derivative, points), points a list of `inputs` as above.
    """
    return [
        name
        for name, function, derivative, points in candidates
        if any(disagrees(function, derivative, inputs) for inputs in points)
    ]
