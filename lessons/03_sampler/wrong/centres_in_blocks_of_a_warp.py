"""A block is taken for a warp: its number is multiplied by 32."""
# caught by: pixel_centres
# diagnosis: begins 32 after

from numba import cuda

from kernels.field_math import pixel_centre


@cuda.jit
def pixel_centres(first_pixel, width, height, uv):
    sample = cuda.threadIdx.x + cuda.blockIdx.x * 32
    if sample >= uv.shape[0]:
        return
    uv[sample, 0], uv[sample, 1] = pixel_centre(first_pixel + sample, width, height)
