"""The nearest small pixel is copied: the picture is made of squares."""
# caught by: upsample
# diagnosis: nearest pixel

from numba import cuda, float32, int32

from kernels.field_math import pixel_centre


@cuda.jit
def upsample(small, large):
    x, y = cuda.grid(2)
    height, width, _ = large.shape
    if x >= width or y >= height:
        return

    u, v = pixel_centre(y * width + x, width, height)
    row = int32(v * float32(small.shape[0]))
    column = int32(u * float32(small.shape[1]))
    large[y, x, 0] = small[row, column, 0]
    large[y, x, 1] = small[row, column, 1]
    large[y, x, 2] = small[row, column, 2]
