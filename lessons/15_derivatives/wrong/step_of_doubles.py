"""The step is the best one of doubles, 0.000006: too small for float32."""
# caught by: wrong_derivative
# diagnosis: Its step is about 6e-06, and that is too small

import numpy as np


def finite_difference(function, inputs, position):
    # The best step of a central difference: the cube root of the machine epsilon.
    h = np.float32(np.cbrt(np.finfo(float).eps))
    right, left = list(inputs), list(inputs)
    right[position] = np.float32(inputs[position]) + h
    left[position] = np.float32(inputs[position]) - h
    rise = float(function(*right)) - float(function(*left))
    return rise / (float(right[position]) - float(left[position]))
