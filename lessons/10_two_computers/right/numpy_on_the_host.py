"""The host's loops are NumPy's; the kernel adds column by column."""

import numpy as np
from numba import cuda, float32


def shrink_on_cpu(image, factor):
    height, width = image.shape[0] // factor, image.shape[1] // factor
    used = image[: height * factor, : width * factor]
    return used.reshape(height, factor, width, factor).mean(axis=(1, 3), dtype=np.float32)


@cuda.jit
def shrink(image, small, factor):
    x, y = cuda.grid(2)
    height, width = small.shape
    if x >= width or y >= height:
        return

    total = float32(0)
    for column in range(x * factor, (x + 1) * factor):
        for row in range(y * factor, (y + 1) * factor):
            total += image[row, column]
    small[y, x] = total / float32(factor * factor)
