"""The quarter is made of the half, in a stream that has waited for the gray picture only."""
# caught by: two_streams
# diagnosis: both made of gray

import numpy as np
from numba import cuda

from kernels.image_ops import grayscale
from kernels.transfers.block_shapes import blocks_to_cover, shrink
from kernels.transfers.host_code import BLOCK


def gray_half_quarter(photo):
    height, width = photo.shape[:2]
    first, second = cuda.stream(), cuda.stream()
    mark = cuda.event()
    shapes = [(height // n, width // n) for n in (1, 2, 4)]
    gray_there, half_there, quarter_there = [cuda.device_array(s, np.float32) for s in shapes]
    gray, half, quarter = [cuda.pinned_array(s, np.float32) for s in shapes]
    blocks = [blocks_to_cover((s[1], s[0]), BLOCK) for s in shapes]

    photo_there = cuda.to_device(photo, stream=first)
    grayscale[blocks[0], BLOCK, first](photo_there, gray_there)
    mark.record(first)
    shrink[blocks[1], BLOCK, first](gray_there, half_there, 2)
    mark.wait(second)
    shrink[blocks[2], BLOCK, second](half_there, quarter_there, 2)

    gray_there.copy_to_host(gray, stream=first)
    half_there.copy_to_host(half, stream=first)
    quarter_there.copy_to_host(quarter, stream=second)
    for stream in (first, second):
        stream.synchronize()
    return gray, half, quarter
