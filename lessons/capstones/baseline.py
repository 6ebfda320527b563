"""What a bilinear grid does with as many numbers: the picture made small, and large again."""

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
