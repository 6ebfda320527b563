"""The number of values is not compared: NumPy stretches one over all of the inputs."""
# caught by: wrong_derivative
# diagnosis: compare the lengths

import numpy as np


def disagrees(function, derivative, inputs):
    slopes = np.array([finite_difference(function, inputs, i) for i in range(len(inputs))])
    tolerance = 0.01 * max(1.0, np.abs(slopes).max())
    gradients = np.array([1.0, -1.0, 2.5], dtype=np.float32)
    for gradient in gradients:
        values = np.asarray(derivative(*inputs, gradient), dtype=np.float64)
        error = np.abs(values - float(gradient) * slopes)
        if not np.all(error <= tolerance * abs(float(gradient))):
            return True
    return False
