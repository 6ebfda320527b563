"""Lesson 15: derivatives by machine. The backward pass that nobody writes.

Write the seven functions marked "write me"; the story is in README.md beside this file.

    registered derivatives, a tape  ->  the kernels of its backward pass

Check your work with `python -m lessons check 15`.
"""

import math

import numpy as np
from numba import cuda, float32
from numba.extending import register_jitable

from kernels.config import GRID_CHANNELS
from kernels.derivatives.functions import bilinear, encoded
from kernels.derivatives.registry import derivative_of
from kernels.field_math import (
    GELU_CUBE,
    GELU_SCALE,
    TURNS_PER_RADIAN,
    corner_weights,
    gelu,
    neighbours,
    sine,
    sine_of_turns,
)


@derivative_of(sine)
@register_jitable
def sine_derivative(x, gradient):
    """The gradient of x, where `gradient` is that of sine(x): both float32."""
    raise NotImplementedError("write me")


@derivative_of(gelu)
@register_jitable
def gelu_derivative(x, gradient):
    """The gradient of x, where `gradient` is that of gelu(x): both float32, |x| up to 1,000."""
    raise NotImplementedError("write me")


@derivative_of(bilinear, scatters="grid")
@register_jitable
def bilinear_derivative(grad_grid, uv, row, column, gradient):
    """Add to grad_grid (gh, gw, channels) float32 what its cells have done to one number.

    That number is bilinear(grid, uv, row, column), and `gradient` its gradient, float32. Threads of
    other numbers add to the same cells at the same time. Returns nothing.
    """
    raise NotImplementedError("write me")


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
    raise NotImplementedError("write me")


def backward_steps(steps, result, parameters):
    """The backward pass of a tape: a list of (output, function, inputs, actions), in order.

    steps: list of (output, function, inputs). result: the name whose gradient is known. parameters:
    tuple of the names whose gradients are wanted. actions: for each input "set", if this is the
    first part of its gradient; "add", if it has one already; None, if it needs none. Steps that no
    wanted gradient needs are left out.
    """
    raise NotImplementedError("write me")


def finite_difference(function, inputs, position):
    """The slope of function(*inputs) along inputs[position], from values of the function.

    inputs: tuple of float32 numbers, up to about 3 in size; function takes float32 numbers, and
    returns one. Returns a number, right to about 1e-3 of the function's own size.
    """
    raise NotImplementedError("write me")


def disagrees(function, derivative, inputs):
    """Whether a derivative is wrong at one point: True or False.

    inputs: tuple of float32 numbers. derivative(*inputs, gradient) should return `gradient` times
    the slope along its one input, or a tuple of those along each. Wrong is what is off by more than
    a hundredth of the largest slope (or of 1, where slopes are small). Wrong are NaN and infinity,
    too, and more or fewer values than inputs.
    """
    raise NotImplementedError("write me")


def wrong_derivatives(candidates):
    """The names of the candidates whose derivative disagrees at any of their points.

    candidates: list of (name, function, derivative, points), points a list of `inputs` as above.
    """
    return [
        name
        for name, function, derivative, points in candidates
        if any(disagrees(function, derivative, inputs) for inputs in points)
    ]
