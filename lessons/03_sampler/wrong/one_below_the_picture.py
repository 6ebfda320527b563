"""The guard stops pixels below the picture, all but the first of them."""
# caught by: pixel_centres
# diagnosis: uv[4058] is never written

from numba import cuda, int64

from kernels.field_math import pixel_centre


@cuda.jit
def pixel_centres(first_pixel, width, height, uv):
    i = cuda.grid(1)
    if i >= uv.shape[0]:
        return
    pixel = first_pixel + i
    if pixel > int64(width) * int64(height):
        return
    u, v = pixel_centre(pixel, width, height)
    uv[i, 0] = u
    uv[i, 1] = v
