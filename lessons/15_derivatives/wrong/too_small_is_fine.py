"""Only what is too large is wrong: abs is missing."""
# caught by: wrong_derivative
# diagnosis: a wrong one passes

import numpy as np


def disagrees(function, derivative, inputs):
    slopes = [finite_difference(function, inputs, i) for i in range(len(inputs))]
    allowed = 0.01 * max(1.0, max(abs(slope) for slope in slopes))
    for gradient in (2.0, 0.5):
        found = derivative(*inputs, np.float32(gradient))
        if not isinstance(found, tuple):
            found = (found,)
        if len(found) != len(slopes):
            return True
        for mine, slope in zip(found, slopes, strict=True):
            if not float(mine) / gradient - slope <= allowed:
                return True
    return False
