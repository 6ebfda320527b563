"""The squares are added up and not divided."""
# caught by: cpu_loop
# diagnosis: sum, not mean

import numpy as np
from numba import float32


def shrink_on_cpu(image, factor):
    height, width = image.shape[0] // factor, image.shape[1] // factor
    small = np.empty((height, width), np.float32)
    for y in range(height):
        for x in range(width):
            total = float32(0)
            for row in range(y * factor, (y + 1) * factor):
                for column in range(x * factor, (x + 1) * factor):
                    total += image[row, column]
            small[y, x] = total
    return small
