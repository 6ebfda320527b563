"""Numbers that follow each other in memory are taken for a square."""
# caught by: cpu_loop
# diagnosis: numbers as they lie in memory

import numpy as np


def shrink_on_cpu(image, factor):
    height, width = image.shape[0] // factor, image.shape[1] // factor
    cut = image[: height * factor, : width * factor]
    squares = cut.reshape(height, width, factor, factor)
    return squares.mean(axis=(2, 3), dtype=np.float32)
