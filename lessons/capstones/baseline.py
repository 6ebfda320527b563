"""What a bilinear grid does with as many numbers: the picture made small, and large again."""

import math
from typing import NamedTuple

import numpy as np

from kernels.files.psnr import psnr
from kernels.image_ops import downsample, launch_over_pixels, upsample
from lessons.capstones.device import Device


class Baseline(NamedTuple):
    """size: of the grid, such as "97x66". psnr: in dB. picture: (H, W, 3) float32."""

    size: str
    psnr: float
    picture: np.ndarray


def bilinear_of_numbers(image: np.ndarray, numbers: int, device: Device) -> Baseline:
    """What so many numbers do without a network, three to a cell of a bilinear grid.

    Its PSNR is infinity, and the picture the original, if that has no more pixels than cells.
    """
    height, width, _ = image.shape
    scale = math.sqrt(numbers / 3 / (width * height))
    if scale >= 1:
        return Baseline(f"{width}x{height}", math.inf, image)
    columns, rows = max(1, round(width * scale)), max(1, round(height * scale))
    small, large = device.empty((rows, columns, 3)), device.empty(image.shape)
    launch_over_pixels(downsample, device.to_device(image), small, device.launch)
    launch_over_pixels(upsample, small, large, device.launch)
    picture = device.to_host(large)
    return Baseline(f"{columns}x{rows}", psnr(picture, image), picture)
