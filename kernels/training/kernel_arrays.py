"""The arrays and settings of the fused kernels, as the host fills them: `kernels/fast/sizes.py`.

A texture's three channels become four: a kernel reads a cell, or a pixel, as one row of 16 bytes.
"""

from typing import Any

import numpy as np

from kernels.config import Config
from kernels.fast.cells import OneBarrierSize
from kernels.fast.sizes import TURNS, FusedArrays, OneBarrierArrays, StepSettings
from kernels.state import State


def settings_of(config: Config, image: np.ndarray) -> StepSettings:
    """`StepSettings` for a run; image: (H, W, 3)."""
    height, width, _ = map(np.int32, image.shape)
    grid_width, grid_height = np.int32(config.grid_width), np.int32(config.grid_height)
    seed, batch = np.uint64(config.seed), np.int32(config.batch)
    return StepSettings(seed, batch, width, height, grid_width, grid_height, config.adam_rates)


def flat_with_four_channels(array: np.ndarray) -> np.ndarray:
    """(h, w, 3 or 4) -> (h * w, 4) float32, a missing channel zero."""
    height, width, channels = array.shape
    padded = np.zeros((height, width, 4), np.float32)
    padded[:, :, :channels] = array
    return padded.reshape(-1, 4)


def fused_arrays(
    image: np.ndarray,
    state: State,
    corrections: np.ndarray,
    blocks: int,
    rows: int,
    threads: int,
    deterministic: bool = False,
) -> FusedArrays:
    """`FusedArrays` of NumPy arrays. rows: see `rows_to_sum`. threads: per block."""
    flat = flat_with_four_channels
    grid, steps = flat(state.feature_grid), state.grid_steps
    with_room = state.feature_grid.shape[2] < 4
    return FusedArrays(
        image=flat(image), feature_grid=grid,
        grad_feature_grid=np.zeros(grid.shape, np.int64 if deterministic else np.float32),
        grid_m=flat(state.grid_m),
        grid_v=flat(np.dstack([state.grid_v, steps]) if with_room else state.grid_v),
        grid_steps=np.zeros(0, np.float32) if with_room else steps.ravel().astype(np.float32),
        grad_weights=np.zeros(rows * len(state.weights), np.float32),
        weights=state.weights.copy(), weights_m=state.weights_m.copy(),
        weights_v=state.weights_v.copy(), corrections=corrections,
        squared_errors=np.zeros(blocks * threads, np.float32),
    )  # fmt: skip


def moves_of_cells(arrays: Any) -> np.ndarray:
    """(gh * gw,) float32 on the host: how often each cell has been moved."""
    if len(getattr(arrays, "grid_steps", ())):
        return arrays.grid_steps.copy_to_host()
    return arrays.grid_v.copy_to_host()[:, 3]


def one_barrier_arrays(
    image: np.ndarray,
    state: State,
    corrections: np.ndarray,
    blocks: int,
    size: OneBarrierSize,
    deterministic: bool = False,
) -> OneBarrierArrays:
    """`OneBarrierArrays` of NumPy arrays. size: `OneBarrierSize`."""
    flat = flat_with_four_channels
    grid = flat(state.feature_grid)
    cells = TURNS * len(grid)
    sums = np.int64 if deterministic else np.float32
    # Beyond the table both corrections are 1.
    table = np.vstack([corrections[1:], np.ones((3, 2), np.float32)])
    return OneBarrierArrays(
        image=flat(image), feature_grid=grid, grid_m=flat(state.grid_m),
        grid_v=flat(np.dstack([state.grid_v, state.grid_steps])),
        weights=state.weights.copy(), weights_m=state.weights_m.copy(),
        weights_v=state.weights_v.copy(),
        cell_copies=np.zeros((size.copy_parts * cells, 4), np.float32),
        grad_cells=np.zeros((cells, 4), sums),
        grad_weights=np.zeros((TURNS * size.sum_rows, 2 if deterministic else 4), sums),
        corrections=corrections,
        cell_corrections=np.hstack([table[:-1], table[1:]]),
        squared_errors=np.zeros(blocks * size.threads, np.float32),
    )  # fmt: skip
