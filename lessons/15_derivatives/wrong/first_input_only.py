"""Always the slope along the first input."""
# caught by: wrong_derivative
# diagnosis: first input only

import numpy as np


def finite_difference(function, inputs, position):
    step = np.float32(2.0**-7)
    ahead = inputs[0] + step, *inputs[1:]
    behind = inputs[0] - step, *inputs[1:]
    return (float(function(*ahead)) - float(function(*behind))) / (2 * float(step))
