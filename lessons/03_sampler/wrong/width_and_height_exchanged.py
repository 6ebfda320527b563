"""pixel_centre gets the height first."""
# caught by: pixel_centres
# diagnosis: width and height exchanged

from numba import cuda

from kernels.field_math import pixel_centre


@cuda.jit
def pixel_centres(first_pixel, width, height, uv):
    i = cuda.grid(1)
    if i >= uv.shape[0]:
        return
    u, v = pixel_centre(first_pixel + i, height, width)
    uv[i, 0] = u
    uv[i, 1] = v
