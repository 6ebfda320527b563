"""The mean of the errors is compared, behind which a small one hides."""
# caught by: wrong_derivative
# diagnosis: a mean of both would hide it

import numpy as np


def disagrees(function, derivative, inputs):
    wanted = np.array([finite_difference(function, inputs, i) for i in range(len(inputs))])
    gradient = 2.0
    found = np.atleast_1d(np.array(derivative(*inputs, np.float32(gradient)), dtype=np.float64))
    if found.shape != wanted.shape or not np.isfinite(found).all():
        return True
    error = np.abs(found / gradient - wanted).mean()
    return bool(error > 0.01 * max(1.0, np.abs(wanted).max()))
