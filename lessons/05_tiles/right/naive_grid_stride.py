"""A grid-stride loop, and the sum over a row view."""

from numba import cuda, float32


@cuda.jit
def matmul_naive(a, b, c):
    first_column, first_row = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for row in range(first_row, c.shape[0], step_y):
        line = a[row]
        for column in range(first_column, c.shape[1], step_x):
            total = float32(0)
            for i in range(line.shape[0]):
                total += line[i] * b[i][column]
            c[row][column] = total
