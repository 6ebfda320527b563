"""A thread goes over the picture in steps as wide as the grid."""

from numba import cuda, float32


@cuda.jit
def shrink(image, small, factor):
    first_x, first_y = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for y in range(first_y, small.shape[0], step_y):
        for x in range(first_x, small.shape[1], step_x):
            total = float32(0)
            for dy in range(factor):
                for dx in range(factor):
                    total += image[y * factor + dy, x * factor + dx]
            small[y, x] = total / float32(factor * factor)
