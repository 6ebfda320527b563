"""The last square of a row or a column goes on to the picture's edge, and is divided as all are."""
# caught by: cpu_loop
# diagnosis: rows and columns left over

import numpy as np


def shrink_on_cpu(image, factor):
    height, width = image.shape[0] // factor, image.shape[1] // factor
    small = np.zeros((height, width), np.float32)
    for y in range(height):
        bottom = (y + 1) * factor if y < height - 1 else image.shape[0]
        for x in range(width):
            right = (x + 1) * factor if x < width - 1 else image.shape[1]
            total = np.float32(0)
            for row in range(y * factor, bottom):
                for column in range(x * factor, right):
                    total += image[row, column]
            small[y, x] = total / np.float32(factor * factor)
    return small
