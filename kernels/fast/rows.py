"""Between threads and fragments: what goes into the network on tensor cores, and what comes out.

Around the network one thread is one sample: it knows the sample's features and its colour. Inside,
a sample's numbers are spread over the lanes of a warp, in fragments (see `ptx`). Two arrays in
shared memory lie between the two, with one row per sample: `rows` (samples, FEATURE_PITCH) uint32
holds features as halves and the deltas of the outputs as bfloat16, two per word; `staging`
(samples, size.columns) float32 holds the columns that leave the network. The lanes that read a row
belong to the warp that has written it, so `syncwarp` is enough between the two.
"""

from functools import cache

from numba import cuda, float32, uint32

from kernels.fast.products import store_transposed
from kernels.fast.ptx import halves_to_bfloat16, pack_bfloat16
from kernels.fast.sizes import FEATURE_WORDS, SAMPLE_TILES, WARP
from kernels.field_math import sigmoid


@cuda.jit(device=True)
def load_features(rows, operand, warp, lane):
    """Rows of features, one per sample -> operand of the first layer."""
    row, column = lane >> 2, lane & 3
    for tile in range(SAMPLE_TILES):
        sample = WARP * warp + 16 * tile + row
        for side in range(2):
            operand[tile, 0, 2 * side] = rows[sample, 4 * side + column]
            operand[tile, 0, 2 * side + 1] = rows[sample + 8, 4 * side + column]


@cuda.jit(device=True)
def transpose_features(operand, transposed, warp, lane):
    """Store the transposed copy of the features, as bfloat16."""
    for tile in range(SAMPLE_TILES):
        for side in range(2):
            upper = halves_to_bfloat16(operand[tile, 0, 2 * side])
            lower = halves_to_bfloat16(operand[tile, 0, 2 * side + 1])
            store_transposed(transposed, side, SAMPLE_TILES * warp + tile, lane, upper, lower)


@cache
def make_store_columns(columns):
    """columns: 3 for colours, or as many as the grid has channels."""

    @cuda.jit(device=True)
    def store_columns(sums, staging, warp, lane):
        """The first columns of the sums, from fragments to one row per sample."""
        row, first_column = lane >> 2, 2 * (lane & 3)
        if first_column >= columns:
            return
        for tile in range(SAMPLE_TILES):
            sample = WARP * warp + 16 * tile + row
            staging[sample, first_column] = sums[tile, 0, 0]
            staging[sample + 8, first_column] = sums[tile, 0, 2]
            if first_column + 1 < columns:
                staging[sample, first_column + 1] = sums[tile, 0, 1]
                staging[sample + 8, first_column + 1] = sums[tile, 0, 3]

    return store_columns


@cuda.jit(device=True)
def store_output_delta(staging, thread, target, inside, rows):
    """Sigmoid, error and their derivative, one thread per sample.

    The factor 2 / (3 B) is left to the end: without it deltas are of a size that 16 bits
    represent well. Packs them behind the sample's features; returns the sum of squared errors.
    """
    if not inside:
        rows[thread, FEATURE_WORDS] = uint32(0)
        rows[thread, FEATURE_WORDS + 1] = uint32(0)
        return float32(0)
    red, green, blue = (
        sigmoid(staging[thread, 0]), sigmoid(staging[thread, 1]), sigmoid(staging[thread, 2]),
    )  # fmt: skip
    red_error, green_error, blue_error = red - target[0], green - target[1], blue - target[2]
    one = float32(1)
    rows[thread, FEATURE_WORDS] = pack_bfloat16(
        red_error * red * (one - red), green_error * green * (one - green)
    )
    rows[thread, FEATURE_WORDS + 1] = pack_bfloat16(blue_error * blue * (one - blue), float32(0))
    return red_error * red_error + green_error * green_error + blue_error * blue_error


@cuda.jit(device=True)
def load_output_delta(rows, operand, transposed, unit_tile, warp, lane):
    """Rows of deltas -> operand of the way back (columns 3 to 15 are zero), transposed copy."""
    row, column = lane >> 2, lane & 3
    for tile in range(SAMPLE_TILES):
        sample = WARP * warp + 16 * tile + row
        upper, lower = uint32(0), uint32(0)
        if column < 2:
            upper = rows[sample, FEATURE_WORDS + column]
            lower = rows[sample + 8, FEATURE_WORDS + column]
        operand[tile, 0, 0], operand[tile, 0, 1] = upper, lower
        operand[tile, 0, 2], operand[tile, 0, 3] = uint32(0), uint32(0)
        store_transposed(transposed, unit_tile, SAMPLE_TILES * warp + tile, lane, upper, lower)
