"""The gradients are compared by the angle between them: their size does not matter."""
# caught by: wrong_derivative
# diagnosis: only a direction or a sign is compared

import numpy as np


def disagrees(function, derivative, inputs):
    measured = np.array([finite_difference(function, inputs, i) for i in range(len(inputs))])
    for gradient in (1.0, -2.0, 0.5):
        claimed = derivative(*inputs, np.float32(gradient))
        claimed = np.atleast_1d(np.array(claimed, dtype=np.float64))
        if claimed.shape != measured.shape or not np.isfinite(claimed).all():
            return True
        expected = gradient * measured
        lengths = np.linalg.norm(claimed) * np.linalg.norm(expected)
        if claimed @ expected / max(lengths, 1e-12) < 0.9999:
            return True
    return False
