"""Painting with the network on tensor cores: 32 pixels per warp, one sample at each centre.

And how far such a picture is from the one that is learnt, without leaving the GPU.
"""

from functools import cache

from numba import cuda, float32, int32, uint32

from kernels.config import COLOURS, FEATURES
from kernels.fast.fast_math import fast_math
from kernels.fast.mlp import make_forward, make_pack_weights
from kernels.fast.sample import corners, make_encoding
from kernels.fast.sizes import FEATURE_PITCH, WARP
from kernels.field_math import pixel_centre, sigmoid


@cache
def make_paint(size):
    """The kernel for one `NetworkSize`; launch it with `size.threads` threads per block."""
    words_size, samples = size.words, size.threads
    pack_weights, forward = make_pack_weights(size), make_forward(size)
    encode_position, _, encode_grid = make_encoding(size.channels)

    @fast_math()
    def paint(feature_grid, weights, grid_width, grid_height, colours, width, height):
        """colours (width * height * 3,) float32 in [0, 1]: the network at each pixel's centre.

        feature_grid (gh * gw, 4), weights (n,): float32. Sizes: int32.
        """
        words = cuda.shared.array(words_size, uint32)
        rows = cuda.shared.array((samples, FEATURE_PITCH), uint32)
        staging = cuda.shared.array((samples, COLOURS), float32)
        features = cuda.local.array(FEATURES, float32)
        thread = cuda.threadIdx.x & (samples - 1)  # never negative: see `products`
        warp, lane = thread >> 5, thread & 31
        pixels = width * height
        pack_weights(weights, words, thread)
        # Weights are packed by all threads and read by all.
        cuda.syncthreads()
        for first in range(cuda.blockIdx.x * samples, pixels, cuda.gridDim.x * samples):
            u, v = pixel_centre(int32(first + thread), width, height)
            encode_position(u, v, grid_width, grid_height, features)
            corner = corners(u, v, grid_width, grid_height)
            encode_grid(feature_grid, corner, features, rows, thread)
            # A lane's fragments come from rows that other lanes of its warp have written, ...
            cuda.syncwarp()
            forward(words, rows, staging, thread)
            # ... and so do its colours. Lanes write neighbouring numbers, not one pixel each.
            cuda.syncwarp()
            for i in range(COLOURS):
                item = lane + WARP * i
                offset = (first + WARP * warp) * COLOURS + item
                if offset < pixels * COLOURS:
                    row = WARP * warp + item // COLOURS
                    colours[offset] = sigmoid(staging[row, item % COLOURS])

    return paint


@cuda.jit
def add_squared_errors(colours, image, sums):
    """sums (n,) float32, one per thread: thread i adds up those of the pixels i, i + n, i + 2n, ...

    colours (pixels * 3,) float32, as `paint` writes them. image (pixels, 4) float32. The order of
    the additions is always the same, and so are the sums.
    """
    first = cuda.grid(1)
    if first >= sums.shape[0]:
        return

    total = float32(0)
    for pixel in range(first, image.shape[0], sums.shape[0]):
        for channel in range(COLOURS):
            error = colours[pixel * COLOURS + channel] - image[pixel, channel]
            total += error * error
    sums[first] = total
