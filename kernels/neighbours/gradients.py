"""The way back through a convolution: to its images, and to its filters.

    deltas (B, rows, columns, F) = dL/dout, filters (K, K, C, F)  ->  gradients (B, H, W, C)
    images (B, H, W, C), deltas                ->  parts (chunks, K * K * C + 1, F)  ->  their sum

The idea: an image's number has gone to the K * K output pixels around it, each time through another
tap. Its gradient is the sum over these: where forward a row was `y + ky`, back it is `y - ky`, so
the filter is turned around. One could let every delta add to the nine numbers that it came from;
then nine threads meet at one address, and need atomics. Ask each number instead which deltas are
its own, and nobody meets. It is the same product again, with another address.

A filter's weight has met every pixel, so its gradient is a sum of B * rows * columns products: few
sums, and long ones. It has two stages. A block multiplies the patches of its own chunk of pixels
with their deltas, and stores a whole gradient, its part. Then the parts are added, column by column
(`kernels/classifier/column_sums.py`). Without atomics, the bits are the same in every run. The bias
is the weight of a number that is always 1. So a patch has that number, too, at its end.

Source: as `product.py`.
"""

from numba import cuda, float32, int32

from kernels.classifier.column_sums import launch_column_sums
from kernels.launch import blocks_for, on_gpu
from kernels.neighbours.convolve import number_at, place_of
from kernels.neighbours.product import (
    DEPTH,
    PER_THREAD,
    PITCH,
    PIXELS,
    SIDE,
    add_patch_products,
    clear,
    find_pixels,
    launch_over_pixels,
    tap_of,
)

CHUNK = 256  # pixels of deltas per block


@cuda.jit
def image_gradients(deltas, filters, stride, padding, gradients):
    """Back to the images of a convolution; blocks as those of `convolve_as_product`.

    deltas (B, rows, columns, F), filters (K, K, C, F), float32; stride, padding: as forward. Sets
    gradients (B, H, W, C). Blocks count pixels of `gradients` along x, its channels along y.
    """
    patches = cuda.shared.array((DEPTH, PITCH), float32)
    weights = cuda.shared.array((DEPTH, SIDE), float32)
    places = cuda.local.array((PER_THREAD, 3), int32)
    sums = cuda.local.array(PER_THREAD, float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    side, number_of_filters = filters.shape[0], filters.shape[3]
    channel = cuda.blockIdx.y * SIDE + x
    find_pixels(cuda.blockIdx.x * PIXELS, gradients.shape[1], gradients.shape[2], places)

    clear(sums)
    for first in range(0, side * side * number_of_filters, DEPTH):
        ky, kx, f = tap_of(first + x, side, number_of_filters)
        for i in range(PER_THREAD):
            # Forward: row = delta's row * stride + ky - padding.
            row, column = places[i, 1] + padding - ky, places[i, 2] + padding - kx
            number = float32(0)
            if ky < side and row % stride == 0 and column % stride == 0:
                number = number_at(deltas, places[i, 0], row // stride, column // stride, f)
            patches[x, y + i * SIDE] = number
        ky, kx, f = tap_of(first + y, side, number_of_filters)
        weight = float32(0)
        if ky < side and channel < filters.shape[2]:
            weight = filters[ky, kx, channel, f]
        weights[y, x] = weight
        # Both barriers as in `convolve_as_product`: complete before it is read ...
        cuda.syncthreads()
        add_patch_products(patches, weights, sums)
        # ... and read before it is overwritten.
        cuda.syncthreads()

    for i in range(PER_THREAD):
        if places[i, 0] < gradients.shape[0] and channel < gradients.shape[3]:
            gradients[places[i, 0], places[i, 1], places[i, 2], channel] = sums[i]


@cuda.jit
def filter_gradients(images, deltas, side, stride, padding, parts):
    """What the deltas of a chunk of pixels say about filters and bias; SIDE x SIDE threads.

    images (B, H, W, C), deltas (B, rows, columns, F), float32; side: K; stride, padding: as
    forward. Sets parts (chunks, K * K * C + 1, F): block z that of the pixels z * CHUNK to
    (z + 1) * CHUNK - 1. Row (ky * K + kx) * C + c is the weights of a tap; the last one the bias.
    Blocks count F along x, rows along y.
    """
    patches = cuda.shared.array((DEPTH, SIDE), float32)
    own_deltas = cuda.shared.array((DEPTH, SIDE), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    count, rows, columns, number_of_filters = deltas.shape
    begin = cuda.blockIdx.z * CHUNK
    end = min(begin + CHUNK, count * rows * columns)
    first_tap = cuda.blockIdx.y * SIDE
    f = cuda.blockIdx.x * SIDE + x
    ky, kx, channel = tap_of(first_tap + x, side, images.shape[3])
    is_bias = first_tap + x == side * side * images.shape[3]

    total = float32(0)
    for first in range(begin, end, DEPTH):
        image, row, column = place_of(first + y, rows, columns)
        number, delta = float32(0), float32(0)
        if first + y < end:
            if f < number_of_filters:
                delta = deltas[image, row, column, f]
            if is_bias:
                number = float32(1)
            elif ky < side:
                top, left = row * stride - padding, column * stride - padding
                number = number_at(images, image, top + ky, left + kx, channel)
        patches[y, x] = number
        own_deltas[y, x] = delta
        # Both barriers as above.
        cuda.syncthreads()
        for inner in range(DEPTH):
            total += patches[inner, y] * own_deltas[inner, x]
        cuda.syncthreads()

    if first_tap + y < parts.shape[1] and f < number_of_filters:
        parts[cuda.blockIdx.z, first_tap + y, f] = total


def launch_image_gradients(deltas, filters, stride, padding, gradients, launch=on_gpu):
    launch_over_pixels(image_gradients, (deltas, filters, stride, padding), gradients, launch)


def launch_filter_gradients(images, deltas, side, stride, padding, parts, launch=on_gpu):
    chunks, rows, number_of_filters = parts.shape
    blocks = blocks_for(number_of_filters, SIDE), blocks_for(rows, SIDE), chunks
    arguments = images, deltas, side, stride, padding, parts
    launch(filter_gradients, blocks, (SIDE, SIDE), *arguments)


def launch_add_parts(parts, gradients, launch=on_gpu):
    """gradients ((K * K * C + 1) * F,) = the sum of parts (chunks, K * K * C + 1, F)."""
    chunks, rows, number_of_filters = parts.shape
    launch_column_sums(parts.reshape(chunks, rows * number_of_filters), gradients, launch=launch)


def chunks_of(count, rows, columns):
    """How many chunks of pixels `count` images of rows x columns deltas have."""
    return blocks_for(count * rows * columns, CHUNK)
