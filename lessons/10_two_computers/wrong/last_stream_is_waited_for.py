"""Each photograph has a stream of its own, and the host waits for the last one only."""
# caught by: queue
# diagnosis: waits for stream 3 alone

import numpy as np
from numba import cuda

from kernels.image_ops import grayscale
from kernels.transfers.block_shapes import blocks_to_cover
from kernels.transfers.host_code import BLOCK


def gray_in_a_queue(photos):
    streams, kept, grays = [], [], []
    for photo in photos:
        rows, columns = photo.shape[:2]
        streams.append(cuda.stream())
        own = streams[-1]
        source = cuda.to_device(photo, stream=own)
        target = cuda.device_array((rows, columns), np.float32)
        grayscale[blocks_to_cover((columns, rows), BLOCK), BLOCK, own](source, target)
        grays.append(cuda.pinned_array((rows, columns), np.float32))
        target.copy_to_host(grays[-1], stream=own)
        kept.append((source, target))
    if streams:
        streams[-1].synchronize()
    return grays
