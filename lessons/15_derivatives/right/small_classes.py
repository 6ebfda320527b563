"""Small classes hold steps and what is known, a generator yields the way back, slopes have five points."""

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

from itertools import chain, starmap
from typing import Iterable, NamedTuple, Union

Name = Union[str, float]


class Step(NamedTuple):
    output: str
    function: str
    inputs: tuple

    def changes_with(self, names) -> bool:
        return any(name in names for name in self.inputs)


class Gradients:
    """Which names have a part of their gradient already."""

    def __init__(self, first: str, wanted: Iterable[str]):
        self.there = {first}
        self.wanted = frozenset(wanted)

    def __contains__(self, name: Name) -> bool:
        return name in self.there

    def take(self, name: Name):
        if name not in self.wanted:
            return None
        if name in self.there:
            return "add"
        self.there.add(name)
        return "set"


@register_jitable
def cosine_of(x):
    return sine_of_turns(x * float32(TURNS_PER_RADIAN) + float32(0.25))


@derivative_of(sine)
@register_jitable
def sine_derivative(x, gradient):
    slope = cosine_of(x)
    return slope * gradient


@register_jitable
def inner_and_slope(x):
    cubed = float32(GELU_CUBE) * x * x * x
    flat = float32(GELU_SCALE) * (float32(1) + float32(3) * float32(GELU_CUBE) * x * x)
    return float32(GELU_SCALE) * (x + cubed), flat


@derivative_of(gelu)
@register_jitable
def gelu_derivative(x, gradient):
    inner, inner_slope = inner_and_slope(x)
    tangent = math.tanh(inner)
    half = float32(0.5) * gradient
    return half * (float32(1) + tangent) + half * x * (float32(1) - tangent * tangent) * inner_slope


@derivative_of(bilinear, scatters="grid")
@register_jitable
def bilinear_derivative(grad_grid, uv, row, column, gradient):
    x_place = neighbours(uv[row, 0], grad_grid.shape[1])
    y_place = neighbours(uv[row, 1], grad_grid.shape[0])
    shares = corner_weights(x_place[2], y_place[2])
    add_to = cuda.atomic.add
    # From the last corner to the first.
    add_to(grad_grid, (y_place[1], x_place[1], column), gradient * shares[3])
    add_to(grad_grid, (y_place[1], x_place[0], column), gradient * shares[2])
    add_to(grad_grid, (y_place[0], x_place[1], column), gradient * shares[1])
    add_to(grad_grid, (y_place[0], x_place[0], column), gradient * shares[0])


@derivative_of(encoded, scatters="grid")
@register_jitable
def encoded_derivative(grad_grid, uv, row, column, gradient):
    """Only the first features come from the grid; the others have no parameters."""
    if column < GRID_CHANNELS:
        bilinear_derivative(grad_grid, uv, row, column, gradient)


def needs_gradient(steps, parameters):
    names = list(dict.fromkeys(parameters))
    for step in starmap(Step, steps):
        if step.changes_with(names) and step.output not in names:
            names += [step.output]
    return names


def backward_steps(steps, result, parameters):
    wanted = needs_gradient(steps, parameters)
    gradients = Gradients(result, wanted)

    def from_the_end():
        for step in starmap(Step, reversed(steps)):
            if step.output in gradients and step.changes_with(gradients.wanted):
                yield *step, tuple([gradients.take(name) for name in step.inputs])

    return list(from_the_end())


def finite_difference(function, inputs, position):
    step = 1 / 128
    weights = {-2: 1, -1: -8, 1: 8, 2: -1}
    total = 0.0
    for times, weight in weights.items():
        moved = (
            np.float32(value + np.float32(times * step)) if i == position else value
            for i, value in enumerate(inputs)
        )
        total += weight * float(function(*moved))
    return total / (12 * step)


def disagrees(function, derivative, inputs):
    true = tuple(finite_difference(function, inputs, i) for i in range(len(inputs)))
    largest = max(chain((1.0,), map(abs, true)))

    def right(gradient):
        told = derivative(*inputs, np.float32(gradient))
        if told is None:
            return False
        told = (
            tuple(told)
            if isinstance(told, (tuple, list, np.ndarray)) and np.ndim(told)
            else (told,)
        )
        if len(told) != len(true):
            return False
        errors = [abs(float(one) / gradient - other) for one, other in zip(told, true)]
        return all(error < 0.01 * largest for error in errors)

    return not all(right(gradient) for gradient in (2.0, -0.5, 1.0, -8.0))


def wrong_derivatives(candidates):
    """The names of the candidates whose derivative disagrees at any of their points.

    candidates: list of (name, function, derivative, points), points a list of `inputs` as above.
    """
    return [
        name
        for name, function, derivative, points in candidates
        if any(disagrees(function, derivative, inputs) for inputs in points)
    ]
