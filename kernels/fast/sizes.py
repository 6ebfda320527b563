"""What the fused kernels are made for, and what they are given.

A tensor core multiplies tiles: 16 samples x 16 inputs by 16 inputs x 8 units. So every matrix is
cut into such tiles, and how many there are follows from the network's width and depth, once, here,
before a kernel is compiled. Loops over them have constant ends then, and arrays of registers stay
registers (see `products`).

All arrays of a run are one argument, all scalars another.
"""

from functools import cache, partial
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import cuda

from kernels.config import COLOURS, FEATURES, GRID_CHANNELS, WARP

# A warp takes as many samples as it has lanes.
SAMPLE_TILES = 2  # of 16 samples per warp: two chains of products that do not wait for each other
TILE_UNITS = 8  # units that one instruction computes
K_BLOCK = 16  # inputs that one instruction sums over
GROUP = 16  # samples of a warp in later kernels: the rows of one product

FEATURE_TILES = FEATURES // TILE_UNITS
FEATURE_WORDS = FEATURES // 2  # two features per word
# A row also holds two words of deltas. 12 r + c meets no bank twice for r < 8, c < 4.
FEATURE_PITCH = FEATURE_WORDS + 4
USED_OUTPUTS = 8  # of 16: the first three are colours, the others never change
MOST_CHANNELS = 4  # of the grid: a cell is read, and added to, as one row of four floats
MOST_UNITS = 8 * TILE_UNITS  # a ReLU mask is one word, with four bits per tile of units
SHARED_BYTES = 48 * 1024  # per block, on every GPU


def fast_math(registers=None):
    """`cuda.jit` with approximate division and square root. registers: per thread, at most.

    Without link-time optimisation, the default of numba-cuda 0.30: it leaves the approximations out
    (a tenth of a step). And that wish is heard only where `jit` is called on the function itself.
    """
    options: dict[str, Any] = {"fastmath": True}
    if not numba.config.ENABLE_CUDASIM:
        options["lto"] = False
        if registers:
            options["max_registers"] = registers
    return partial(cuda.jit, **options)


class NetworkSize:
    """`layers` hidden layers of `hidden` units, and the `warps` per block that work on them.

    `channels` are those of the grid: the first features, whose gradients leave the network.

    Weights lie in shared memory as `words`: two inputs' weights to one unit per uint32, rows 8
    words longer than there are units (see `products`). `transposed` holds tiles of 8 units, as
    16-bit floats: the features, the activations of each layer, room for one more layer of deltas,
    and the deltas of the outputs. Each layer's deltas go where the next layer's activations were.
    """

    def __init__(self, hidden, layers, warps, channels):
        self.hidden, self.layers, self.warps, self.channels = hidden, layers, warps, channels
        self.threads = warps * WARP  # per block, and its samples
        # Of `staging`: three colours, or the gradients of the grid's channels.
        self.columns = max(COLOURS, channels)
        self.unit_tiles, self.k_blocks = hidden // TILE_UNITS, hidden // K_BLOCK
        # Number of weights, as the parameters count them: float32, row-major, matrix after matrix.
        self.first_weights, self.middle_weights = FEATURES * hidden, hidden * hidden
        self.weights_before_last = self.first_weights + (layers - 1) * self.middle_weights
        # The same in words of shared memory.
        self.pitch = hidden + TILE_UNITS
        self.first_words, self.middle_words = FEATURES // 2 * self.pitch, hidden // 2 * self.pitch
        self.words_before_last = self.first_words + (layers - 1) * self.middle_words
        self.words = self.words_before_last + hidden // 2 * USED_OUTPUTS
        # Which tile of `transposed` holds the deltas of the outputs: the last.
        self.output_deltas = FEATURE_TILES + (layers + 1) * self.unit_tiles
        self.transposed_shape = self.output_deltas + 1, warps * SAMPLE_TILES, WARP, 2
        self.relu_masks_shape = layers, SAMPLE_TILES, self.threads
        transposed = (self.output_deltas + 1) * TILE_UNITS * self.threads * 2
        # Features and deltas, staged columns, ReLU masks; one float when weights are moved.
        words_per_thread = FEATURE_PITCH + self.columns + SAMPLE_TILES * layers + 1
        self.shared_bytes = 4 * self.words + transposed + 4 * self.threads * words_per_thread


@cache
def network_size(hidden, layers, channels=GRID_CHANNELS):
    """`NetworkSize` with as many warps per block as fit into shared memory.

    hidden: 16, 32, ... layers: 1 to 4. channels: of the grid, 3 or 4. With 0 warps if none fits,
    or if there are more than MOST_UNITS units.
    """
    for warps in (4, 2, 1) if hidden <= MOST_UNITS else ():
        size = NetworkSize(hidden, layers, warps, channels)
        if size.shared_bytes <= SHARED_BYTES:
            return size
    return NetworkSize(hidden, layers, 0, channels)


# ---------------------------------------------------------------- arguments of the kernels

# Turns of the buffers in the kernel with one barrier per step. Three are in use at once; of four a
# step's own is a mask away.
TURNS = 4
TURN_MASK = TURNS - 1


class FusedArrays(NamedTuple):
    """What the fused kernels work on, in one argument. All float32 unless said."""

    image: Any  # (H * W, 4)
    feature_grid: Any  # (gh * gw, 4)
    grad_feature_grid: Any  # (gh * gw, 4); int64 if deterministic
    grid_m: Any  # (gh * gw, 4)
    grid_v: Any  # (gh * gw, 4); with three channels the fourth is what `grid_steps` else holds:
    grid_steps: Any  # (gh * gw,), how often each cell has been moved; empty with three channels
    weights: Any  # (n,)
    grad_weights: Any  # (`rows_to_sum` * n,): a sum for each block, other rows zero
    weights_m: Any  # (n,)
    weights_v: Any  # (n,)
    corrections: Any  # (rows, 2), see `adam.bias_corrections`
    squared_errors: Any  # (threads of all blocks,): summed over steps


class StepSettings(NamedTuple):
    """Scalars of a run, for kernels."""

    seed: np.uint64
    batch: np.int32
    image_width: np.int32
    image_height: np.int32
    grid_width: np.int32
    grid_height: np.int32
    rates: Any  # `AdamRates`


class OneBarrierArrays(NamedTuple):
    """The same for the kernel with one barrier per step, whose buffers take `TURNS` turns."""

    image: Any  # (H * W, 4)
    feature_grid: Any  # (gh * gw, 4)
    grid_m: Any  # (gh * gw, 4)
    grid_v: Any  # (gh * gw, 4); the fourth is how often the cell has been moved
    weights: Any  # (n,)
    weights_m: Any  # (n,)
    weights_v: Any  # (n,)
    cell_copies: Any  # (parts * TURNS * gh * gw, 4), see `cells`
    grad_cells: Any  # (TURNS * gh * gw, 4); int64 if deterministic
    grad_weights: Any  # (TURNS * rows, 4), see `weight_tiles`; int64 (..., 2) if deterministic
    corrections: Any  # (rows, 2), see `adam.bias_corrections`
    cell_corrections: Any  # (rows, 4): row t has those of moves t + 1 and t + 2
    squared_errors: Any  # (threads of all blocks,): summed over steps
