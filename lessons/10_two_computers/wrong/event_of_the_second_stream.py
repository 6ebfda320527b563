"""The event is recorded in the stream that waits for it."""
# caught by: two_streams
# diagnosis: recorded on this stream itself

import numpy as np
from numba import cuda

from kernels.image_ops import grayscale
from kernels.transfers.block_shapes import blocks_to_cover, shrink
from kernels.transfers.host_code import BLOCK


def gray_half_quarter(photo):
    h, w = photo.shape[:2]
    first, second = cuda.stream(), cuda.stream()
    done = cuda.event()
    d_photo = cuda.to_device(photo, stream=first)
    d_gray = cuda.device_array((h, w), np.float32)
    d_half = cuda.device_array((h // 2, w // 2), np.float32)
    d_quarter = cuda.device_array((h // 4, w // 4), np.float32)
    gray = cuda.pinned_array(d_gray.shape, np.float32)
    half = cuda.pinned_array(d_half.shape, np.float32)
    quarter = cuda.pinned_array(d_quarter.shape, np.float32)

    grayscale[blocks_to_cover((w, h), BLOCK), BLOCK, first](d_photo, d_gray)
    done.record(second)
    done.wait(second)
    shrink[blocks_to_cover((w // 2, h // 2), BLOCK), BLOCK, first](d_gray, d_half, 2)
    shrink[blocks_to_cover((w // 4, h // 4), BLOCK), BLOCK, second](d_gray, d_quarter, 4)
    d_gray.copy_to_host(gray, stream=first)
    d_half.copy_to_host(half, stream=first)
    d_quarter.copy_to_host(quarter, stream=second)
    first.synchronize()
    second.synchronize()
    return gray, half, quarter
