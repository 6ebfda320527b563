"""A tenth is too much: five per cent wrong is wrong."""
# caught by: wrong_derivative
# diagnosis: a wrong one passes

import numpy as np


def disagrees(function, derivative, inputs):
    gradient = np.float32(1.5)
    found = derivative(*inputs, gradient)
    found = found if isinstance(found, tuple) else (found,)
    slopes = [finite_difference(function, inputs, i) for i in range(len(inputs))]
    allowed = 0.1 * max(1.0, *(abs(slope) for slope in slopes))
    return any(
        abs(float(got) - float(gradient) * slope) > allowed
        for got, slope in zip(found, slopes, strict=True)
    )
