"""Row and column are divided by the height."""
# caught by: pixel_centres
# diagnosis: made of something else

from numba import cuda, float32


@cuda.jit
def pixel_centres(first_pixel, width, height, uv):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < uv.shape[0]:
        pixel = first_pixel + i
        row = pixel // height
        if row > height - 1:
            row = height - 1
        column = pixel % height
        uv[i, 0] = (float32(column) + float32(0.5)) / float32(width)
        uv[i, 1] = (float32(row) + float32(0.5)) / float32(height)
