"""What a bilinear grid does with as many numbers: the picture made small, and large again."""

import math

import numpy as np

from kernels.files.psnr import psnr
from kernels.image_ops import downsample, launch_over_pixels, upsample
from lessons.capstones.device import Device


def bilinear_psnr(image: np.ndarray, columns: int, rows: int, device: Device) -> float:
    """PSNR in dB of image (H, W, 3), made as small as columns x rows, and as large again."""
    small, large = device.empty((rows, columns, 3)), device.empty(image.shape)
    launch_over_pixels(downsample, device.to_device(image), small, device.launch)
    launch_over_pixels(upsample, small, large, device.launch)
    return psnr(device.to_host(large), image)


def bilinear_of_numbers(image: np.ndarray, numbers: int, device: Device) -> tuple[str, float]:
    """What so many numbers do without a network, three to a cell of a bilinear grid.

    Returns the size, and its PSNR in dB; infinity if the picture has no more pixels than that.
    """
    height, width, _ = image.shape
    scale = math.sqrt(numbers / 3 / (width * height))
    if scale >= 1:
        return f"{width}x{height}", math.inf
    columns, rows = max(1, round(width * scale)), max(1, round(height * scale))
    return f"{columns}x{rows}", bilinear_psnr(image, columns, rows, device)
