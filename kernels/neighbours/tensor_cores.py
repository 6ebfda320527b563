"""Convolution on tensor cores, forward and back: the rung above `product.py` and `gradients.py`.

    images (B, H, W, C), filters (3, 3, C, F), bias (F,)  ->  out (B, H, W, F)
    deltas (B, H, W, F), filters                          ->  gradients (B, H, W, C)
    images, deltas                                        ->  parts (any, 9 * C + 1, F), to be added

The idea: a convolution is a sum of nine products, one per tap: pixels x channels, moved by the tap,
times channels x filters. A tensor core multiplies 16 pixels, 8 channels and 8 filters at once. So a
block fetches a piece of 16 x 16 pixels with its halo, eight channels of it at a time, and a row of
the piece is the left factor of a product: that of tap kx begins kx pixels further right. Which row
of the result a row of the piece adds to is decided by ky; it is read once for all three.

Back to the images it is the same sum with turned filters. Back to the filters, pixels are what is
summed over: the left factor holds channels x pixels, and a warp keeps the sums of all nine taps in
registers until its block has seen all of its pieces. The bias is a tenth tap, which sees only ones.

Factors are rounded to 11 significant bits (TF32), sums are float32. The pitches of both tiles let
32 lanes read 32 banks at once. A filter as large as its image is no such sum: it has kernels of its
own, in float32; what else does not fit is left to the lesson's. Images begin at a multiple of 16
bytes, as arrays of their own do.

Source: Chetlur et al., 2014, as `product.py`; `gradients.py` has the formulas.
"""

from numba import cuda, float32, int32, uint32

from kernels.config import WARP
from kernels.fast.ptx import begin_copy, multiply_tf32, round_to_tf32, wait_for_copies
from kernels.launch import blocks_for, on_gpu
from kernels.neighbours import gradients
from kernels.neighbours.product import launch_convolve_as_product

TAPS = 3  # each way
PIECE = 16  # pixels each way of a block
FETCHED = PIECE + TAPS - 1
CHANNELS, FILTERS = 8, 16  # of a round, and of a block
FILTER_TILES = FILTERS // 8
WARPS = 4
THREADS = WARPS * WARP
ROWS = PIECE // WARPS  # of the piece, per warp
PITCH = CHANNELS + 4  # lanes read 8 pixels x 4 channels: banks 12 r + c
TURNED_PITCH = CHANNELS  # they read 4 pixels x 8 channels: banks 8 c + r
PAIRS = 5  # of taps, the bias being the last of
TAPS_AND_BIAS = 2 * PAIRS
FETCHED_PIXELS = FETCHED * FETCHED
ALL_LANES = 0xFFFFFFFF


@cuda.jit(device=True)
def place_of_piece(piece, height, width):
    """(image, first row, first column) of a piece, if those of all images are counted through."""
    down, across = (height + PIECE - 1) // PIECE, (width + PIECE - 1) // PIECE
    return piece // (down * across), piece // across % down * PIECE, piece % across * PIECE


@cuda.jit(device=True)
def begin_piece(pixels, image, top, left, height, width, first, tile):
    """Begin to copy a piece with its halo to tile (FETCHED_PIXELS, any); zeros are outside.

    pixels (B * H * W, channels), of images of height x width; first: the first of its CHANNELS.
    """
    for i in range(cuda.threadIdx.x, 2 * FETCHED_PIXELS, THREADS):
        pixel, channel = i // 2, 4 * (i % 2)
        y, x = top + pixel // FETCHED - 1, left + pixel % FETCHED - 1
        inside = 0 <= y < height and 0 <= x < width and first + channel < pixels.shape[1]
        place = (image * height + y) * width + x
        begin_copy(tile, pixel, channel, pixels, place, first + channel, int32(inside))


@cuda.jit(device=True)
def clear(sums):
    """Set sums (any, FILTER_TILES, 4) to zero."""
    for i in range(sums.shape[0]):
        for j in range(FILTER_TILES):
            for n in range(4):
                sums[i, j, n] = float32(0)


# ---------------------------------------------------------------- forward, and back to the images


@cuda.jit(device=True)
def load_weights(filters, first_input, first_output, turned, weights):
    """weights (TAPS, TAPS, FILTER_TILES, 2) uint32: right factors; zeros outside of the filters.

    filters (3, 3, C, F). turned: from F channels to C, with every filter turned around.
    """
    lane = cuda.threadIdx.x % WARP
    for ky in range(TAPS):
        for kx in range(TAPS):
            for tile in range(FILTER_TILES):
                for n in range(2):
                    inner = first_input + lane % 4 + 4 * n
                    outer = first_output + 8 * tile + lane // 4
                    weight = float32(0)
                    if turned:
                        if outer < filters.shape[2] and inner < filters.shape[3]:
                            weight = filters[TAPS - 1 - ky, TAPS - 1 - kx, outer, inner]
                    elif inner < filters.shape[2] and outer < filters.shape[3]:
                        weight = filters[ky, kx, inner, outer]
                    weights[ky, kx, tile, n] = round_to_tf32(weight)


@cuda.jit(device=True)
def add_taps(tile, weights, sums):
    """sums (ROWS, FILTER_TILES, 4) += all taps of the warp's rows, for the tile's channels."""
    lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    # Unsigned, so that no index has to be looked at for being negative.
    first, channel = uint32(warp * ROWS * FETCHED + lane // 4), uint32(lane % 4)
    for y in range(ROWS + TAPS - 1):
        for kx in range(TAPS):
            left = first + uint32(y * FETCHED + kx)
            right = left + uint32(8)
            a0, a1 = round_to_tf32(tile[left, channel]), round_to_tf32(tile[right, channel])
            a2 = round_to_tf32(tile[left, channel + uint32(4)])
            a3 = round_to_tf32(tile[right, channel + uint32(4)])
            for ky in range(TAPS):
                i = y - ky
                if 0 <= i < ROWS:
                    for j in range(FILTER_TILES):
                        sums[i, j, 0], sums[i, j, 1], sums[i, j, 2], sums[i, j, 3] = multiply_tf32(
                            a0, a1, a2, a3, weights[ky, kx, j, 0], weights[ky, kx, j, 1],
                            sums[i, j, 0], sums[i, j, 1], sums[i, j, 2], sums[i, j, 3],
                        )  # fmt: skip


@cuda.jit(device=True)
def convolve_piece(pixels, filters, turned, height, width, sums, out):
    """Adds all taps of this block's piece to sums (ROWS, FILTER_TILES, 4), and writes them."""
    tile = cuda.shared.array((FETCHED_PIXELS, PITCH), float32, alignment=16)
    weights = cuda.local.array((TAPS, TAPS, FILTER_TILES, 2), uint32)
    lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    image, top, left = place_of_piece(cuda.blockIdx.x, height, width)
    first_output = cuda.blockIdx.y * FILTERS
    for first in range(0, pixels.shape[1], CHANNELS):
        begin_piece(pixels, image, top, left, height, width, first, tile)
        load_weights(filters, first, first_output, turned, weights)
        # The piece has to be complete before anyone looks at neighbours ...
        wait_for_copies()
        cuda.syncthreads()
        add_taps(tile, weights, sums)
        # ... and read before the next channels overwrite it.
        cuda.syncthreads()
    for i in range(ROWS):
        for n in range(4):
            y, x = top + warp * ROWS + i, left + lane // 4 + 8 * (n // 2)
            for j in range(FILTER_TILES):
                output = first_output + 8 * j + 2 * (lane % 4) + n % 2
                if y < height and x < width and output < out.shape[1]:
                    out[uint32((image * height + y) * width + x), uint32(output)] = sums[i, j, n]


@cuda.jit
def convolve_taps(pixels, filters, bias, height, width, out):
    """Filters of 3 x 3, stride 1, padding 1; blocks of THREADS threads.

    pixels (B * H * W, C), C a multiple of four, filters (3, 3, C, F), bias (F,), float32. Sets out
    (B * H * W, F). x counts pieces, y groups of FILTERS filters. Needs compute capability 8.0.
    """
    sums = cuda.local.array((ROWS, FILTER_TILES, 4), float32)
    for i in range(ROWS):
        for j in range(FILTER_TILES):
            for n in range(4):
                f = cuda.blockIdx.y * FILTERS + 8 * j + 2 * (cuda.threadIdx.x % 4) + n % 2
                sums[i, j, n] = bias[f] if f < bias.shape[0] else float32(0)
    convolve_piece(pixels, filters, False, height, width, sums, out)


@cuda.jit
def gradients_by_taps(deltas, filters, height, width, gradients):
    """Back to the images: sets gradients (B * H * W, C), from deltas (B * H * W, F).

    F is a multiple of four. The rest as in `convolve_taps`; y counts groups of FILTERS channels.
    """
    sums = cuda.local.array((ROWS, FILTER_TILES, 4), float32)
    clear(sums)
    convolve_piece(deltas, filters, True, height, width, sums, gradients)


# ---------------------------------------------------------------- back to the filters


@cuda.jit(device=True)
def add_pixels(tile, deltas, image, top, left, height, width, first_filter, sums):
    """sums (PAIRS, FILTER_TILES, 4) += what the warp's rows of a piece say about the filters.

    tile (FETCHED_PIXELS, TURNED_PITCH); deltas (B * H * W, F) are read from global memory, each
    number once.
    """
    lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    channel, column = uint32(lane // 4), lane % 4
    one = round_to_tf32(float32(1) if lane // 4 == 0 else float32(0))
    right = cuda.local.array((FILTER_TILES, 2), uint32)
    taps = cuda.local.array((TAPS_AND_BIAS, 2), uint32)
    for eight in range(2 * ROWS):  # pixels of a row
        row, begin = warp * ROWS + eight // 2, 8 * (eight % 2)
        for n in range(2):
            x = left + begin + column + 4 * n
            place = (image * height + top + row) * width + x
            for j in range(FILTER_TILES):
                f = first_filter + 8 * j + lane // 4
                delta = float32(0)
                if top + row < height and x < width and f < deltas.shape[1]:
                    delta = deltas[uint32(place), uint32(f)]
                right[j, n] = round_to_tf32(delta)
            for tap in range(TAPS * TAPS):
                pixel = (row + tap // TAPS) * FETCHED + begin + column + 4 * n + tap % TAPS
                taps[tap, n] = round_to_tf32(tile[uint32(pixel), channel])
            taps[TAPS * TAPS, n] = one
        for i in range(PAIRS):
            for j in range(FILTER_TILES):
                sums[i, j, 0], sums[i, j, 1], sums[i, j, 2], sums[i, j, 3] = multiply_tf32(
                    taps[2 * i, 0], taps[2 * i + 1, 0], taps[2 * i, 1], taps[2 * i + 1, 1],
                    right[j, 0], right[j, 1],
                    sums[i, j, 0], sums[i, j, 1], sums[i, j, 2], sums[i, j, 3],
                )  # fmt: skip


@cuda.jit
def filter_parts(pixels, deltas, height, width, pieces, parts):
    """What the deltas say about filters and bias; blocks of THREADS threads.

    pixels (B * H * W, C), C a multiple of four, deltas (B * H * W, F), float32; pieces: of all
    images. Sets parts (blocks along x, 9 * C + 1, F), one per block: row tap * C + channel, the
    bias last. y counts groups of CHANNELS channels, z those of FILTERS filters.
    """
    tile = cuda.shared.array((FETCHED_PIXELS, TURNED_PITCH), float32, alignment=16)
    of_warps = cuda.shared.array((WARPS, TAPS_AND_BIAS, CHANNELS, FILTERS), float32)
    sums = cuda.local.array((PAIRS, FILTER_TILES, 4), float32)
    lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    first_channel, first_filter = cuda.blockIdx.y * CHANNELS, cuda.blockIdx.z * FILTERS
    clear(sums)
    for piece in range(cuda.blockIdx.x, pieces, cuda.gridDim.x):
        image, top, left = place_of_piece(piece, height, width)
        begin_piece(pixels, image, top, left, height, width, first_channel, tile)
        # As in `convolve_piece`.
        wait_for_copies()
        cuda.syncthreads()
        add_pixels(tile, deltas, image, top, left, height, width, first_filter, sums)
        cuda.syncthreads()

    for i in range(PAIRS):
        for j in range(FILTER_TILES):
            for n in range(4):
                tap, f = 2 * i + n // 2, 8 * j + 2 * (lane % 4) + n % 2
                of_warps[warp, tap, lane // 4, f] = sums[i, j, n]
    # The sums of all warps must be there before they are added up.
    cuda.syncthreads()
    channels = pixels.shape[1]
    for i in range(cuda.threadIdx.x, TAPS_AND_BIAS * CHANNELS * FILTERS, THREADS):
        tap, channel, f = i // (CHANNELS * FILTERS), i // FILTERS % CHANNELS, i % FILTERS
        row = tap * channels + first_channel + channel
        inside = first_channel + channel < channels
        if tap == TAPS * TAPS:
            inside = first_channel + channel == 0
        if inside and first_filter + f < parts.shape[2]:
            total = float32(0)
            for other in range(WARPS):
                total += of_warps[other, tap, channel, f]
            parts[cuda.blockIdx.x, row, first_filter + f] = total


# ---------------------------------------------------------------- filters as large as the images


@cuda.jit
def one_place(images, filters, bias, out):
    """out (B, F) = images (B, n) @ filters (n, F) + bias (F,), all float32; a warp per number.

    A filter that covers its image has one place, and so few sums that a product's tiles of them
    would be one or two blocks.
    """
    number, lane = cuda.grid(1) // WARP, cuda.threadIdx.x % WARP
    image, f = number // out.shape[1], number % out.shape[1]
    if image >= out.shape[0]:
        return

    total = float32(0)
    for i in range(lane, images.shape[1], WARP):
        total += images[image, i] * filters[i, f]
    for distance in (16, 8, 4, 2, 1):
        total += cuda.shfl_xor_sync(ALL_LANES, total, distance)
    if lane == 0:
        out[image, f] = total + bias[f]


@cuda.jit
def gradients_of_one_place(deltas, filters, gradients):
    """gradients (B, n) = deltas (B, F) @ filters (n, F).T; a thread per number."""
    number = cuda.grid(1)
    image, place = number // gradients.shape[1], number % gradients.shape[1]
    if image >= gradients.shape[0]:
        return

    total = float32(0)
    for f in range(deltas.shape[1]):
        total += deltas[image, f] * filters[place, f]
    gradients[image, place] = total


# ---------------------------------------------------------------- launches


def fits(side, stride, padding, *channels):
    """Whether these kernels are for such a convolution; channels: of what they copy."""
    same = (side, stride, padding) == (TAPS, 1, TAPS // 2)
    return same and all(number % 4 == 0 for number in channels)


def covers(filters, images, padding):
    return filters.shape[:2] == images.shape[1:3] and padding == 0


def launch_convolve(images, filters, bias, stride, padding, out, launch=on_gpu):
    if covers(filters, images, padding):
        arguments = rows_of(images), filters.reshape(-1, filters.shape[3]), bias, rows_of(out)
        launch(one_place, blocks_for(out.size, WARPS), THREADS, *arguments)
        return
    if not fits(filters.shape[0], stride, padding, images.shape[3]):
        launch_convolve_as_product(images, filters, bias, stride, padding, out, launch)
        return
    arguments = as_pixels(images), filters, bias, *out.shape[1:3], as_pixels(out)
    launch(convolve_taps, blocks_of_pieces(out), THREADS, *arguments)


def launch_image_gradients(deltas, filters, stride, padding, image_slopes, launch=on_gpu):
    if covers(filters, image_slopes, padding):
        weights = filters.reshape(-1, filters.shape[3])
        blocks = blocks_for(image_slopes.size, THREADS)
        arguments = rows_of(deltas), weights, rows_of(image_slopes)
        launch(gradients_of_one_place, blocks, THREADS, *arguments)
        return
    if not fits(filters.shape[0], stride, padding, deltas.shape[3]):
        gradients.launch_image_gradients(deltas, filters, stride, padding, image_slopes, launch)
        return
    arguments = as_pixels(deltas), filters, *deltas.shape[1:3], as_pixels(image_slopes)
    launch(gradients_by_taps, blocks_of_pieces(image_slopes), THREADS, *arguments)


def launch_filter_gradients(images, deltas, side, stride, padding, parts, launch=on_gpu):
    """parts may be any number: so many blocks share the pieces."""
    if not fits(side, stride, padding, images.shape[3]):
        gradients.launch_filter_gradients(images, deltas, side, stride, padding, parts, launch)
        return
    channels, number = images.shape[3], deltas.shape[3]
    blocks = parts.shape[0], blocks_for(channels, CHANNELS), blocks_for(number, FILTERS)
    pieces = pieces_of(*images.shape[:3])
    arguments = as_pixels(images), as_pixels(deltas), *images.shape[1:3], pieces, parts
    launch(filter_parts, blocks, THREADS, *arguments)


def pieces_of(count, height, width):
    return count * blocks_for(height, PIECE) * blocks_for(width, PIECE)


def blocks_of_pieces(images):
    """One block per piece and FILTERS channels of images (B, H, W, channels)."""
    return pieces_of(*images.shape[:3]), blocks_for(images.shape[3], FILTERS)


def rows_of(images):
    """(B, H, W, C) as (B, H * W * C): the same memory."""
    return images.reshape(images.shape[0], -1)


def as_pixels(images):
    """(B, H, W, C) as (B * H * W, C): the same memory."""
    return images.reshape(-1, images.shape[3])


def on_tensor_cores(stages):
    """`learner.Stages` with these functions in the place of the lesson's."""
    return stages._replace(
        convolve=launch_convolve,
        image_gradients=launch_image_gradients,
        filter_gradients=launch_filter_gradients,
    )
