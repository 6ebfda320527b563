"""Each photograph has a stream of its own, and each is waited for."""
# caught by: one_wait
# diagnosis: several waits

import numpy as np
from numba import cuda

from kernels.image_ops import grayscale
from kernels.transfers.host_code import BLOCK


def gray_in_a_queue(photos):
    queues = []
    grays, still_needed = [], []
    for photo in photos:
        queue = cuda.stream()
        queues.append(queue)
        height, width, _ = photo.shape
        photo_on_gpu = cuda.to_device(photo, stream=queue)
        gray_on_gpu = cuda.device_array((height, width), np.float32, stream=queue)
        blocks = blocks_to_cover((width, height), BLOCK)
        grayscale[blocks, BLOCK, queue](photo_on_gpu, gray_on_gpu)
        gray = cuda.pinned_array((height, width), np.float32)
        gray_on_gpu.copy_to_host(gray, stream=queue)
        grays.append(gray)
        still_needed += [photo_on_gpu, gray_on_gpu]
    for queue in queues:
        queue.synchronize()
    return grays
