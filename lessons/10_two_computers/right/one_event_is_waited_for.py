"""The host waits for an event behind the last copy, and the photographs go there all at first."""

import numpy as np
from numba import cuda

from kernels.image_ops import grayscale
from kernels.transfers.block_shapes import blocks_to_cover
from kernels.transfers.host_code import BLOCK


def gray_in_a_queue(photos):
    queue = cuda.stream()
    photos_there = [cuda.to_device(photo, stream=queue) for photo in photos]
    grays_there = [cuda.device_array(photo.shape[:2], np.float32) for photo in photos]
    grays = [cuda.pinned_array(photo.shape[:2], np.float32) for photo in photos]
    for photo, gray in zip(photos_there, grays_there, strict=True):
        grayscale[blocks_to_cover(gray.shape[::-1], BLOCK), BLOCK, queue](photo, gray)
    for gray, back in zip(grays_there, grays, strict=True):
        gray.copy_to_host(back, stream=queue)
    done = cuda.event()
    done.record(queue)
    done.synchronize()
    return [np.ndarray(gray.shape, np.float32, gray.data).copy() for gray in grays]
