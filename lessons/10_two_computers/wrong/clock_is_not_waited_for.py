"""The time is asked for while the device is still at work."""
# caught by: events
# diagnosis: unsynchronised

import numpy as np
from numba import cuda

from kernels.transfers.block_shapes import blocks_to_cover, shrink
from kernels.transfers.host_code import BLOCK


def timed_shrink(image, factor, launches):
    height, width = image.shape[0] // factor, image.shape[1] // factor
    stream = cuda.stream()
    image_on_gpu = cuda.to_device(image, stream=stream)
    small_on_gpu = cuda.device_array((height, width), np.float32)
    blocks = blocks_to_cover((width, height), BLOCK)
    start, end = cuda.event(), cuda.event()
    shrink[blocks, BLOCK, stream](image_on_gpu, small_on_gpu, factor)
    start.record(stream)
    for _ in range(launches):
        shrink[blocks, BLOCK, stream](image_on_gpu, small_on_gpu, factor)
    end.record(stream)
    milliseconds = start.elapsed_time(end) / launches
    return small_on_gpu.copy_to_host(), milliseconds
