"""First all copies there, then all launches, then all copies back."""

import numpy as np
from numba import cuda

from kernels.image_ops import grayscale
from kernels.transfers.block_shapes import blocks_to_cover


def gray_in_a_queue(photos):
    queue = cuda.stream()
    with queue.auto_synchronize():
        there = [cuda.to_device(photo, stream=queue) for photo in photos]
        results = [cuda.device_array(photo.shape[:2], np.float32, stream=queue) for photo in photos]
        for photo_on_gpu, gray_on_gpu in zip(there, results, strict=True):
            height, width = gray_on_gpu.shape
            blocks = blocks_to_cover((width, height), (16, 16))
            grayscale[blocks, (16, 16), queue](photo_on_gpu, gray_on_gpu)
        grays = [cuda.pinned_array(gray.shape, np.float32) for gray in results]
        for gray_on_gpu, gray in zip(results, grays, strict=True):
            gray_on_gpu.copy_to_host(gray, stream=queue)
    return grays
