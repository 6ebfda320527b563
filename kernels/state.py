"""What training changes: the parameters, and what Adam remembers about each of them."""

from typing import NamedTuple

import numpy as np

from kernels.config import Config


class State(NamedTuple):
    """All that a run must save to continue exactly where it stopped, besides the step number.

    The `m` and `v` arrays are Adam's running averages; `grid_steps` counts each cell's updates.
    """

    feature_grid: np.ndarray  # (gh, gw, 3) float32, or with as many channels as were chosen
    grid_m: np.ndarray  # the same
    grid_v: np.ndarray  # the same
    grid_steps: np.ndarray  # (gh, gw) int32
    weights: np.ndarray  # (n,) float32, each layer's matrix (fan_in, fan_out), then its biases
    weights_m: np.ndarray  # (n,) float32
    weights_v: np.ndarray  # (n,) float32


def initial_state(config: Config) -> State:
    """Random parameters, a pure function of `config.seed`; Adam's averages start at zero.

    Weights are uniform with variance 2 / (fan_in + fan_out), which keeps activations on the way up
    and gradients on the way down at about the same size from layer to layer (Glorot and Bengio,
    "Understanding the difficulty of training deep feedforward neural networks", AISTATS 2010).
    """
    random = np.random.Generator(np.random.Philox(config.seed))
    grid_shape = (config.grid_height, config.grid_width, config.channels)
    feature_grid = random.uniform(-GRID_SPREAD, GRID_SPREAD, grid_shape).astype(np.float32)
    layers = []
    for fan_in, fan_out in config.layer_shapes:
        layers.append(random.uniform(-1, 1, fan_in * fan_out) * np.sqrt(6 / (fan_in + fan_out)))
        layers.append(np.zeros(fan_out if config.biases else 0))
    weights = np.concatenate(layers).astype(np.float32)
    return State(
        feature_grid, np.zeros_like(feature_grid), np.zeros_like(feature_grid),
        np.zeros(grid_shape[:2], np.int32), weights, np.zeros_like(weights), np.zeros_like(weights),
    )  # fmt: skip


# Large enough that neighbouring cells differ from the start, small beside the colours to come.
GRID_SPREAD = 0.01
