"""It returns True where the derivative is right."""
# caught by: wrong_derivative
# diagnosis: verdicts reversed

import numpy as np


def disagrees(function, derivative, inputs):
    slopes = [finite_difference(function, inputs, i) for i in range(len(inputs))]
    allowed = 0.01 * max(1.0, max(abs(slope) for slope in slopes))
    for gradient in (1.0, -2.0, 0.5):
        found = derivative(*inputs, np.float32(gradient))
        if not isinstance(found, tuple):
            found = (found,)
        if len(found) != len(slopes):
            return True
        for mine, slope in zip(found, slopes, strict=True):
            if not abs(float(mine) / gradient - slope) <= allowed:
                return False
    return True
