"""v is counted from the bottom, as in a plot."""
# caught by: pixel_centres
# diagnosis: v is 1 - (row + 0.5) / height, and should be (row + 0.5) / height

from numba import cuda, float32

from kernels.field_math import pixel_centre


@cuda.jit
def pixel_centres(first_pixel, width, height, uv):
    i = cuda.grid(1)
    if i >= uv.shape[0]:
        return
    u, v = pixel_centre(first_pixel + i, width, height)
    uv[i, 0] = u
    uv[i, 1] = float32(1) - v
