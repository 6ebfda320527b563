"""Arrays of NumPy, a gradient of -2, and a gradient of 0."""

import numpy as np


def disagrees(function, derivative, inputs):
    slopes = np.array([finite_difference(function, inputs, i) for i in range(len(inputs))])
    allowed = 0.01 * max(1.0, np.abs(slopes).max())
    for gradient in (-2.0, 0.0):
        found = np.atleast_1d(derivative(*inputs, np.float32(gradient))).astype(float)
        if found.shape != slopes.shape or not np.abs(found - gradient * slopes).max() <= allowed:
            return True
    return False
