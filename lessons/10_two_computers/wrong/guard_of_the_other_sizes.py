"""In the guard of tint the column is compared with the rows, and the row with the columns."""
# caught by: few_sectors
# diagnosis: with its own length

from numba import cuda, float32


@cuda.jit
def tint(image, gains, tinted):
    c, i, j = cuda.grid(3)
    height, width, colours = image.shape
    if c < colours and i < height and j < width:
        value = image[j, i, c] * gains[c]
        tinted[j, i, c] = value if value < float32(1) else float32(1)
