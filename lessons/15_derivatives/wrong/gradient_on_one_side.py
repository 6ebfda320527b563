"""The derivative is tried with a gradient, but compared with the slope alone."""
# caught by: wrong_derivative
# diagnosis: accuses a right one

import numpy as np


def disagrees(function, derivative, inputs):
    gradient = np.float32(1.5)
    found = derivative(*inputs, gradient)
    found = found if isinstance(found, tuple) else (found,)
    slopes = [finite_difference(function, inputs, i) for i in range(len(inputs))]
    allowed = 0.01 * max(1.0, *(abs(slope) for slope in slopes))
    return any(abs(float(got) - slope) > allowed for got, slope in zip(found, slopes, strict=True))
