"""Blocks and threads are exchanged: it covers a small picture all the same."""
# caught by: there_and_back
# diagnosis: the blocks come first

import numpy as np
from numba import cuda

from kernels.transfers.block_shapes import blocks_to_cover, shrink
from kernels.transfers.host_code import BLOCK


def shrink_on_gpu(image, factor):
    height, width = image.shape[0] // factor, image.shape[1] // factor
    there = cuda.to_device(image)
    small = cuda.device_array((height, width), np.float32)
    shrink[BLOCK, blocks_to_cover((width, height), BLOCK)](there, small, factor)
    return small.copy_to_host()
