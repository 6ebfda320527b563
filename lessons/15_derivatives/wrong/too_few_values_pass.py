"""A derivative that returns too few values is compared as far as it goes."""
# caught by: wrong_derivative
# diagnosis: compare the lengths

import numpy as np


def disagrees(function, derivative, inputs):
    gradient = np.float32(1.5)
    found = derivative(*inputs, gradient)
    found = found if isinstance(found, tuple) else (found,)
    slopes = [finite_difference(function, inputs, i) for i in range(len(inputs))]
    allowed = 0.01 * max(1.0, *(abs(slope) for slope in slopes))
    for got, slope in zip(found, slopes, strict=False):
        if not abs(float(got) - float(gradient) * slope) <= allowed:
            return True
    return False
