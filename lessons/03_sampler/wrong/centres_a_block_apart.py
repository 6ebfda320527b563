"""Neighbouring threads get pixels that are as far apart as there are blocks."""
# caught by: pixel_centres
# diagnosis: threadIdx.x * gridDim.x + blockIdx.x

from numba import cuda

from kernels.field_math import pixel_centre


@cuda.jit
def pixel_centres(first_pixel, width, height, uv):
    thread = cuda.grid(1)
    if thread >= uv.shape[0]:
        return
    pixel = first_pixel + cuda.threadIdx.x * cuda.gridDim.x + cuda.blockIdx.x
    u, v = pixel_centre(pixel, width, height)
    uv[thread, 0] = u
    uv[thread, 1] = v
