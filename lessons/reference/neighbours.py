"""Convolution and pooling in plain float64 NumPy, written from the equations; see lesson 17.

Nothing is imported from `kernels/`. Shape tags: B images, H x W pixels, C channels, F filters of
K x K places.
"""

import numpy as np


def output_size(pixels, side, stride, padding):
    """How many places a filter takes along an axis."""
    return (pixels + 2 * padding - side) // stride + 1


def convolve(images, filters, bias, stride=1, padding=1):
    """(B, rows, columns, F) of images (B, H, W, C), filters (K, K, C, F), bias (F,)."""
    total = np.asarray(bias, float)
    _, taps = looked_at(images, filters.shape[0], stride, padding)
    for seen, weights in zip(taps, filters.reshape(-1, *filters.shape[2:]), strict=True):
        total = total + seen @ weights
    return total


def image_gradients(deltas, filters, stride, padding, shape):
    """(B, H, W, C), the shape: the gradient of sum(deltas * convolve(images))."""
    padded, taps = looked_at(np.zeros(shape), filters.shape[0], stride, padding)
    for seen, weights in zip(taps, filters.reshape(-1, *filters.shape[2:]), strict=True):
        seen += np.asarray(deltas, float) @ weights.T
    return padded[:, padding : padding + shape[1], padding : padding + shape[2]]


def filter_gradients(images, deltas, side, stride, padding):
    """(K * K * C + 1, F): the gradient of the filters, and of the bias in the last row."""
    deltas = np.asarray(deltas, float)
    _, taps = looked_at(images, side, stride, padding)
    gradients = [np.einsum("byxc,byxf->cf", seen, deltas) for seen in taps]
    return np.concatenate([*gradients, deltas.sum(axis=(0, 1, 2))[np.newaxis]])


def looked_at(images, side, stride, padding):
    """The images with zeros around them, and a view of them per tap: what it looks at."""
    edge = padding, padding
    padded = np.pad(np.asarray(images, float), ((0, 0), edge, edge, (0, 0)))
    rows, columns = (output_size(n, side, stride, padding) for n in images.shape[1:3])
    taps = [
        padded[:, ky : ky + rows * stride : stride, kx : kx + columns * stride : stride]
        for ky in range(side)
        for kx in range(side)
    ]
    return padded, taps


def windows(images):
    """(B, H // 2, W // 2, C, 4): the numbers of each window of 2 x 2, row by row."""
    height, width = (n // 2 * 2 for n in images.shape[1:3])
    corners = [images[:, y:height:2, x:width:2] for y in (0, 1) for x in (0, 1)]
    return np.stack(corners, axis=-1).astype(float)


def max_pool(images, least):
    """pooled (B, H // 2, W // 2, C), and winners, 0 to 3, or -1 where nothing is above `least`."""
    four = windows(images)
    largest = four.max(axis=-1)
    pooled = np.maximum(largest, least)
    return pooled, np.where(largest > least, four.argmax(axis=-1), -1)


def unpool(deltas, winners, shape):
    """(B, H, W, C), the shape: each delta where its winner was."""
    gradients = np.zeros(shape)
    height, width = (n // 2 * 2 for n in shape[1:3])
    for k in range(4):
        gradients[:, k // 2 : height : 2, k % 2 : width : 2] = np.where(winners == k, deltas, 0)
    return gradients
