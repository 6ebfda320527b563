"""Convolution and pooling in plain float64 NumPy, written from the equations; see lesson 17.

Nothing is imported from `kernels/`. Shape tags: B images, H x W pixels, C channels, F filters of
K x K places.
"""

import numpy as np


def output_size(pixels, side, stride, padding):
    """How many places a filter takes along an axis."""
    return (pixels + 2 * padding - side) // stride + 1


def looked_at(pixels, side, stride, padding):
    """For each place of a filter's tap: a slice of the padded axis, one number per output."""
    count = output_size(pixels, side, stride, padding)
    return [slice(k, k + (count - 1) * stride + 1, stride) for k in range(side)]


def convolve(images, filters, bias, stride=1, padding=1):
    """(B, rows, columns, F) of images (B, H, W, C), filters (K, K, C, F), bias (F,)."""
    padded, downs, acrosses = prepare(images, filters.shape[0], stride, padding)
    total = np.asarray(bias, float)
    for ky, down in enumerate(downs):
        for kx, across in enumerate(acrosses):
            total = total + padded[:, down, across] @ np.asarray(filters[ky, kx], float)
    return total


def image_gradients(deltas, filters, stride, padding, shape):
    """(B, H, W, C), the shape: the gradient of sum(deltas * convolve(images))."""
    padded, downs, acrosses = prepare(np.zeros(shape), filters.shape[0], stride, padding)
    for ky, down in enumerate(downs):
        for kx, across in enumerate(acrosses):
            padded[:, down, across] += np.asarray(deltas, float) @ filters[ky, kx].T
    return padded[:, padding : padding + shape[1], padding : padding + shape[2]]


def filter_gradients(images, deltas, side, stride, padding):
    """(K * K * C + 1, F): the gradient of the filters, and of the bias in the last row."""
    padded, downs, acrosses = prepare(images, side, stride, padding)
    deltas = np.asarray(deltas, float)
    taps = [
        np.einsum("byxc,byxf->cf", padded[:, down, across], deltas)
        for down in downs
        for across in acrosses
    ]
    return np.concatenate([*taps, deltas.sum(axis=(0, 1, 2))[np.newaxis]])


def prepare(images, side, stride, padding):
    """The images with zeros around them, and what each row and column of taps looks at."""
    edge = padding, padding
    padded = np.pad(np.asarray(images, float), ((0, 0), edge, edge, (0, 0)))
    downs, acrosses = (looked_at(n, side, stride, padding) for n in images.shape[1:3])
    return padded, downs, acrosses


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
