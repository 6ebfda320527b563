"""u and v are stored in the wrong order."""
# caught by: pixel_centres
# diagnosis: axes exchanged

from numba import cuda

from kernels.field_math import pixel_centre


@cuda.jit
def pixel_centres(first_pixel, width, height, uv):
    sample = cuda.grid(1)
    if sample >= uv.shape[0]:
        return

    uv[sample, 1], uv[sample, 0] = pixel_centre(first_pixel + sample, width, height)
