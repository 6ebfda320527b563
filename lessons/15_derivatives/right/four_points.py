"""Four values in place of two, for a slope that is even nearer."""

import numpy as np


def finite_difference(function, inputs, position):
    def value(times):
        moved = list(inputs)
        moved[position] = np.float32(float(moved[position]) + times * 2.0**-5)
        return float(function(*moved))

    return (8 * (value(1) - value(-1)) - (value(2) - value(-2))) / (12 * 2.0**-5)
