"""Between threads and fragments: what goes into the network on tensor cores, and what comes out.

Around the network a thread is a sample: it knows the sample's features and its colour. Inside, a
sample's numbers are spread over the lanes of a warp, in fragments (see `ptx`). Rows of shared
memory, one a sample, lie between the two. The lanes that read a row belong to the warp that has
written it, so that `syncwarp` is all the waiting it takes.
"""

from numba import cuda, float32, uint32

from kernels.config import COLOURS, FEATURES
from kernels.fast.products import TILES, WARP, keep_transposed
from kernels.fast.ptx import halves_to_bfloats, pack_bfloats
from kernels.field_math import sigmoid

FEATURE_WORDS = FEATURES // 2
# A row also holds two words of deltas. 12 r + c meets no bank twice for r < 8, c < 4.
FEATURE_PITCH = FEATURE_WORDS + 4


@cuda.jit(device=True)
def load_features(rows, operand, warp, lane):
    """Rows of features, a sample each -> operand of the first layer."""
    row, column = lane >> 2, lane & 3
    for tile in range(TILES):
        sample = WARP * warp + 16 * tile + row
        for side in range(2):
            operand[tile, 0, 2 * side] = rows[sample, 4 * side + column]
            operand[tile, 0, 2 * side + 1] = rows[sample + 8, 4 * side + column]


@cuda.jit(device=True)
def keep_features(operand, transposed, warp, lane):
    """The transposed copy of the features, as bfloats."""
    for tile in range(TILES):
        for side in range(2):
            upper = halves_to_bfloats(operand[tile, 0, 2 * side])
            lower = halves_to_bfloats(operand[tile, 0, 2 * side + 1])
            keep_transposed(transposed, side, TILES * warp + tile, lane, upper, lower)


@cuda.jit(device=True)
def hand_over(sums, exchange, warp, lane):
    """The first three columns of the sums, from fragments to rows (samples, 3), a sample a row."""
    row, first_column = lane >> 2, 2 * (lane & 3)
    if first_column >= COLOURS:
        return
    for tile in range(TILES):
        sample = WARP * warp + 16 * tile + row
        exchange[sample, first_column] = sums[tile, 0, 0]
        exchange[sample + 8, first_column] = sums[tile, 0, 2]
        if first_column + 1 < COLOURS:
            exchange[sample, first_column + 1] = sums[tile, 0, 1]
            exchange[sample + 8, first_column + 1] = sums[tile, 0, 3]


@cuda.jit(device=True)
def output_delta(exchange, thread, target, inside, rows):
    """Sigmoid, error and their derivative, one thread a sample.

    The factor 2 / (3 B) is left to the end: without it deltas are of a size that 16 bits
    represent well. Packs them behind the sample's features; returns the sum of squared errors.
    """
    if not inside:
        rows[thread, FEATURE_WORDS] = uint32(0)
        rows[thread, FEATURE_WORDS + 1] = uint32(0)
        return float32(0)
    red, green, blue = (
        sigmoid(exchange[thread, 0]), sigmoid(exchange[thread, 1]), sigmoid(exchange[thread, 2]),
    )  # fmt: skip
    red_error, green_error, blue_error = red - target[0], green - target[1], blue - target[2]
    one = float32(1)
    rows[thread, FEATURE_WORDS] = pack_bfloats(
        red_error * red * (one - red), green_error * green * (one - green)
    )
    rows[thread, FEATURE_WORDS + 1] = pack_bfloats(blue_error * blue * (one - blue), float32(0))
    return red_error * red_error + green_error * green_error + blue_error * blue_error


@cuda.jit(device=True)
def load_delta(rows, operand, transposed, place, warp, lane):
    """Rows of deltas -> operand of the way back (columns 3 to 15 are zero), transposed copy."""
    row, column = lane >> 2, lane & 3
    for tile in range(TILES):
        sample = WARP * warp + 16 * tile + row
        upper, lower = uint32(0), uint32(0)
        if column < 2:
            upper = rows[sample, FEATURE_WORDS + column]
            lower = rows[sample + 8, FEATURE_WORDS + column]
        operand[tile, 0, 0], operand[tile, 0, 1] = upper, lower
        operand[tile, 0, 2], operand[tile, 0, 3] = uint32(0), uint32(0)
        keep_transposed(transposed, place, TILES * warp + tile, lane, upper, lower)
