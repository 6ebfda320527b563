"""The host's clock: it tells how long it takes to ask for a launch."""
# caught by: events
# diagnosis: no events

import time

import numpy as np
from numba import cuda

from kernels.transfers.block_shapes import blocks_to_cover, shrink
from kernels.transfers.host_code import BLOCK


def timed_shrink(image, factor, launches):
    height, width = image.shape[0] // factor, image.shape[1] // factor
    image_on_gpu = cuda.to_device(image)
    small_on_gpu = cuda.device_array((height, width), np.float32)
    blocks = blocks_to_cover((width, height), BLOCK)
    shrink[blocks, BLOCK](image_on_gpu, small_on_gpu, factor)
    start = time.perf_counter()
    for _ in range(launches):
        shrink[blocks, BLOCK](image_on_gpu, small_on_gpu, factor)
    seconds = time.perf_counter() - start
    return small_on_gpu.copy_to_host(), 1000 * seconds / launches
