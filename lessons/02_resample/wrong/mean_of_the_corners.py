"""Of each cell, only the four pixels at its corners count, each as far as it is covered."""
# caught by: downsample
# diagnosis: only the first and the last pixel of the cell count

from numba.extending import register_jitable


@register_jitable
def area_average(image, column, row, columns, rows, channel):
    height, width, _ = image.shape
    y0, y1 = row * height // rows, ((row + 1) * height - 1) // rows
    x0, x1 = column * width // columns, ((column + 1) * width - 1) // columns
    top = overlap(row, rows, y0, height)
    bottom = overlap(row, rows, y1, height)
    left = overlap(column, columns, x0, width)
    right = overlap(column, columns, x1, width)
    total = top * left * image[y0, x0, channel] + top * right * image[y0, x1, channel]
    total += bottom * left * image[y1, x0, channel] + bottom * right * image[y1, x1, channel]
    return total / ((top + bottom) * (left + right))
