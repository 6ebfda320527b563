"""From behind to ahead it is two steps."""
# caught by: wrong_derivative
# diagnosis: twice the slope

import numpy as np


def finite_difference(function, inputs, position):
    step = np.float32(2.0**-7)
    ahead, behind = list(inputs), list(inputs)
    ahead[position] += step
    behind[position] -= step
    return (float(function(*ahead)) - float(function(*behind))) / float(step)
