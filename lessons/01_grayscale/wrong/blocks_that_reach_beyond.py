"""The guard asks about the whole block, whose end has a name."""
# caught by: every_pixel
# diagnosis: does it stop the whole block

from numba import cuda, float32


@cuda.jit
def grayscale(image, gray):
    """gray (H, W) float32 from image (H, W, 3) float32; one thread per pixel."""
    height, width = gray.shape
    group_left = cuda.blockIdx.x * cuda.blockDim.x
    group_top = cuda.blockIdx.y * cuda.blockDim.y
    group_right = group_left + cuda.blockDim.x
    group_bottom = group_top + cuda.blockDim.y
    if group_right > width or group_bottom > height:
        return
    x = group_left + cuda.threadIdx.x
    y = group_top + cuda.threadIdx.y
    r = image[y, x, 0]
    g = image[y, x, 1]
    b = image[y, x, 2]
    gray[y, x] = luminance(r, g, b)
