"""A slope passes if it goes up where the function does, and down where that does."""
# caught by: wrong_derivative
# diagnosis: only a direction or a sign is compared

import numpy as np


def disagrees(function, derivative, inputs):
    claimed = derivative(*inputs, np.float32(-1.5))
    claimed = claimed if isinstance(claimed, tuple) else (claimed,)
    if len(claimed) != len(inputs):
        return True
    for position, slope in enumerate(claimed):
        measured = -1.5 * finite_difference(function, inputs, position)
        if not np.sign(slope) == np.sign(measured) and not abs(slope - measured) < 0.01:
            return True
    return False
