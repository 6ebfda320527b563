"""The launch before the first event is given a float32, the others a whole number."""
# caught by: events
# diagnosis: compiled by the clock

import numpy as np
from numba import cuda, float32

from kernels.transfers.block_shapes import blocks_to_cover
from kernels.transfers.host_code import BLOCK


@cuda.jit
def small_picture(image, small, factor):
    x, y = cuda.grid(2)
    if y < small.shape[0] and x < small.shape[1]:
        side = int(factor)
        total = float32(0)
        for dy in range(side):
            for dx in range(side):
                total += image[y * side + dy, x * side + dx]
        small[y, x] = total / float32(side * side)


def timed_shrink(image, factor, launches):
    height, width = image.shape[0] // factor, image.shape[1] // factor
    stream = cuda.stream()
    there = cuda.to_device(image, stream=stream)
    small = cuda.device_array((height, width), np.float32)
    start = small_picture[blocks_to_cover((width, height), BLOCK), BLOCK, stream]
    start(there, small, np.float32(factor))
    first, last = cuda.event(), cuda.event()
    first.record(stream)
    for _ in range(launches):
        start(there, small, factor)
    last.record(stream)
    result = small.copy_to_host(stream=stream)
    stream.synchronize()
    return result, first.elapsed_time(last) / launches
