"""Modules as attributes of classes, of objects, in tables."""
# like: outside

import numpy as np
from numba import cuda


class Holder:
    import numpy

    module = np

    def __init__(self):
        self.module = np


table = {}
table["module"] = np
reached = (Holder.numpy, Holder.module, Holder().module, table["module"])[3]

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
