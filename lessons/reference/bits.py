"""A picture in few bits, in plain float64 NumPy and Python's whole numbers; see lesson 20.

Nothing is imported from `kernels/`. Shape tags: N values, M words, K cells, B texels.
"""

import numpy as np

from lessons.reference import encode, sigmoid

INPUTS, HIDDEN, COLOURS = 14, 32, 3


def levels_of(values, bits):
    """(N,) int64: the nearest of 2^bits levels between -1 and 1; what is beyond is clipped."""
    clipped = np.clip(np.asarray(values, float), -1, 1)
    return np.floor((clipped + 1) / 2 * (2**bits - 1) + 0.5).astype(np.int64)


def values_of(levels, bits):
    return np.asarray(levels) * 2 / (2**bits - 1) - 1


def followed(values, quantised, moved):
    """(N,): what happened to the rounded values happens to the exact ones, but for clipped ones."""
    inside = np.abs(values) <= 1
    return values + np.where(inside, np.asarray(moved, float) - quantised, 0)


def packed(levels, bits):
    """(M,) uint32: one whole number with all levels, the first one lowest, cut into words."""
    number = sum(int(level) << i * bits for i, level in enumerate(levels))
    count = -(-len(levels) * bits // 32)
    return np.array([number >> 32 * i & 0xFFFFFFFF for i in range(count)], np.uint32)


def decode(grid, weights, width, height, texels):
    """(B, 3): the colours of texels, numbered row by row. grid: (rows, columns, 3), its values.

    weights: (1568,), each layer's matrix (14 x 32, 32 x 32, 32 x 3), row by row.
    """
    uv = np.stack([texels % width / width, texels // width / height], axis=1)
    uv += [0.5 / width, 0.5 / height]
    activations = encode(uv, np.asarray(grid, float))[:, :INPUTS]
    begin = 0
    for inputs, outputs in ((INPUTS, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, COLOURS)):
        end = begin + inputs * outputs
        sums = activations @ np.asarray(weights[begin:end], float).reshape(inputs, outputs)
        activations, begin = np.maximum(sums, 0), end
    return sigmoid(sums)
