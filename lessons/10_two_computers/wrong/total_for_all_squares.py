"""total begins at zero once, and not for each square."""
# caught by: cpu_loop
# diagnosis: total never begins anew

import numpy as np


def shrink_on_cpu(image, factor):
    height, width = image.shape[0] // factor, image.shape[1] // factor
    small = np.empty((height, width), np.float32)
    total = np.float32(0)
    for y in range(height):
        for x in range(width):
            for dy in range(factor):
                for dx in range(factor):
                    total += image[y * factor + dy, x * factor + dx]
            small[y, x] = total / np.float32(factor * factor)
    return small
