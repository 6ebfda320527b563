"""Every thread makes the whole picture. All write the same values, so no race is seen."""
# points: 2

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    for j in range(gray.shape[0]):
        for i in range(gray.shape[1]):
            gray[j, i] = luminance(image[j, i, 0], image[j, i, 1], image[j, i, 2])
