"""first_pixel is added where the result is written, not where it is computed."""
# caught by: pixel_centres
# diagnosis: offset from the front

from numba import cuda

from kernels.field_math import pixel_centre


@cuda.jit
def pixel_centres(first_pixel, width, height, uv):
    i = cuda.grid(1)
    if i + first_pixel >= uv.shape[0]:
        return
    u, v = pixel_centre(i, width, height)
    uv[i + first_pixel, 0] = u
    uv[i + first_pixel, 1] = v
