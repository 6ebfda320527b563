"""The squares begin at y and x, not at y * factor and x * factor."""
# caught by: cpu_loop
# diagnosis: squares overlap

import numpy as np
from numba import float32


def shrink_on_cpu(image, factor):
    height, width = image.shape[0] // factor, image.shape[1] // factor
    small = np.empty((height, width), np.float32)
    for y in range(height):
        for x in range(width):
            total = float32(0)
            for row in range(y, y + factor):
                for column in range(x, x + factor):
                    total += image[row, column]
            small[y, x] = total / float32(factor * factor)
    return small
