"""Both events are recorded in every turn of the loop, so only the last launch is timed."""
# caught by: events
# diagnosis: recorded in the loop

import numpy as np
from numba import cuda

from kernels.transfers.block_shapes import blocks_to_cover, shrink
from kernels.transfers.host_code import BLOCK


def timed_shrink(image, factor, launches):
    small_shape = image.shape[0] // factor, image.shape[1] // factor
    source = cuda.to_device(image)
    target = cuda.device_array(small_shape, np.float32)
    grid = blocks_to_cover(small_shape[::-1], BLOCK)
    clock_on, clock_off = cuda.event(), cuda.event()

    shrink[grid, BLOCK](source, target, factor)
    for _ in range(launches):
        clock_on.record()
        shrink[grid, BLOCK](source, target, factor)
        clock_off.record()
    clock_off.synchronize()
    per_launch = clock_on.elapsed_time(clock_off) / launches
    return target.copy_to_host(), per_launch
