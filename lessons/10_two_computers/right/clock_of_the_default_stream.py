"""All in the default stream: the events, the launches and the copies."""

import numpy as np
from numba import cuda

from kernels.transfers.block_shapes import blocks_to_cover, shrink
from kernels.transfers.host_code import BLOCK


def timed_shrink(image, factor, launches):
    shape = image.shape[0] // factor, image.shape[1] // factor
    image_on_gpu, small_on_gpu = cuda.to_device(image), cuda.device_array(shape, np.float32)
    start_shrink = shrink[blocks_to_cover(shape[::-1], BLOCK), BLOCK]
    start_shrink(image_on_gpu, small_on_gpu, factor)
    cuda.synchronize()
    start, end = cuda.event(), cuda.event()
    start.record()
    for _ in range(launches):
        start_shrink(image_on_gpu, small_on_gpu, factor)
    end.record()
    small = small_on_gpu.copy_to_host()
    return small, cuda.event_elapsed_time(start, end) / launches
