"""A small pixel is the image's colour at its centre, not a mean."""
# caught by: downsample
# diagnosis: a blend at the centre

from numba import cuda

from kernels.field_math import pixel_centre


@cuda.jit
def downsample(image, small):
    x, y = cuda.grid(2)
    height, width, _ = small.shape
    if x >= width or y >= height:
        return

    u, v = pixel_centre(y * width + x, width, height)
    red, green, blue = bilinear(image, u, v)
    small[y, x, 0] = red
    small[y, x, 1] = green
    small[y, x, 2] = blue
