"""The loop goes on by a block, not by the grid: threads share pixels."""
# caught by: pixel_centres
# diagnosis: and goes on by a block

from numba import cuda

from kernels.field_math import pixel_centre


@cuda.jit
def pixel_centres(first_pixel, width, height, uv):
    for place in range(cuda.grid(1), uv.shape[0], cuda.blockDim.x):
        centre = pixel_centre(place + first_pixel, width, height)
        for axis in range(2):
            uv[place, axis] = centre[axis]
