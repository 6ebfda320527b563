"""Convolution as a product of two matrices, of which one is never there.

    images (B, H, W, C), filters (K, K, C, F), bias (F,)  ->  out (B, rows, columns, F)

The idea: write the numbers that one output pixel looks at in a row: its **patch**, of K * K * C
numbers. All patches are a matrix, filters seen as (K * K * C, F) another one, and their product is
the convolution. But the patches together are nine times as large as the images. So nobody writes
them down: a tile of that matrix is made in shared memory, by computing where each number lies.
The rest is the product of lesson 12: any filter size, any stride.

A row of patches is cheap to find. Which pixel a thread fetches for stays the same in all rounds,
so its place is computed once, for four pixels; per round there is only the question which tap.
Neighbouring threads fetch neighbouring numbers of one patch, and channels lie side by side.

Source: Chetlur et al., "cuDNN: efficient primitives for deep learning", 2014.
"""

from numba import cuda, float32, int32
from numba.extending import register_jitable

from kernels.launch import blocks_for, on_gpu
from kernels.neighbours.convolve import number_at, place_of

SIDE = 16  # a block has SIDE x SIDE threads
PER_THREAD = 4  # pixels per thread, and one filter
PIXELS = SIDE * PER_THREAD  # per block, for SIDE filters
DEPTH = SIDE  # numbers of a patch per round
# Rows of a tile begin two banks apart: a warp that stores a piece of 16 x 2 meets no bank twice.
PITCH = PIXELS + 2


@register_jitable
def tap_of(k, side, channels):
    """(ky, kx, channel) of number k of a patch, for filters of side x side places."""
    return k // channels // side, k // channels % side, k % channels


@cuda.jit(device=True)
def find_pixels(first, rows, columns, places):
    """Sets places (PER_THREAD, 3) int32: image, row and column of this thread's pixels.

    first: the block's first pixel. Thread (x, y) fetches for the pixels y, y + SIDE, ... of it.
    """
    for i in range(PER_THREAD):
        pixel = first + cuda.threadIdx.y + i * SIDE
        image, row, column = place_of(pixel, rows, columns)
        places[i, 0] = image
        places[i, 1] = row
        places[i, 2] = column


@cuda.jit(device=True)
def clear(sums):
    """Set sums (PER_THREAD,) to zero."""
    for i in range(PER_THREAD):
        sums[i] = float32(0)


@cuda.jit(device=True)
def add_patch_products(patches, weights, sums):
    """Add to sums (PER_THREAD,) the products of one round.

    patches (DEPTH, PITCH): the inner index is the row, the block's pixel the column. weights
    (DEPTH, SIDE). Thread (x, y) has the pixels y, y + SIDE, ... and the column x of weights.
    """
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    for inner in range(DEPTH):
        weight = weights[inner, x]
        for i in range(PER_THREAD):
            sums[i] += patches[inner, y + i * SIDE] * weight


@cuda.jit
def convolve_as_product(images, filters, bias, stride, padding, out):
    """As `convolve_naive`; blocks of SIDE x SIDE threads for PIXELS pixels and SIDE filters each.

    Blocks count pixels along x, filters along y.
    """
    patches = cuda.shared.array((DEPTH, PITCH), float32)
    weights = cuda.shared.array((DEPTH, SIDE), float32)
    places = cuda.local.array((PER_THREAD, 3), int32)
    sums = cuda.local.array(PER_THREAD, float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    side, channels = filters.shape[0], filters.shape[2]
    f = cuda.blockIdx.y * SIDE + x
    find_pixels(cuda.blockIdx.x * PIXELS, out.shape[1], out.shape[2], places)

    clear(sums)
    for first in range(0, side * side * channels, DEPTH):
        ky, kx, channel = tap_of(first + x, side, channels)
        for i in range(PER_THREAD):
            number = float32(0)
            if ky < side:  # else the patch has ended
                row = places[i, 1] * stride + ky - padding
                column = places[i, 2] * stride + kx - padding
                number = number_at(images, places[i, 0], row, column, channel)
            patches[x, y + i * SIDE] = number
        ky, kx, channel = tap_of(first + y, side, channels)
        weight = float32(0)
        if ky < side and f < filters.shape[3]:
            weight = filters[ky, kx, channel, f]
        weights[y, x] = weight
        # Both tiles have to be complete before anyone reads what others have fetched.
        cuda.syncthreads()
        add_patch_products(patches, weights, sums)
        # And everyone must have read before the next round overwrites them.
        cuda.syncthreads()

    for i in range(PER_THREAD):
        if places[i, 0] < out.shape[0] and f < out.shape[3]:
            out[places[i, 0], places[i, 1], places[i, 2], f] = sums[i] + bias[f]


def launch_convolve_as_product(images, filters, bias, stride, padding, out, launch=on_gpu):
    launch_over_pixels(convolve_as_product, (images, filters, bias, stride, padding), out, launch)


def launch_over_pixels(kernel, arguments, out, launch):
    """Start a kernel whose blocks have PIXELS pixels and SIDE channels of `out` each."""
    count, rows, columns, channels = out.shape
    blocks = blocks_for(count * rows * columns, PIXELS), blocks_for(channels, SIDE)
    launch(kernel, blocks, (SIDE, SIDE), *arguments, out)
