"""The loops begin within the block and step by its size, so every block makes the picture."""
# caught by: one_thread_per_pixel
# diagnosis: every block goes through the whole picture

from numba import cuda, float32
from numba.extending import register_jitable


@register_jitable
def luminance(red, green, blue):
    return float32(0.2126) * red + float32(0.7152) * green + float32(0.0722) * blue


@cuda.jit
def grayscale(image, gray):
    h = gray.shape[0]
    w = gray.shape[1]
    j = cuda.threadIdx.y
    while j < h:
        i = cuda.threadIdx.x
        while i < w:
            gray[j, i] = luminance(image[j, i, 0], image[j, i, 1], image[j, i, 2])
            i += cuda.blockDim.x
        j += cuda.blockDim.y
