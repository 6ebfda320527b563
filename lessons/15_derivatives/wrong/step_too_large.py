"""The step is so large that the curve bends over it."""
# caught by: wrong_derivative
# diagnosis: over that the curve bends

import numpy as np


def finite_difference(function, inputs, position):
    h = np.float32(0.1)
    right, left = list(inputs), list(inputs)
    right[position] = np.float32(inputs[position]) + h
    left[position] = np.float32(inputs[position]) - h
    rise = float(function(*right)) - float(function(*left))
    return rise / (float(right[position]) - float(left[position]))
