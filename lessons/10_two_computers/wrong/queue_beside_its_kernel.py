"""The copies are in a queue, the kernel is in the default stream."""
# caught by: one_wait
# diagnosis: default stream

import numpy as np
from numba import cuda

from kernels.image_ops import grayscale
from kernels.transfers.block_shapes import blocks_to_cover
from kernels.transfers.host_code import BLOCK


def gray_in_a_queue(photos):
    queue = cuda.stream()
    results = []
    keep = []
    for photo in photos:
        height, width = photo.shape[:2]
        there = cuda.to_device(photo, stream=queue)
        gray = cuda.device_array((height, width), np.float32, stream=queue)
        result = cuda.pinned_array((height, width), np.float32)
        grayscale[blocks_to_cover((width, height), BLOCK), BLOCK](there, gray)
        gray.copy_to_host(result, stream=queue)
        keep.append((there, gray))
        results.append(result)
    queue.synchronize()
    return results
