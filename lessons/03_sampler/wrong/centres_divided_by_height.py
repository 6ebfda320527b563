"""The row is pixel // height."""
# caught by: pixel_centres
# diagnosis: divided by height

from numba import cuda, float32


@cuda.jit
def pixel_centres(first_pixel, width, height, uv):
    i = cuda.grid(1)
    if i >= uv.shape[0]:
        return
    pixel = first_pixel + i
    row = min(pixel // height, height - 1)
    uv[i, 0] = (float32(pixel % width) + float32(0.5)) / float32(width)
    uv[i, 1] = (float32(row) + float32(0.5)) / float32(height)
