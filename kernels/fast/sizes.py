"""Sizes of the fused kernels, all known before a kernel is compiled.

A tensor core multiplies tiles: 16 samples x 16 inputs by 16 inputs x 8 units. So every matrix is
cut into such tiles, and how many there are follows from the network's width and depth, once, here.
Loops over them have constant ends then, and arrays of registers stay registers (see `products`).
"""

from functools import cache
from typing import NamedTuple

from kernels.config import COLOURS, FEATURES, GRID_CHANNELS, WARP

# A warp takes as many samples as it has lanes.
SAMPLE_TILES = 2  # of 16 samples per warp: two chains of products that do not wait for each other
TILE_UNITS = 8  # units that one instruction computes
K_BLOCK = 16  # inputs that one instruction sums over

FEATURE_TILES = FEATURES // TILE_UNITS
FEATURE_WORDS = FEATURES // 2  # two features per word
# A row also holds two words of deltas. 12 r + c meets no bank twice for r < 8, c < 4.
FEATURE_PITCH = FEATURE_WORDS + 4
USED_OUTPUTS = 8  # of 16: the first three are colours, the others never change
MOST_CHANNELS = 4  # of the grid: a cell is read, and added to, as one row of four floats
MOST_UNITS = 8 * TILE_UNITS  # a ReLU mask is one word, with four bits per tile of units
SHARED_BYTES = 48 * 1024  # per block, on every GPU


class NetworkSize(NamedTuple):
    """`layers` hidden layers of `hidden` units, and the warps per block that work on them.

    `channels` are those of the grid: the first features, whose gradients leave the network.

    Weights lie in shared memory as `words`: two inputs' weights to one unit per uint32, rows 8
    words longer than there are units (see `products`). `transposed` holds tiles of 8 units, as
    16-bit floats: the features, the activations of each layer, room for one more layer of deltas,
    and the deltas of the outputs. Each layer's deltas go where the next layer's activations were.
    """

    hidden: int
    layers: int
    warps: int
    channels: int = GRID_CHANNELS

    @property
    def columns(self):
        """Columns of `staging`: three colours, or the gradients of the grid's channels."""
        return max(COLOURS, self.channels)

    @property
    def threads(self):
        """Threads per block, and samples."""
        return self.warps * WARP

    @property
    def unit_tiles(self):
        return self.hidden // TILE_UNITS

    @property
    def k_blocks(self):
        return self.hidden // K_BLOCK

    @property
    def pitch(self):
        return self.hidden + TILE_UNITS

    # Number of weights, as the parameters count them: float32, row-major, matrix after matrix.

    @property
    def first_weights(self):
        return FEATURES * self.hidden

    @property
    def middle_weights(self):
        return self.hidden * self.hidden

    @property
    def weights_before_last(self):
        return self.first_weights + (self.layers - 1) * self.middle_weights

    # The same in words of shared memory.

    @property
    def first_words(self):
        return FEATURES // 2 * self.pitch

    @property
    def middle_words(self):
        return self.hidden // 2 * self.pitch

    @property
    def words_before_last(self):
        return self.first_words + (self.layers - 1) * self.middle_words

    @property
    def words(self):
        return self.words_before_last + self.hidden // 2 * USED_OUTPUTS

    # What else lies in shared memory.

    @property
    def output_deltas(self):
        """Which tile of `transposed` holds the deltas of the outputs: the last."""
        return FEATURE_TILES + (self.layers + 1) * self.unit_tiles

    @property
    def transposed_shape(self):
        return self.output_deltas + 1, self.warps * SAMPLE_TILES, WARP, 2

    @property
    def relu_masks_shape(self):
        return self.layers, SAMPLE_TILES, self.threads

    @property
    def shared_bytes(self):
        transposed = (self.output_deltas + 1) * TILE_UNITS * self.threads * 2
        # Features and deltas, staged columns, ReLU masks; one float when weights are moved.
        words_per_thread = FEATURE_PITCH + self.columns + SAMPLE_TILES * self.layers + 1
        return 4 * self.words + transposed + 4 * self.threads * words_per_thread


@cache
def network_size(hidden, layers, channels=GRID_CHANNELS):
    """`NetworkSize` with as many warps per block as fit into shared memory.

    hidden: 16, 32, ... layers: 1 to 4. channels: of the grid, 3 or 4. With 0 warps if none fits,
    or if there are more than MOST_UNITS units.
    """
    if hidden > MOST_UNITS:
        return NetworkSize(hidden, layers, 0, channels)
    for warps in (4, 2, 1):
        size = NetworkSize(hidden, layers, warps, channels)
        if size.shared_bytes <= SHARED_BYTES:
            return size
    return NetworkSize(hidden, layers, 0, channels)
