"""A NaN is not larger than what is allowed."""
# caught by: wrong_derivative
# diagnosis: near enough

import numpy as np


def disagrees(function, derivative, inputs):
    gradient = np.float32(1.5)
    found = np.atleast_1d(derivative(*inputs, gradient)).astype(float)
    if len(found) != len(inputs):
        return True
    slopes = np.array([finite_difference(function, inputs, i) for i in range(len(inputs))])
    allowed = 0.01 * max(1.0, np.abs(slopes).max())
    return bool((np.abs(found - gradient * slopes) > allowed).any())
