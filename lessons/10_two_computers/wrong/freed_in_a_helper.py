"""A helper asks for the work of one photograph, and its arrays on the device end with it."""
# caught by: one_wait
# diagnosis: freed in use

import numpy as np
from numba import cuda

from kernels.image_ops import grayscale
from kernels.transfers.block_shapes import blocks_to_cover
from kernels.transfers.host_code import BLOCK


def ask_for_gray(photo, queue):
    height, width, _ = photo.shape
    photo_on_gpu = cuda.to_device(photo, stream=queue)
    gray_on_gpu = cuda.device_array((height, width), np.float32, stream=queue)
    grayscale[blocks_to_cover((width, height), BLOCK), BLOCK, queue](photo_on_gpu, gray_on_gpu)
    gray = cuda.pinned_array((height, width), np.float32)
    gray_on_gpu.copy_to_host(gray, stream=queue)
    return gray


def gray_in_a_queue(photos):
    queue = cuda.stream()
    grays = [ask_for_gray(photo, queue) for photo in photos]
    queue.synchronize()
    return grays
