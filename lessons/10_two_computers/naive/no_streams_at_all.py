"""Everything in the default stream: right, and the host waits for each copy."""
# points: 8

import numpy as np
from numba import cuda

from kernels.image_ops import grayscale
from kernels.transfers.block_shapes import blocks_to_cover, shrink
from kernels.transfers.host_code import BLOCK


def gray_in_a_queue(photos):
    grays = []
    for photo in photos:
        photo_on_gpu = cuda.to_device(photo)
        gray_on_gpu = cuda.device_array(photo.shape[:2], np.float32)
        blocks = blocks_to_cover(photo.shape[1::-1], BLOCK)
        grayscale[blocks, BLOCK](photo_on_gpu, gray_on_gpu)
        grays.append(gray_on_gpu.copy_to_host())
    return grays


def gray_half_quarter(photo):
    height, width, _ = photo.shape
    gray_on_gpu = cuda.device_array((height, width), np.float32)
    blocks = blocks_to_cover((width, height), BLOCK)
    grayscale[blocks, BLOCK](cuda.to_device(photo), gray_on_gpu)
    results = [gray_on_gpu]
    for factor in (2, 4):
        small_on_gpu = cuda.device_array((height // factor, width // factor), np.float32)
        shrink[blocks, BLOCK](gray_on_gpu, small_on_gpu, factor)
        results.append(small_on_gpu)
    return tuple(result.copy_to_host() for result in results)
