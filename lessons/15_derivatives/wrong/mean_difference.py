"""The mean of the differences is compared."""
# caught by: wrong_derivative
# diagnosis: each of them by itself

import numpy as np


def disagrees(function, derivative, inputs):
    gradient = np.float32(1.5)
    found = derivative(*inputs, gradient)
    found = found if isinstance(found, tuple) else (found,)
    if len(found) != len(inputs):
        return True
    slopes = [finite_difference(function, inputs, i) for i in range(len(inputs))]
    allowed = 0.01 * max(1.0, *(abs(slope) for slope in slopes))
    total = sum(
        float(got) - float(gradient) * slope for got, slope in zip(found, slopes, strict=True)
    )
    return not abs(total / len(slopes)) <= allowed
