"""How close a picture comes to the original: the peak signal-to-noise ratio, in decibels."""

import math

import numpy as np


def psnr(picture: np.ndarray, image: np.ndarray) -> float:
    """PSNR in dB of two float images of one shape in [0, 1], before any rounding to 8 bits."""
    return psnr_of_loss(mean_squared_error(picture, image))


def mean_squared_error(picture: np.ndarray, image: np.ndarray) -> float:
    """Over all pixels and colours of two float images of one shape."""
    difference = picture.astype(np.float64) - image
    return float(np.mean(difference * difference))


def psnr_of_loss(loss: float) -> float:
    """PSNR in dB of a mean squared error on colours in [0, 1]; infinity for no error at all."""
    return math.inf if loss == 0 else -10 * math.log10(loss)


def psnr_label(psnr: float) -> str:
    """A PSNR in dB as text: "28.91 dB"; "exact" where there is no error, "diverged" for NaN."""
    if math.isfinite(psnr):
        return f"{psnr:.2f} dB"
    return "exact" if psnr == math.inf else "diverged"
