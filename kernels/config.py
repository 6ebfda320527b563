"""Every size and setting of the project, in one place.

The constants describe the network and the thread blocks; kernels import them by name, because
a shared-memory array needs a size that is known when the kernel is compiled. `Config` holds what
a user may choose.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from kernels.plumbing.errors import InputError

# ---------------------------------------------------------------- the network

TILE = 16  # weight tiles are TILE x TILE, and so are the MLP's thread blocks: 256 threads

GRID_CHANNELS = 3  # what a cell of the feature grid stores; it is looked up like a pixel
SUB_CELL_FEATURES = 2  # one sinusoid per axis: where between its neighbours a sample lies
FOURIER_OCTAVES = 2  # sine and cosine of one and of two waves across the picture, on both axes
# So many channels say something about the coordinate: 3 + 2 + 8.
ENCODED = GRID_CHANNELS + SUB_CELL_FEATURES + 4 * FOURIER_OCTAVES
FEATURES = TILE  # they are padded with ones to one tile
OUTPUTS = TILE  # what the last layer computes: one tile, of which
COLOURS = 3  # the first three are red, green and blue
HIDDEN_WIDTHS = (16, 32, 64, 128)
MAX_HIDDEN = 64  # of the staged kernels, which keep activations in shared memory
MAX_LAYERS = 4
# What a network may also be made of; all but the usual one are trained by `kernels/general`.
MAX_CHANNELS, MAX_OCTAVES = 8, 6
ACTIVATIONS = ("relu", "sine", "gelu")
OUTPUT_ACTIVATIONS = ("sigmoid", "none")

# ---------------------------------------------------------------- thread blocks

WARP = 32  # threads whose instructions a GPU runs together; each is a lane of it
THREADS = 128  # per block, in kernels with one thread per sample: four warps
BLOCK_THREADS = TILE * TILE  # per block, where the threads of a block work together
TILE_SAMPLES = 64  # samples whose activations a block keeps in shared memory
SAMPLES_PER_THREAD = TILE_SAMPLES // TILE
# A row of activations is one word longer than the widest layer. 65 is odd, so walking down a
# column visits all 32 banks of shared memory; with 64 every row would start in the same bank.
TILE_PITCH = MAX_HIDDEN + 1
# The same for a tile of weights, where a warp reads down a column of it: on the way back.
WEIGHT_PITCH = TILE + 1

# ---------------------------------------------------------------- limits that keep memory sane

MAX_STEPS = 100_000_000
MAX_BATCH = 1 << 24
MAX_GRID_CELLS = 1 << 24
MAX_BITS = 10  # of a number in a `.lake` file; so the three numbers of a cell fit into a word
MAX_SEED = (1 << 64) - 1


def require_sizes_that_fit() -> None:
    """Raise `ValueError` if the sizes above cannot work together: kernels trust them unchecked."""
    if ENCODED > FEATURES:
        raise ValueError(
            f"FOURIER_OCTAVES = {FOURIER_OCTAVES} makes {ENCODED} channels of a coordinate, but "
            f"FEATURES = {FEATURES} has no room for them: choose fewer octaves"
        )
    if GRID_CHANNELS != COLOURS:
        raise ValueError(
            f"GRID_CHANNELS = {GRID_CHANNELS} must be COLOURS = {COLOURS}: grid cells and pixels "
            "are looked up by the same functions"
        )
    if any(size % TILE for size in (*HIDDEN_WIDTHS, TILE_SAMPLES)):
        raise ValueError(
            f"HIDDEN_WIDTHS = {HIDDEN_WIDTHS} and TILE_SAMPLES = {TILE_SAMPLES} must be multiples "
            f"of TILE = {TILE}"
        )


require_sizes_that_fit()


class AdamRates(NamedTuple):
    """Adam's constants as float32 scalars, passed to kernels as one argument."""

    beta1: np.float32
    beta2: np.float32
    epsilon: np.float32


# As they were published (Kingma and Ba, ICLR 2015): what the networks of part two move with.
BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
PUBLISHED_RATES = AdamRates(np.float32(BETA1), np.float32(BETA2), np.float32(EPSILON))


def falling_factor(step: int, steps: int) -> float:
    """What a learning rate is multiplied by at `step` (1 ... steps).

    1 for the first half of the run, then in a straight line toward 0: large steps find the picture,
    small steps at the end average out the noise that random batches bring.
    """
    return min(1.0, 2 * (steps - step + 1) / steps)


@dataclass(frozen=True)
class Config:
    """What a training run is made of. Raises `InputError` for values that cannot work.

    Two runs with equal configs on the same image draw the same batches and, on the CPU backend,
    end with the same bits.
    """

    steps: int = 40_000
    batch: int = 16_384
    seed: int = 1
    grid_width: int = 200
    grid_height: int = 137
    hidden: int = 32
    layers: int = 2
    learning_rate_mlp: float = 0.01
    learning_rate_grid: float = 0.02
    beta1: float = 0.9
    beta2: float = 0.99
    epsilon: float = 1e-15
    channels: int = GRID_CHANNELS
    octaves: int = FOURIER_OCTAVES
    activation: str = ACTIVATIONS[0]
    output_activation: str = OUTPUT_ACTIVATIONS[0]
    biases: bool = False
    bits: int = 0  # that a number of the grid is rounded to in every step; 0: it stays as it is

    def __post_init__(self) -> None:
        require_integer("steps", self.steps, 1, MAX_STEPS)
        require_integer("batch", self.batch, 1, MAX_BATCH)
        require_integer("seed", self.seed, 0, MAX_SEED)
        require_integer("grid width", self.grid_width, 1, MAX_GRID_CELLS)
        require_integer("grid height", self.grid_height, 1, MAX_GRID_CELLS)
        if self.grid_width * self.grid_height > MAX_GRID_CELLS:
            raise InputError(
                f"a grid of {self.grid_width}x{self.grid_height} has more than {MAX_GRID_CELLS:,} "
                "cells; choose a smaller one, such as 200x137"
            )
        if self.hidden not in HIDDEN_WIDTHS:
            *most, last = HIDDEN_WIDTHS
            raise InputError(
                f"hidden width {self.hidden} is not supported; "
                f"choose {', '.join(map(str, most))} or {last}"
            )
        require_integer("layers", self.layers, 1, MAX_LAYERS)
        require_integer("grid channels", self.channels, 1, MAX_CHANNELS)
        require_integer("octaves", self.octaves, 0, MAX_OCTAVES)
        require_one_of("activation", self.activation, ACTIVATIONS)
        require_one_of("output activation", self.output_activation, OUTPUT_ACTIVATIONS)
        require_one_of("biases", self.biases, (False, True))
        require_integer("bits", self.bits, 0, MAX_BITS)
        as_stored = (self.hidden, self.layers) == (Config.hidden, Config.layers)
        if self.bits and not (self.is_usual_network and as_stored):
            raise InputError(
                "--bits is for the network that a .lake file holds: leave out --hidden, --layers, "
                "--channels, --octaves, --activation, --output and --biases"
            )
        require_rate("learning rate of the MLP", self.learning_rate_mlp)
        require_rate("learning rate of the grid", self.learning_rate_grid)
        for name in ("beta1", "beta2", "epsilon"):
            value = getattr(self, name)
            if not 0 <= value < 1:
                raise InputError(f"{name} must be a number from 0 to below 1, not {value}")

    @property
    def is_usual_network(self) -> bool:
        """Whether it is the network that the staged kernels are made for."""
        usual = all(getattr(self, name) == getattr(Config, name) for name in NETWORK_KNOBS)
        return usual and self.hidden <= MAX_HIDDEN

    @property
    def suits_tensor_cores(self) -> bool:
        """Whether the fused kernels are made for it: three or four channels, all else as usual."""
        knobs = [name for name in NETWORK_KNOBS if name != "channels"]
        usual = all(getattr(self, name) == getattr(Config, name) for name in knobs)
        return usual and self.channels in (3, 4)

    @property
    def features(self) -> int:
        """How many numbers describe a coordinate, with the ones that fill up the last tile."""
        encoded = self.channels + SUB_CELL_FEATURES + 4 * self.octaves
        return -(-encoded // TILE) * TILE

    @property
    def layer_shapes(self) -> list[tuple[int, int]]:
        """(fan_in, fan_out) of each weight matrix, first layer first."""
        widths = [self.features] + [self.hidden] * self.layers + [OUTPUTS]
        return list(itertools.pairwise(widths))

    @property
    def weight_count(self) -> int:
        return sum((fan_in + self.biases) * fan_out for fan_in, fan_out in self.layer_shapes)

    @property
    def parameter_count(self) -> int:
        return self.weight_count + self.grid_width * self.grid_height * self.channels

    @property
    def adam_rates(self) -> AdamRates:
        return AdamRates(np.float32(self.beta1), np.float32(self.beta2), np.float32(self.epsilon))

    def learning_rate_factor(self, step: int) -> float:
        """What both learning rates are multiplied by at `step` (1 ... steps)."""
        return falling_factor(step, self.steps)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


# What kernels have to be made for, apart from sizes.
NETWORK_KNOBS = ("channels", "octaves", "activation", "output_activation", "biases")

# A grid that fits a picture has this many pixels per cell: at least, and at most if the picture is
# large. The lake has 16 to a cell of the default grid.
FEWEST_PIXELS_PER_CELL, MOST_PIXELS_PER_CELL = 4, 17
MOST_FITTING_CELLS = 1 << 21  # enough for 8K


def fitting_grid(width: int, height: int) -> tuple[int, int]:
    """(grid width, grid height) for a picture of width x height pixels, with cells about square.

    As many cells as the default grid has, which fits the lake; fewer for a small picture, which a
    grid of its own size would only copy; more for a picture with more pixels than the lake.
    """
    usual, pixels = Config.grid_width * Config.grid_height, width * height
    most = min(max(usual, pixels // MOST_PIXELS_PER_CELL), MOST_FITTING_CELLS)
    cells = min(most, pixels // FEWEST_PIXELS_PER_CELL)
    grid_width = min(max(1, round(math.sqrt(cells * width / height))), max(1, cells))
    return grid_width, max(1, round(cells / grid_width))


def require_integer(name: str, value: int, lowest: int, highest: int) -> None:
    """Raise `InputError` unless `value` is an int from `lowest` to `highest`."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise InputError(f"{name} must be a whole number, not {value!r}")
    if not lowest <= value <= highest:
        raise InputError(f"{name} must lie between {lowest:,} and {highest:,}, not {value:,}")


def require_one_of(name: str, value: object, allowed: Sequence[object]) -> None:
    """Raise `InputError` unless `value` is one of the allowed ones."""
    if not any(value is one or (value == one and type(value) is type(one)) for one in allowed):
        *most, last = map(str, allowed)
        raise InputError(f"{name} must be {', '.join(most)} or {last}, not {value!r}")


def require_rate(name: str, value: float) -> None:
    """Raise `InputError` unless `value` is a number above 0 and at most 10."""
    if not (isinstance(value, (int, float)) and 0 < value <= 10):
        raise InputError(
            f"the {name} must be a number above 0 and at most 10, not {value}; try 0.01"
        )
