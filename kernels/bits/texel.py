"""Any texel of a packed picture, read alone: four cells, and a small network.

    words (m,) uint32, weights (1568,) float32, texels (n,) int32  ->  colours (n, 3) float32

The idea: a texel lies between four cells. They are read, at most eight words, blended, and the
network makes a colour of them. Nothing else of the picture is touched, unlike in a JPEG, where the
bits of a block begin where those of the block before have ended. All texels need the same weights,
so a block of threads fetches them once, into shared memory.

The features are those of `kernels/encode.py`, and a single 1 behind them: the weights that meet it
are the biases. The layers have 14, 32 and 32 inputs, and 32, 32 and 3 outputs. A thread has 32 sums
in registers: a unit of the first layer is added to all of them once it is known, and forgotten.

Source: Vaidyanathan et al., "Random-access neural compression of material textures", SIGGRAPH 2023.
"""

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.bits.cells import unpack_cell
from kernels.bits.quantise import level_value
from kernels.config import (
    BLOCK_THREADS,
    COLOURS,
    ENCODED,
    FOURIER_OCTAVES,
    GRID_CHANNELS,
    SUB_CELL_FEATURES,
)
from kernels.field_math import (
    corner_weights,
    neighbours,
    pixel_centre,
    relu,
    sigmoid,
    sine_of_turns,
)
from kernels.launch import blocks_for, on_gpu

HIDDEN = 32  # units of each of the two hidden layers
INPUTS = ENCODED + 1  # the features, and a one
WEIGHTS = INPUTS * HIDDEN + HIDDEN * HIDDEN + HIDDEN * COLOURS


@register_jitable
def blend_cells(u, v, words, bits, columns, rows, features):
    """Blend the numbers of the four cells around a coordinate into features[0], [1] and [2].

    u, v: float32 in [0, 1). words: see `cells.py`, of a grid of `columns` x `rows` cells.
    features: (14,) float32. Returns how far the coordinate lies from the first cell's centre toward
    the next, along x and along y: float32.
    """
    left, right, x_fraction = neighbours(u, columns)
    top, bottom, y_fraction = neighbours(v, rows)
    shares = corner_weights(x_fraction, y_fraction)
    cells = (
        top * columns + left,
        top * columns + right,
        bottom * columns + left,
        bottom * columns + right,
    )
    for channel in range(GRID_CHANNELS):
        features[channel] = float32(0)
    for corner in range(4):
        levels = unpack_cell(words, cells[corner], bits)
        for channel in range(GRID_CHANNELS):
            features[channel] += shares[corner] * level_value(levels[channel], bits)
    return x_fraction, y_fraction


@register_jitable
def describe(u, v, x_fraction, y_fraction, features):
    """Write features 3 to 12, which say where a coordinate is, and the one behind them.

    u, v, x_fraction, y_fraction: float32 in [0, 1). features: (14,) float32.
    """
    features[GRID_CHANNELS] = sine_of_turns(x_fraction)
    features[GRID_CHANNELS + 1] = sine_of_turns(y_fraction)
    channel = GRID_CHANNELS + SUB_CELL_FEATURES
    for axis in range(2):
        waves = u if axis == 0 else v
        for _ in range(FOURIER_OCTAVES):
            features[channel] = sine_of_turns(waves)
            features[channel + 1] = sine_of_turns(waves + float32(0.25))
            channel += 2
            waves *= float32(2)
    features[ENCODED] = float32(1)


@register_jitable
def total_of(inputs, count, weights, first, unit, units):
    """What a unit sums up: inputs times its weights, float32.

    The layer's weights begin at weights[first], row by row: `units` for each of `count` inputs.
    """
    total = float32(0)
    for k in range(count):
        total += inputs[k] * weights[first + k * units + unit]
    return total


@cuda.jit
def decode_texels(words, bits, columns, rows, weights, width, height, texels, colours):
    """Read texels of a packed picture. One thread per texel.

    words: (m,) uint32, see `cells.py`, of a grid of columns x rows cells. weights: (WEIGHTS,)
    float32. The picture has width x height texels; texels: (n,) int32, their numbers row by row, in
    any order. Sets colours (n, 3) float32.
    """
    own_weights = cuda.shared.array(WEIGHTS, float32)
    features = cuda.local.array(INPUTS, float32)
    sums = cuda.local.array(HIDDEN, float32)
    i = cuda.grid(1)
    for k in range(cuda.threadIdx.x, WEIGHTS, BLOCK_THREADS):
        own_weights[k] = weights[k]
    # Nobody may multiply before all weights are there; a thread without a texel fetches, too.
    cuda.syncthreads()
    if i >= texels.shape[0]:
        return

    u, v = pixel_centre(texels[i], width, height)
    x_fraction, y_fraction = blend_cells(u, v, words, bits, columns, rows, features)
    describe(u, v, x_fraction, y_fraction, features)
    second = INPUTS * HIDDEN
    third = second + HIDDEN * HIDDEN
    for unit in range(HIDDEN):
        sums[unit] = float32(0)
    for unit in range(HIDDEN):
        # A unit of the first layer is used as soon as it is known: only the sums above are kept.
        activation = relu(total_of(features, INPUTS, own_weights, 0, unit, HIDDEN))
        for k in range(HIDDEN):
            sums[k] += activation * own_weights[second + unit * HIDDEN + k]
    for unit in range(HIDDEN):
        sums[unit] = relu(sums[unit])
    for colour in range(COLOURS):
        total = total_of(sums, HIDDEN, own_weights, third, colour, COLOURS)
        colours[i, colour] = sigmoid(total)


def launch_decode_texels(
    words, bits, columns, rows, weights, width, height, texels, colours, launch=on_gpu
):
    blocks = blocks_for(texels.shape[0], BLOCK_THREADS)
    launch(
        decode_texels, blocks, BLOCK_THREADS,
        words, bits, columns, rows, weights, width, height, texels, colours,
    )  # fmt: skip
