"""Where slopes are large, so are the errors of their finite differences."""
# caught by: wrong_derivative
# diagnosis: accuses a right one

import numpy as np


def disagrees(function, derivative, inputs):
    gradient = np.float32(1.5)
    found = derivative(*inputs, gradient)
    found = found if isinstance(found, tuple) else (found,)
    slopes = [finite_difference(function, inputs, i) for i in range(len(inputs))]
    allowed = 1e-4
    return any(
        abs(float(got) - float(gradient) * slope) > allowed
        for got, slope in zip(found, slopes, strict=True)
    )
