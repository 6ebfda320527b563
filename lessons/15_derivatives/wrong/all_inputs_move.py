"""All inputs are moved at once, so the slopes along all of them are added."""
# caught by: wrong_derivative
# diagnosis: all inputs change

import numpy as np


def finite_difference(function, inputs, position):
    point = np.array(inputs, np.float32)
    h = np.float32(0.01)
    after, before = point + h, point - h
    width = float(after[position]) - float(before[position])
    return (float(function(*after)) - float(function(*before))) / width
