"""The second event is asked for the time to the first."""
# caught by: events
# diagnosis: events exchanged

import numpy as np
from numba import cuda

from kernels.transfers.block_shapes import blocks_to_cover, shrink
from kernels.transfers.host_code import BLOCK


def timed_shrink(image, factor, launches):
    height, width = image.shape[0] // factor, image.shape[1] // factor
    there = cuda.to_device(image)
    small = cuda.device_array((height, width), np.float32)
    blocks = blocks_to_cover((width, height), BLOCK)
    shrink[blocks, BLOCK](there, small, factor)
    start, end = cuda.event(), cuda.event()
    start.record()
    for _ in range(launches):
        shrink[blocks, BLOCK](there, small, factor)
    end.record()
    end.synchronize()
    return small.copy_to_host(), end.elapsed_time(start) / launches
