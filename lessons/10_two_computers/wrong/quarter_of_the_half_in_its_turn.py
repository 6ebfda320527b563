"""The quarter is made of the half, and waits for it as it must: nothing runs side by side."""
# caught by: two_streams
# diagnosis: Make both of gray

import numpy as np
from numba import cuda

from kernels.image_ops import grayscale
from kernels.transfers.block_shapes import blocks_to_cover, shrink
from kernels.transfers.host_code import BLOCK


def gray_half_quarter(photo):
    h, w = photo.shape[:2]
    first = cuda.stream()
    second = cuda.stream()
    half_done = cuda.event()

    d_photo = cuda.to_device(photo, stream=first)
    d_gray = cuda.device_array((h, w), np.float32)
    d_half = cuda.device_array((h // 2, w // 2), np.float32)
    d_quarter = cuda.device_array((h // 4, w // 4), np.float32)

    grayscale[blocks_to_cover((w, h), BLOCK), BLOCK, first](d_photo, d_gray)
    shrink[blocks_to_cover((w // 2, h // 2), BLOCK), BLOCK, first](d_gray, d_half, 2)
    half_done.record(first)
    half_done.wait(second)
    shrink[blocks_to_cover((w // 4, h // 4), BLOCK), BLOCK, second](d_half, d_quarter, 2)

    results = []
    for array, stream in ((d_gray, first), (d_half, first), (d_quarter, second)):
        result = cuda.pinned_array(array.shape, np.float32)
        array.copy_to_host(result, stream=stream)
        results.append(result)
    first.synchronize()
    second.synchronize()
    return tuple(results)
