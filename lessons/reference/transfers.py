"""The reference of lesson 10 in float64 NumPy: means of squares, colours times their gains."""

import numpy as np


def shrink(image, factor):
    """Means of factor x factor numbers of image (H, W): (H // factor, W // factor) float64."""
    height, width = (size // factor for size in image.shape)
    used = np.asarray(image, np.float64)[: height * factor, : width * factor]
    return used.reshape(height, factor, width, factor).mean(axis=(1, 3))


def tint(image, gains):
    """image (H, W, C), each channel times its gain, at most 1."""
    return np.minimum(np.asarray(image, np.float64) * np.asarray(gains, np.float64), 1.0)
