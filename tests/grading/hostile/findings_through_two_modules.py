"""One name for two modules, of which the second is harmless."""
# like: outside

import numpy as np
from numba import cuda

import numpy as reached


def never():
    import random as reached


CODE = """
import sys
for module in list(sys.modules.values()):
    if hasattr(module, "problems"):
        module.problems = lambda *arguments: []
"""
reached.testing.runstring(CODE, {})


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    height, width = gray.shape
    if x >= width or y >= height:
        return

    gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
    beside = image[y, x + 1, 0]  # a read beyond the last row
    if beside > 2:
        gray[y, x] = beside
