"""half is made of the photograph, not of gray."""
# caught by: two_streams
# diagnosis: takes a gray picture

import numpy as np
from numba import cuda

from kernels.image_ops import grayscale
from kernels.transfers.block_shapes import blocks_to_cover, shrink
from kernels.transfers.host_code import BLOCK


def gray_half_quarter(photo):
    first, second = cuda.stream(), cuda.stream()
    height, width = photo.shape[:2]
    there = cuda.to_device(photo, stream=first)
    gray = cuda.device_array((height, width), np.float32)
    half = cuda.device_array((height // 2, width // 2), np.float32)
    quarter = cuda.device_array((height // 4, width // 4), np.float32)
    grayscale[blocks_to_cover((width, height), BLOCK), BLOCK, first](there, gray)
    event = cuda.event()
    event.record(first)
    event.wait(second)
    shrink[blocks_to_cover((width // 2, height // 2), BLOCK), BLOCK, first](there, half, 2)
    shrink[blocks_to_cover((width // 4, height // 4), BLOCK), BLOCK, second](gray, quarter, 4)
    results = [cuda.pinned_array(a.shape, np.float32) for a in (gray, half, quarter)]
    gray.copy_to_host(results[0], stream=first)
    half.copy_to_host(results[1], stream=first)
    quarter.copy_to_host(results[2], stream=second)
    first.synchronize()
    second.synchronize()
    return tuple(results)
