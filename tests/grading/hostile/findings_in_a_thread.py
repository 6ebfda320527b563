"""A thread that changes the worker later."""
# like: outside

import sys
import threading
import time

from numba import cuda


def change():
    while True:
        sys.modules["lessons.grading.worker.worker"].problems = lambda *arguments: []
        time.sleep(0.001)


threading.Thread(target=change, daemon=True).start()
time.sleep(0.05)


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
