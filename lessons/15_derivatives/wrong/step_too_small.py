"""In float32, so small a step loses nearly all digits of the difference."""
# caught by: wrong_derivative
# diagnosis: Its step is about 1e-06

import numpy as np


def finite_difference(function, inputs, position):
    step = np.float32(1e-6)
    ahead, behind = list(inputs), list(inputs)
    ahead[position] += step
    behind[position] -= step
    return (float(function(*ahead)) - float(function(*behind))) / (2 * float(step))
