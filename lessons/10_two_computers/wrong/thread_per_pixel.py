"""Each number of the large image has a thread, and the first of each square makes the mean."""
# caught by: shrink
# diagnosis: threads of the image

from numba import cuda, float32


@cuda.jit
def shrink(image, small, factor):
    x, y = cuda.grid(2)
    height, width = image.shape
    if y >= height // factor * factor or x >= width // factor * factor:
        return
    begins_a_square = y % factor == 0 and x % factor == 0
    if begins_a_square:
        total = float32(0)
        for down in range(factor):
            for along in range(factor):
                total += image[y + down, x + along]
        small[y // factor, x // factor] = total / float32(factor * factor)
