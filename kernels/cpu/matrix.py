"""Matrix products for the CPU backend, on blocks of samples.

The idea: arrays are (channels, samples), and the innermost loop runs over samples, which lie side
by side: sixteen of them make one vector instruction. A core can do two multiply-adds in the time of
two loads. So a number, once loaded, should take part in several multiply-adds: both products work
on four inputs and four units at a time.

Sizes are multiples of four; `source` is (inputs, samples), `matrix` and `grad` (inputs, units).
"""

from numba import float32

from kernels.cpu.compile import compiled, compiled_reordered

# The matrix loops work on 4 x 4 weights at a time, so the three colours are computed as four
# outputs, and the gradient of the three grid channels as that of four features.
QUAD = 4


@compiled_reordered
def multiply(matrix, source, destination):
    """destination = matrix^T @ source, for (inputs, units), (inputs, samples), (units, samples).

    Each activation that is loaded meets four weights, and each sum that is loaded and stored gains
    four products.
    """
    destination[:] = float32(0)
    for unit in range(0, destination.shape[0], QUAD):
        for i in range(0, source.shape[0], QUAD):
            w00, w01, w02, w03 = row_of_four(matrix, i, unit)
            w10, w11, w12, w13 = row_of_four(matrix, i + 1, unit)
            w20, w21, w22, w23 = row_of_four(matrix, i + 2, unit)
            w30, w31, w32, w33 = row_of_four(matrix, i + 3, unit)
            for s in range(source.shape[1]):
                x0, x1, x2, x3 = source[i, s], source[i + 1, s], source[i + 2, s], source[i + 3, s]
                destination[unit, s] += w00 * x0 + w10 * x1 + w20 * x2 + w30 * x3
                destination[unit + 1, s] += w01 * x0 + w11 * x1 + w21 * x2 + w31 * x3
                destination[unit + 2, s] += w02 * x0 + w12 * x1 + w22 * x2 + w32 * x3
                destination[unit + 3, s] += w03 * x0 + w13 * x1 + w23 * x2 + w33 * x3


@compiled
def row_of_four(matrix, row, column):
    return (
        matrix[row, column],
        matrix[row, column + 1],
        matrix[row, column + 2],
        matrix[row, column + 3],
    )


@compiled_reordered
def add_outer(source, delta, grad):
    """grad += source @ delta^T, for (inputs, samples), (units, samples), (inputs, units).

    Sixteen sums run side by side, so that eight loads feed sixteen multiply-adds.
    """
    for i in range(0, source.shape[0], QUAD):
        for unit in range(0, delta.shape[0], QUAD):
            g00 = g01 = g02 = g03 = float32(0)
            g10 = g11 = g12 = g13 = float32(0)
            g20 = g21 = g22 = g23 = float32(0)
            g30 = g31 = g32 = g33 = float32(0)
            for s in range(source.shape[1]):
                x0, x1, x2, x3 = source[i, s], source[i + 1, s], source[i + 2, s], source[i + 3, s]
                d0, d1 = delta[unit, s], delta[unit + 1, s]
                d2, d3 = delta[unit + 2, s], delta[unit + 3, s]
                g00, g01, g02, g03 = g00 + x0 * d0, g01 + x0 * d1, g02 + x0 * d2, g03 + x0 * d3
                g10, g11, g12, g13 = g10 + x1 * d0, g11 + x1 * d1, g12 + x1 * d2, g13 + x1 * d3
                g20, g21, g22, g23 = g20 + x2 * d0, g21 + x2 * d1, g22 + x2 * d2, g23 + x2 * d3
                g30, g31, g32, g33 = g30 + x3 * d0, g31 + x3 * d1, g32 + x3 * d2, g33 + x3 * d3
            add_row_of_four(grad, i, unit, g00, g01, g02, g03)
            add_row_of_four(grad, i + 1, unit, g10, g11, g12, g13)
            add_row_of_four(grad, i + 2, unit, g20, g21, g22, g23)
            add_row_of_four(grad, i + 3, unit, g30, g31, g32, g33)


@compiled
def add_row_of_four(matrix, row, column, a, b, c, d):
    matrix[row, column] += a
    matrix[row, column + 1] += b
    matrix[row, column + 2] += c
    matrix[row, column + 3] += d
