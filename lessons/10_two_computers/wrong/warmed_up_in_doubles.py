"""The launch before the first event is of float64, for which another kernel is compiled."""
# caught by: events
# diagnosis: compiled by the clock

import numpy as np
from numba import cuda

from kernels.transfers.block_shapes import blocks_to_cover, shrink
from kernels.transfers.host_code import BLOCK


def warm_up(factor):
    sample = cuda.to_device(np.ones((4 * factor, 4 * factor)))
    result = cuda.to_device(np.ones((4, 4)))
    shrink[blocks_to_cover((4, 4), BLOCK), BLOCK](sample, result, factor)


def timed_shrink(image, factor, launches):
    warm_up(factor)

    rows, columns = image.shape[0] // factor, image.shape[1] // factor
    source = cuda.to_device(image)
    target = cuda.device_array((rows, columns), np.float32)
    blocks = blocks_to_cover((columns, rows), BLOCK)
    tic, toc = cuda.event(), cuda.event()
    tic.record()
    for _ in range(launches):
        shrink[blocks, BLOCK](source, target, factor)
    toc.record()
    toc.synchronize()
    return target.copy_to_host(), tic.elapsed_time(toc) / launches
