"""A hundredth is allowed, however large the slopes are."""
# caught by: wrong_derivative
# diagnosis: accuses a right one

import numpy as np


def disagrees(function, derivative, inputs):
    slopes = [finite_difference(function, inputs, i) for i in range(len(inputs))]
    allowed = 0.01
    for gradient in (1.0, -2.0, 0.5):
        found = derivative(*inputs, np.float32(gradient))
        if not isinstance(found, tuple):
            found = (found,)
        if len(found) != len(slopes):
            return True
        for mine, slope in zip(found, slopes, strict=True):
            if not abs(float(mine) / gradient - slope) <= allowed:
                return True
    return False
