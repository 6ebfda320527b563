"""One thread makes the whole picture, the others go home: right, and no work for a GPU."""
# points: 2

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    if x == 0 and y == 0:
        for j in range(gray.shape[0]):
            for i in range(gray.shape[1]):
                gray[j, i] = luminance(image[j, i, 0], image[j, i, 1], image[j, i, 2])
