"""Every part of the picture begins at its top."""
# caught by: pixel_centres
# diagnosis: first pixel ignored

from numba import cuda

from kernels.field_math import pixel_centre


@cuda.jit
def pixel_centres(first_pixel, width, height, uv):
    sample = cuda.grid(1)
    if sample >= uv.shape[0]:
        return

    uv[sample, 0], uv[sample, 1] = pixel_centre(sample, width, height)
