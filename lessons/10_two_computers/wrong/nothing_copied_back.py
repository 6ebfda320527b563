"""The host's array is returned, as if the array on the device were a reference to it."""
# caught by: there_and_back
# diagnosis: not copied back

import numpy as np
from numba import cuda

from kernels.transfers.block_shapes import blocks_to_cover, shrink
from kernels.transfers.host_code import BLOCK


def shrink_on_gpu(image, factor):
    small = np.zeros((image.shape[0] // factor, image.shape[1] // factor), dtype=np.float32)
    image_on_gpu = cuda.to_device(image)
    small_on_gpu = cuda.to_device(small)
    height, width = small.shape
    shrink[blocks_to_cover((width, height), BLOCK), BLOCK](image_on_gpu, small_on_gpu, factor)
    return small
