"""The kernel is given arrays of the host, which Numba copies by itself."""
# caught by: there_and_back
# diagnosis: copied by Numba

import numpy as np

from kernels.transfers.block_shapes import blocks_to_cover, shrink
from kernels.transfers.host_code import BLOCK


def shrink_on_gpu(image, factor):
    height, width = image.shape[0] // factor, image.shape[1] // factor
    small = np.empty((height, width), np.float32)
    shrink[blocks_to_cover((width, height), BLOCK), BLOCK](image, small, factor)
    return small
