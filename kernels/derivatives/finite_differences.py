"""Is a derivative right? Ask the function itself, at two points nearby.

    function, inputs, which of them  ->  slope
    functions and derivatives        ->  the names of those that do not agree

The idea: a derivative says how much a result changes with an input. So change the input a little,
both ways, and see. In float32 the change must not be too little: a result has seven digits, and in
the difference of two that are nearly equal most of them are lost. A wrong derivative is off by a
good part of itself, and shows long before the seventh digit.

Source: Press, Teukolsky, Vetterling, Flannery, "Numerical Recipes", section 5.7.
"""

import numpy as np


def finite_difference(function, inputs, position):
    """The slope of function(*inputs) along inputs[position], from values of the function.

    inputs: tuple of float32 numbers, up to about 3 in size; function takes float32 numbers, and
    returns one. Returns a number, right to about 1e-3 of the function's own size.
    """
    # A power of two: with it, little is rounded in x + step and x - step.
    step = np.float32(2.0**-7)
    ahead, behind = list(inputs), list(inputs)
    ahead[position] = np.float32(inputs[position] + step)
    behind[position] = np.float32(inputs[position] - step)
    rise = float(function(*ahead)) - float(function(*behind))
    return rise / (float(ahead[position]) - float(behind[position]))


def disagrees(function, derivative, inputs):
    """Whether a derivative is wrong at one point: True or False.

    inputs: tuple of float32 numbers. derivative(*inputs, gradient) should return `gradient` times
    the slope along its one input, or a tuple of those along each. Wrong is what is off by more than
    a hundredth of the largest slope (or of 1, where slopes are small). Wrong are NaN and infinity,
    too, and more or fewer values than inputs.
    """
    # Not 1: a derivative that forgets to multiply by it would seem to be right.
    gradient = np.float32(1.5)
    found = derivative(*inputs, gradient)
    found = found if isinstance(found, tuple) else (found,)
    if len(found) != len(inputs):
        return True
    slopes = [finite_difference(function, inputs, i) for i in range(len(inputs))]
    allowed = 0.01 * max(1.0, *(abs(slope) for slope in slopes))
    # Whether all are near, not whether any is far: NaN is neither.
    return not all(
        abs(float(got) - float(gradient) * slope) <= allowed
        for got, slope in zip(found, slopes, strict=True)
    )


def wrong_derivatives(candidates):
    """The names of the candidates whose derivative disagrees at any of their points.

    candidates: list of (name, function, derivative, points), points a list of `inputs` as above.
    """
    return [
        name
        for name, function, derivative, points in candidates
        if any(disagrees(function, derivative, inputs) for inputs in points)
    ]
