"""Centres by divmod, clamped at the last row."""

from numba import cuda, float32


@cuda.jit
def pixel_centres(first_pixel, width, height, uv):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i >= uv.shape[0]:
        return
    row, column = divmod(first_pixel + i, width)
    if row > height - 1:
        row = height - 1
    uv[i, 0] = (float32(column) + float32(0.5)) / float32(width)
    uv[i, 1] = (float32(row) + float32(0.5)) / float32(height)
