"""One pixel stands for its whole cell: fine lines vanish, or become too thick."""
# caught by: downsample
# diagnosis: nearest pixel

from numba import cuda

from kernels.config import COLOURS


@cuda.jit
def downsample(image, small):
    x, y = cuda.grid(2)
    height, width, _ = small.shape
    if x >= width or y >= height:
        return

    for channel in range(COLOURS):
        small[y, x, channel] = image[
            y * image.shape[0] // height, x * image.shape[1] // width, channel
        ]
