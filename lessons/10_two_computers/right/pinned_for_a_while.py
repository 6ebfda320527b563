"""Ordinary arrays that are pinned as long as it takes; an event at the end of the queue."""

import numpy as np
from numba import cuda

from kernels.image_ops import grayscale
from kernels.transfers.block_shapes import blocks_to_cover
from kernels.transfers.host_code import BLOCK


def gray_in_a_queue(photos):
    queue, done = cuda.stream(), cuda.event()
    grays = [np.empty(photo.shape[:2], np.float32) for photo in photos]
    on_gpu = []
    with cuda.pinned(*photos, *grays):
        for photo, gray in zip(photos, grays, strict=True):
            photo_on_gpu = cuda.to_device(photo, queue)
            gray_on_gpu = cuda.device_array_like(gray, stream=queue)
            blocks = blocks_to_cover(gray.shape[::-1], BLOCK)
            grayscale[blocks, BLOCK, queue](photo_on_gpu, gray_on_gpu)
            gray_on_gpu.copy_to_host(gray, queue)
            on_gpu.append((photo_on_gpu, gray_on_gpu))
        done.record(queue)
        done.synchronize()
    return grays
