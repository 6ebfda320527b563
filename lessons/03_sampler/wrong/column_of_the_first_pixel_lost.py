"""Of first_pixel only the row is used, as if a batch began at the start of a row."""
# caught by: pixel_centres
# diagnosis: Add the two first, then divide

from numba import cuda

from kernels.field_math import pixel_centre


@cuda.jit
def pixel_centres(first_pixel, width, height, uv):
    first_row = first_pixel // width
    for k in range(cuda.grid(1), uv.shape[0], cuda.blockDim.x * cuda.gridDim.x):
        frag_x = k % width
        frag_y = first_row + k // width
        u, v = pixel_centre(frag_y * width + frag_x, width, height)
        uv[k, 0] = u
        uv[k, 1] = v
