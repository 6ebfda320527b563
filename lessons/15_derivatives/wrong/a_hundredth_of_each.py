"""A hundredth of each slope is allowed, also of one that is nearly zero."""
# caught by: wrong_derivative
# diagnosis: accuses a right one

import numpy as np


def disagrees(function, derivative, inputs):
    slopes = [finite_difference(function, inputs, i) for i in range(len(inputs))]
    for gradient in (1.0, -2.0, 0.5):
        found = derivative(*inputs, np.float32(gradient))
        if not isinstance(found, tuple):
            found = (found,)
        if len(found) != len(slopes):
            return True
        for mine, slope in zip(found, slopes, strict=True):
            if not abs(float(mine) / gradient - slope) <= 0.01 * abs(slope):
                return True
    return False
