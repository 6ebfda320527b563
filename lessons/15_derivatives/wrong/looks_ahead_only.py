"""One point ahead, none behind: the slope of a place further on."""
# caught by: wrong_derivative
# diagnosis: It looks ahead only

import numpy as np


def finite_difference(function, inputs, position):
    step = np.float32(2.0**-7)
    ahead = list(inputs)
    ahead[position] += step
    return (float(function(*ahead)) - float(function(*inputs))) / float(step)
