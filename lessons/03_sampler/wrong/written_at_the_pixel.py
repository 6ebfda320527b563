"""The result is written at the number of the pixel."""
# caught by: pixel_centres
# diagnosis: added to the index

from numba import cuda

from kernels.field_math import pixel_centre


@cuda.jit
def pixel_centres(first_pixel, width, height, uv):
    i = cuda.grid(1)
    if i >= uv.shape[0]:
        return
    u, v = pixel_centre(first_pixel + i, width, height)
    uv[first_pixel + i, 0] = u
    uv[first_pixel + i, 1] = v
