"""Rows and columns of first_pixel and of the sample are added, and none is carried over."""
# caught by: pixel_centres
# diagnosis: first_pixel % width + sample % width, not

from numba import cuda, float32


@cuda.jit
def pixel_centres(first_pixel, width, height, uv):
    sample = cuda.grid(1)
    if sample >= uv.shape[0]:
        return
    first_row, first_column = first_pixel // width, first_pixel % width
    column = first_column + sample % width
    row = min(first_row + sample // width, height - 1)
    uv[sample, 0] = (float32(column) + float32(0.5)) / float32(width)
    uv[sample, 1] = (float32(row) + float32(0.5)) / float32(height)
