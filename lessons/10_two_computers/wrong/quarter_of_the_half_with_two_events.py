"""Half is made in the second stream, and the first one waits for it to make the quarter of it."""
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
    sizes = [(h, w), (h // 2, w // 2), (h // 4, w // 4)]
    there = [cuda.device_array(size, np.float32) for size in sizes]
    here = [cuda.pinned_array(size, np.float32) for size in sizes]
    d_photo = cuda.to_device(photo, stream=first)
    grayscale[blocks_to_cover((w, h), BLOCK), BLOCK, first](d_photo, there[0])
    mark, other = cuda.event(), cuda.event()
    mark.record(first)
    mark.wait(second)
    shrink[blocks_to_cover(sizes[1][::-1], BLOCK), BLOCK, second](there[0], there[1], 2)
    other.record(second)
    other.wait(first)
    shrink[blocks_to_cover(sizes[2][::-1], BLOCK), BLOCK, first](there[1], there[2], 2)
    other = cuda.event()
    other.record(first)
    other.wait(second)
    for a, b, stream in zip(there, here, (first, first, second), strict=True):
        a.copy_to_host(b, stream=stream)
    first.synchronize()
    second.synchronize()
    return tuple(here)
