"""A pinned array is used again for each photograph of the same size."""
# caught by: queue
# diagnosis: the last photograph

import numpy as np
from numba import cuda

from kernels.image_ops import grayscale
from kernels.transfers.block_shapes import blocks_to_cover
from kernels.transfers.host_code import BLOCK


def gray_in_a_queue(photos):
    queue = cuda.stream()
    results = []
    keep = []
    result = None
    for photo in photos:
        height, width = photo.shape[:2]
        if result is None or result.shape != (height, width):
            result = cuda.pinned_array((height, width), np.float32)
        there = cuda.to_device(photo, stream=queue)
        gray = cuda.device_array((height, width), np.float32, stream=queue)
        grayscale[blocks_to_cover((width, height), BLOCK), BLOCK, queue](there, gray)
        gray.copy_to_host(result, stream=queue)
        keep.append((there, gray))
        results.append(result)
    queue.synchronize()
    return results
