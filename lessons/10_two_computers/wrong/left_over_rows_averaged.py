"""Rows and columns that do not fill a square are averaged into the last squares."""
# caught by: cpu_loop
# diagnosis: rows and columns left over

import numpy as np


def shrink_on_cpu(image, factor):
    rows, cols = image.shape[0] // factor, image.shape[1] // factor
    totals = np.zeros((rows, cols), np.float32)
    counts = np.zeros((rows, cols), np.float32)
    for r in range(image.shape[0]):
        i = min(r // factor, rows - 1)
        for c in range(image.shape[1]):
            j = min(c // factor, cols - 1)
            totals[i, j] += image[r, c]
            counts[i, j] += 1
    return totals / counts
