"""Copies and kernel in a stream of their own."""

import numpy as np
from numba import cuda

from kernels.transfers.block_shapes import blocks_to_cover, shrink
from kernels.transfers.host_code import BLOCK


def shrink_on_gpu(image, factor):
    height, width = image.shape[0] // factor, image.shape[1] // factor
    stream = cuda.stream()
    there = cuda.to_device(image, stream=stream)
    small = cuda.device_array((height, width), np.float32)
    shrink[blocks_to_cover((width, height), BLOCK), BLOCK, stream](there, small, factor)
    result = small.copy_to_host(stream=stream)
    stream.synchronize()
    return result
