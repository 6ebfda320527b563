"""The kernel is started twice."""
# caught by: there_and_back
# diagnosis: started again

import numpy as np
from numba import cuda

from kernels.transfers.host_code import BLOCK


def shrink_on_gpu(image, factor):
    height, width = image.shape[0] // factor, image.shape[1] // factor
    image_on_gpu = cuda.to_device(image)
    small_on_gpu = cuda.device_array((height, width), np.float32)
    for _ in range(2):
        shrink[blocks_to_cover((width, height), BLOCK), BLOCK](image_on_gpu, small_on_gpu, factor)
    return small_on_gpu.copy_to_host()
