"""Room is made for the result, and nobody writes it."""
# caught by: there_and_back
# diagnosis: kernels missing

import numpy as np
from numba import cuda


def shrink_on_gpu(image, factor):
    height, width = image.shape[0] // factor, image.shape[1] // factor
    image_on_gpu = cuda.to_device(image)
    small_on_gpu = cuda.device_array((height, width), np.float32)
    return small_on_gpu.copy_to_host()
