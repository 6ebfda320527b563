"""The guard asks whether the pixel is in the picture, not whether uv has a row for it."""
# caught by: pixel_centres
# diagnosis: out-of-bounds

from numba import cuda

from kernels.field_math import pixel_centre


@cuda.jit
def pixel_centres(first_pixel, width, height, uv):
    thread = cuda.grid(1)
    pixel = first_pixel + thread
    if pixel >= width * height:
        return
    u, v = pixel_centre(pixel, width, height)
    uv[thread, 0] = u
    uv[thread, 1] = v
