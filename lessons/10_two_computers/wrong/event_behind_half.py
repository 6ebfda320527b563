"""The event is recorded behind the half, which the second stream then waits for, too."""
# caught by: two_streams
# diagnosis: recorded too late

import numpy as np
from numba import cuda

from kernels.image_ops import grayscale
from kernels.transfers.block_shapes import blocks_to_cover, shrink
from kernels.transfers.host_code import BLOCK


def gray_half_quarter(photo):
    height, width, _ = photo.shape
    first, second = cuda.stream(), cuda.stream()
    photo_on_gpu = cuda.to_device(photo, stream=first)
    gray_on_gpu = cuda.device_array((height, width), np.float32)
    half_on_gpu = cuda.device_array((height // 2, width // 2), np.float32)
    quarter_on_gpu = cuda.device_array((height // 4, width // 4), np.float32)

    blocks = blocks_to_cover((width, height), BLOCK)
    grayscale[blocks, BLOCK, first](photo_on_gpu, gray_on_gpu)
    blocks = blocks_to_cover((width // 2, height // 2), BLOCK)
    shrink[blocks, BLOCK, first](gray_on_gpu, half_on_gpu, 2)
    gray_is_there = cuda.event()
    gray_is_there.record(first)
    gray_is_there.wait(second)
    blocks = blocks_to_cover((width // 4, height // 4), BLOCK)
    shrink[blocks, BLOCK, second](gray_on_gpu, quarter_on_gpu, 4)

    gray = cuda.pinned_array((height, width), np.float32)
    half = cuda.pinned_array((height // 2, width // 2), np.float32)
    quarter = cuda.pinned_array((height // 4, width // 4), np.float32)
    gray_on_gpu.copy_to_host(gray, stream=first)
    half_on_gpu.copy_to_host(half, stream=first)
    quarter_on_gpu.copy_to_host(quarter, stream=second)
    first.synchronize()
    second.synchronize()
    return gray, half, quarter
