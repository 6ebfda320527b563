"""Derivatives by machine in plain float64 NumPy: functions, tapes, and a SIREN's gradients.

As `lessons.reference` does, this decides what is right: nothing is imported from `kernels/`, and
every formula comes from the equation; only the bilinear look-up is that of `lessons.reference`.
Inputs may be float32; results are float64.
"""

from typing import NamedTuple

import numpy as np

from lessons.reference import bilinear

# ---- Functions and their derivatives --------------------------------------------------------


def sigmoid(x):
    return 0.5 * (1 + np.tanh(0.5 * np.asarray(x, np.float64)))


def gelu(x):
    """Hendrycks, Gimpel: Gaussian Error Linear Units (2016), the form with tanh."""
    x = np.asarray(x, np.float64)
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def gelu_slope(x):
    x = np.asarray(x, np.float64)
    t = np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))
    inner = np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * x**2)
    return 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * inner


# name -> (function, its slopes: a tuple, one for each input)
POINTWISE = {
    "added": (lambda a, b: a + b, lambda a, b: (1.0, 1.0)),
    "difference": (lambda a, b: a - b, lambda a, b: (1.0, -1.0)),
    "product": (lambda a, b: a * b, lambda a, b: (b, a)),
    "square": (lambda x: x**2, lambda x: (2 * x,)),
    "sine": (np.sin, lambda x: (np.cos(x),)),
    "gelu": (gelu, lambda x: (gelu_slope(x),)),
    "relu": (lambda x: np.maximum(x, 0), lambda x: (np.asarray(x > 0, np.float64),)),
    "sigmoid": (sigmoid, lambda x: (sigmoid(x) * (1 - sigmoid(x)),)),
    "luminance": (
        lambda r, g, b: 0.2126 * r + 0.7152 * g + 0.0722 * b,
        lambda r, g, b: (0.2126, 0.7152, 0.0722),
    ),
}


# Functions of whole arrays: biases are (1, columns).
WHOLE = {
    "matmul": lambda inputs, weights: inputs @ weights,
    "linear": lambda inputs, weights, biases: inputs @ weights + biases,
    "bilinear": bilinear,
}


# ---- Tapes ----------------------------------------------------------------------------------


def values_of(steps, inputs):
    """name -> value, of all that is on a tape. inputs: name -> value."""
    values = {name: np.asarray(value, np.float64) for name, value in inputs.items()}
    for output, function, names in steps:
        given = [values[name] if isinstance(name, str) else name for name in names]
        compute = POINTWISE[function][0] if function in POINTWISE else WHOLE[function]
        values[output] = compute(*given)
    return values


def changed_by(steps, parameters):
    """The set of names that can change with a parameter: whatever can be reached from one."""
    reached, waiting = set(), set(parameters)
    while waiting:
        reached |= waiting
        waiting = {output for output, _, names in steps if reached & set(names)} - reached
    return reached


def leading_to(steps, result):
    """The set of names that the result depends on, and itself."""
    reached, waiting = set(), {result}
    while waiting:
        reached |= waiting
        waiting = {name for output, _, names in steps if output in reached for name in names}
        waiting -= reached
    return reached


def way_back(steps, result, parameters):
    """The steps whose derivatives are needed, last first, with an action for each input.

    An action is "set" for the first part of a gradient, "add" for each further one, and None where
    none is needed. Griewank, Walther: Evaluating Derivatives (2008), section 3.2.
    """
    active = changed_by(steps, parameters) & leading_to(steps, result)
    back = []
    for output, function, names in reversed(steps):
        if output not in active:
            continue
        actions = []
        for name in names:
            had = any(name in step[2] for step in back) or name in names[: len(actions)]
            actions.append(("add" if had else "set") if name in active else None)
        back.append((output, function, names, tuple(actions)))
    return back


def tangent_of(steps, inputs, parameter):
    """name -> slope of each value along one parameter: the chain rule from front to back.

    Griewank, Walther: Evaluating Derivatives (2008), the forward mode. It needs a pass for each
    parameter, and nothing of what a backward pass needs.
    """
    values = values_of(steps, inputs)
    slopes = {name: 0.0 for name in inputs}
    slopes[parameter] = 1.0
    for output, function, names in steps:
        given = [values[name] if isinstance(name, str) else name for name in names]
        own = [slopes[name] if isinstance(name, str) else 0.0 for name in names]
        by_input = POINTWISE[function][1](*given)
        slopes[output] = sum(slope * tangent for slope, tangent in zip(by_input, own, strict=True))
    return slopes


# ---- SIREN ----------------------------------------------------------------------------------


class SirenGradients(NamedTuple):
    """loss: the mean squared error; weights, biases: lists, a gradient for each layer."""

    loss: float
    weights: list
    biases: list


def siren(positions, weights, biases, omega, activation="sine"):
    """Sitzmann et al.: SIREN (NeurIPS 2020); sines with `omega` in the first layer only, then a
    sigmoid. positions (B, 2); weights: (fan_in, fan_out) each; biases: (fan_out,) each.

    Returns (colours, angles of the sines, inputs of each layer). activation: the function that
    takes the place of the sines, if it is another.
    """
    inputs, angles = [np.asarray(positions, np.float64)], []
    for layer, (matrix, bias) in enumerate(zip(weights[:-1], biases[:-1], strict=True)):
        factor = omega if layer == 0 else 1.0
        angles.append(factor * (inputs[-1] @ matrix + bias))
        inputs.append(POINTWISE[activation][0](angles[-1]))
    return sigmoid(inputs[-1] @ weights[-1] + biases[-1]), angles, inputs


def siren_backward(positions, weights, biases, omega, target, activation="sine"):
    """`SirenGradients` of the mean squared error against target (B, 3)."""
    colours, angles, inputs = siren(positions, weights, biases, omega, activation)
    error = colours - target
    gradient = 2 * error / error.size * colours * (1 - colours)
    grad_weights, grad_biases = [], []
    for layer in reversed(range(len(weights))):
        grad_weights.insert(0, inputs[layer].T @ gradient)
        grad_biases.insert(0, gradient.sum(axis=0))
        if layer:
            (slope,) = POINTWISE[activation][1](angles[layer - 1])
            factor = omega if layer == 1 else 1.0
            gradient = (gradient @ np.asarray(weights[layer]).T) * slope * factor
    return SirenGradients(float(np.mean(error**2)), grad_weights, grad_biases)


# ---- Finite differences ---------------------------------------------------------------------


def slope_along(function, parameter, index, step=1e-5):
    """How function() changes with parameter[index], an array that it reads; central differences."""
    kept = parameter[index]
    parameter[index] = kept + step
    ahead = function()
    parameter[index] = kept - step
    behind = function()
    parameter[index] = kept
    return (ahead - behind) / (2 * step)
