"""Threads whose pixel lies below the picture return, though uv has a row for them."""
# caught by: pixel_centres
# diagnosis: below the picture

from numba import cuda

from kernels.field_math import pixel_centre


@cuda.jit
def pixel_centres(first_pixel, width, height, uv):
    i = cuda.grid(1)
    pixel = first_pixel + i
    if i >= uv.shape[0] or pixel >= width * height:
        return
    u, v = pixel_centre(pixel, width, height)
    uv[i, 0] = u
    uv[i, 1] = v
