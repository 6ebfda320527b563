"""The step is a part of the input: at zero there is none."""
# caught by: wrong_derivative
# diagnosis: Take the same step everywhere

import numpy as np
from numba import float32


def finite_difference(function, inputs, position):
    # A power of two: with it, little is rounded in x + step and x - step.
    step = np.float32(0.01) * inputs[position]
    ahead, behind = list(inputs), list(inputs)
    ahead[position] = np.float32(inputs[position] + step)
    behind[position] = np.float32(inputs[position] - step)
    rise = float(function(*ahead)) - float(function(*behind))
    return rise / (float(ahead[position]) - float(behind[position]))
