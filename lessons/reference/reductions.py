"""What lesson 11's kernels should compute, in float64 NumPy, written from the definitions.

Imports nothing of ours. Inputs may be float32; sums are float64, indices and counts int64.
"""

import numpy as np


def total(values):
    """The sum of values (n,): (1,) float64."""
    return np.array([np.asarray(values, np.float64).sum()])


def group_sums(values, lanes):
    """(n,) float64: for each of values (n,), the sum of its group of `lanes` neighbours."""
    values = np.asarray(values, np.float64)
    group = np.arange(values.size) // lanes
    return np.bincount(group, values)[group]


def largest(values):
    """(1,): the maximum of values (n,); NaN if there is one, as in NumPy."""
    return np.array([np.asarray(values).max()], np.float64)


def argmax(values):
    """(1,): the lowest index of the maximum, or of the first NaN, as in NumPy."""
    return np.array([np.asarray(values).argmax()])


def column_sums(matrix):
    """(columns,) float64, of matrix (rows, columns)."""
    return np.asarray(matrix, np.float64).sum(axis=0)


def running_sums(counts):
    """(n,) int64: the sum of counts (n,) up to each, itself included."""
    return np.cumsum(np.asarray(counts, np.int64))


def level(running, per_mille):
    """The first bin up to which so many of 1,000 pixels lie, and at least one.

    The inverse of the cumulative distribution, without rounding: Hyndman and Fan, "Sample quantiles
    in statistical packages", The American Statistician 50 (1996), definition 1.
    """
    pixels = int(running[-1])
    wanted = max(1, -(-pixels * int(per_mille) // 1000))
    return int(np.searchsorted(running, wanted))


def stretch(colours, dark, bright):
    """float64: colours with `dark` at 0 and `bright` at 1, cut off there."""
    return np.clip((np.asarray(colours, np.float64) - dark) / (bright - dark), 0, 1)


def auto_contrast(image, bins, per_mille):
    """(stretched (H, W, 3) float64, (dark, bright) bins) of image (H, W, 3) in [0, 1].

    per_mille: two shares of the pixels, such as (5, 995). Brightness as in ITU-R BT.709.
    """
    brightness = np.asarray(image, np.float64) @ (0.2126, 0.7152, 0.0722)
    which = np.minimum((brightness * bins).astype(int), bins - 1)
    running = running_sums(np.bincount(which.ravel(), minlength=bins))
    dark, bright = (level(running, share) for share in per_mille)
    return stretch(image, dark / bins, (bright + 1) / bins), (dark, bright)
