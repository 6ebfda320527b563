"""The sign is reversed."""
# caught by: wrong_derivative
# diagnosis: sign reversed

import numpy as np


def finite_difference(function, inputs, position):
    step = np.float32(2.0**-7)
    ahead, behind = list(inputs), list(inputs)
    ahead[position] += step
    behind[position] -= step
    return (float(function(*behind)) - float(function(*ahead))) / (2 * float(step))
