"""One block is started for the whole picture."""
# caught by: there_and_back
# diagnosis: only one block

import numpy as np
from numba import cuda

from kernels.transfers.block_shapes import shrink
from kernels.transfers.host_code import BLOCK


def shrink_on_gpu(image, factor):
    height, width = image.shape[0] // factor, image.shape[1] // factor
    there = cuda.to_device(image)
    small = cuda.device_array((height, width), np.float32)
    shrink[1, BLOCK](there, small, factor)
    return small.copy_to_host()
