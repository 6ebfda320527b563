"""Convolution: every pixel from its neighbours.

    images (B, H, W, C), filters (K, K, C, F), bias (F,)  ->  out (B, rows, columns, F)
    out[b, y, x, f] = bias[f] + sum of images[b, y + ky - 1, x + kx - 1, c] * filters[ky, kx, c, f]

That is with a padding of 1: one pixel of zeros around each image. A stride of 2 takes every second
place. (Mathematics would turn the filter first. Networks do not, as they learn the filter anyway.)

The idea: each number of an image is wanted by the threads of nine neighbouring pixels, for each
filter again. So a block fetches a piece of the image once, with a margin of one pixel, its halo. It
goes to shared memory, and a thread uses each number that it reads there for four filters.

A warp is one row of a piece, 32 pixels wide: it reads 32 neighbours of a row, in 32 banks. A piece
of 16 x 16 has a smaller halo; but there a warp has two rows, some of whose numbers lie in the same
banks. The planes of a piece lie 340 numbers apart, and 340 = 10 x 32 + 20: so the eight channels
of a pixel, which lie side by side in global memory, go to eight banks, and four pixels to 32.

Source: Podlozhnyuk, "Image convolution with CUDA", NVIDIA, 2007.
"""

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.config import BLOCK_THREADS
from kernels.launch import blocks_for, on_gpu

PIECE_WIDTH, PIECE_HEIGHT = 32, 8  # pixels of a block, and its threads: one for each
TAPS = 3  # the tiled convolution is for filters of 3 x 3 places
FETCHED_WIDTH, FETCHED_HEIGHT = PIECE_WIDTH + TAPS - 1, PIECE_HEIGHT + TAPS - 1
CHANNELS = 8  # of an image, fetched per round
FILTERS = 4  # per thread


@register_jitable
def place_of(pixel, rows, columns):
    """(image, row, column) of a pixel, if those of all images are counted through."""
    return pixel // (rows * columns), pixel // columns % rows, pixel % columns


@register_jitable
def number_at(images, image, row, column, channel):
    """images[image, row, column, channel], or zero beyond the margin and beyond the last image."""
    if image < images.shape[0] and 0 <= row < images.shape[1] and 0 <= column < images.shape[2]:
        return images[image, row, column, channel]
    return float32(0)


@cuda.jit
def convolve_naive(images, filters, bias, stride, padding, out):
    """One thread per number of the result, in any blocks of one dimension; any sizes.

    images (B, H, W, C), filters (K, K, C, F), bias (F,), float32; stride, padding: whole numbers.
    Sets out (B, rows, columns, F); the filter of row y begins at the image's row
    y * stride - padding, and likewise for columns.
    """
    i = cuda.grid(1)
    if i >= out.size:
        return

    f = i % out.shape[3]
    image, y, x = place_of(i // out.shape[3], out.shape[1], out.shape[2])
    top, left = y * stride - padding, x * stride - padding
    total = bias[f]
    for ky in range(filters.shape[0]):
        for kx in range(filters.shape[1]):
            for c in range(filters.shape[2]):
                number = number_at(images, image, top + ky, left + kx, c)
                total += number * filters[ky, kx, c, f]
    out[image, y, x, f] = total


@cuda.jit
def convolve_tiled(images, filters, bias, out):
    """Filters of 3 x 3, stride 1, padding 1; blocks of PIECE_WIDTH x PIECE_HEIGHT threads.

    images (B, H, W, C), filters (3, 3, C, F), bias (F,), float32. Sets out (B, H, W, F). A thread
    has one pixel and FILTERS filters; z counts images, and for each the groups of filters.
    """
    piece = cuda.shared.array((CHANNELS, FETCHED_HEIGHT, FETCHED_WIDTH), float32)
    # Aligned: so the four weights of a tap are read at once, in one request of 16 bytes.
    own = cuda.shared.array((CHANNELS, TAPS, TAPS, FILTERS), float32, alignment=16)
    sums = cuda.local.array(FILTERS, float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    thread = y * PIECE_WIDTH + x
    left, top = cuda.blockIdx.x * PIECE_WIDTH, cuda.blockIdx.y * PIECE_HEIGHT
    groups = (out.shape[3] + FILTERS - 1) // FILTERS
    image = cuda.blockIdx.z // groups
    first_filter = cuda.blockIdx.z % groups * FILTERS

    for f in range(FILTERS):
        sums[f] = float32(0)
    for first in range(0, images.shape[3], CHANNELS):
        channels = min(CHANNELS, images.shape[3] - first)
        for i in range(thread, channels * FETCHED_HEIGHT * FETCHED_WIDTH, BLOCK_THREADS):
            # Channels lie side by side in memory, so neighbouring threads take neighbours.
            channel, pixel = i % channels, i // channels
            row, column = pixel // FETCHED_WIDTH, pixel % FETCHED_WIDTH
            piece[channel, row, column] = number_at(
                images, image, top + row - 1, left + column - 1, first + channel
            )
        for i in range(thread, channels * TAPS * TAPS * FILTERS, BLOCK_THREADS):
            f, tap = i % FILTERS, i // FILTERS
            channel, ky, kx = tap % channels, tap // channels // TAPS, tap // channels % TAPS
            weight = float32(0)
            if first_filter + f < out.shape[3]:
                weight = filters[ky, kx, first + channel, first_filter + f]
            own[channel, ky, kx, f] = weight
        # The piece has to be complete before anyone looks at neighbours.
        cuda.syncthreads()
        for channel in range(channels):
            for ky in range(TAPS):
                for kx in range(TAPS):
                    number = piece[channel, y + ky, x + kx]
                    for f in range(FILTERS):
                        sums[f] += number * own[channel, ky, kx, f]
        # And everyone must have read before the next channels overwrite it.
        cuda.syncthreads()

    if top + y < out.shape[1] and left + x < out.shape[2]:
        for f in range(FILTERS):
            if first_filter + f < out.shape[3]:
                out[image, top + y, left + x, first_filter + f] = sums[f] + bias[first_filter + f]


def launch_convolve_naive(images, filters, bias, stride, padding, out, launch=on_gpu):
    blocks = blocks_for(out.size, BLOCK_THREADS)
    launch(convolve_naive, blocks, BLOCK_THREADS, images, filters, bias, stride, padding, out)


def launch_convolve_tiled(images, filters, bias, out, launch=on_gpu):
    count, rows, columns, filters_ = out.shape
    blocks = (
        blocks_for(columns, PIECE_WIDTH),
        blocks_for(rows, PIECE_HEIGHT),
        count * blocks_for(filters_, FILTERS),
    )
    launch(convolve_tiled, blocks, (PIECE_WIDTH, PIECE_HEIGHT), images, filters, bias, out)
