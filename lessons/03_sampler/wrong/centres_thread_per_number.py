"""A thread for each number in place of each pixel: there are only as many threads as pixels."""
# caught by: pixel_centres
# diagnosis: it takes 2 to write a row

from numba import cuda

from kernels.field_math import pixel_centre


@cuda.jit
def pixel_centres(first_pixel, width, height, uv):
    k = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if k < 2 * uv.shape[0]:
        i = k // 2
        u, v = pixel_centre(first_pixel + i, width, height)
        if k % 2 == 0:
            uv[i, 0] = u
        else:
            uv[i, 1] = v
