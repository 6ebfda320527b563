"""The corners of the pixels instead of their centres: the picture is half a pixel off."""
# caught by: pixel_centres
# diagnosis: corner

from numba import cuda, float32


@cuda.jit
def pixel_centres(first_pixel, width, height, uv):
    sample = cuda.grid(1)
    if sample >= uv.shape[0]:
        return

    pixel = first_pixel + sample
    uv[sample, 0] = float32(pixel % width) / float32(width)
    uv[sample, 1] = float32(min(pixel // width, height - 1)) / float32(height)
