"""The results are made of the pinned arrays' buffers, and nobody waits."""
# caught by: queue
# diagnosis: unsynchronised

import numpy as np
from numba import cuda

from kernels.image_ops import grayscale
from kernels.transfers.block_shapes import blocks_to_cover
from kernels.transfers.host_code import BLOCK


def gray_in_a_queue(photos):
    queue = cuda.stream()
    pinned, still_needed = [], []
    for photo in photos:
        height, width, _ = photo.shape
        photo_on_gpu = cuda.to_device(photo, stream=queue)
        gray_on_gpu = cuda.device_array((height, width), np.float32, stream=queue)
        blocks = blocks_to_cover((width, height), BLOCK)
        grayscale[blocks, BLOCK, queue](photo_on_gpu, gray_on_gpu)
        gray = cuda.pinned_array((height, width), np.float32)
        gray_on_gpu.copy_to_host(gray, stream=queue)
        pinned.append(gray)
        still_needed += [photo_on_gpu, gray_on_gpu]
    return [np.ndarray(gray.shape, np.float32, gray.data).copy() for gray in pinned]
