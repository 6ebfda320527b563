"""What the fused kernels are given: all arrays of a run in one argument, all scalars in another."""

from typing import Any, NamedTuple

import numpy as np

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


def flat_with_four_channels(array):
    """(h, w, 3 or 4) -> (h * w, 4) float32, a missing channel zero."""
    height, width, channels = array.shape
    padded = np.zeros((height, width, 4), np.float32)
    padded[:, :, :channels] = array
    return padded.reshape(-1, 4)


def fused_arrays(image, state, corrections, blocks, rows, threads, deterministic=False):
    """`FusedArrays` of NumPy arrays. rows: see `rows_to_sum`. threads: per block."""
    flat = flat_with_four_channels
    grid, steps = flat(state.feature_grid), state.grid_steps
    with_room = state.feature_grid.shape[2] < 4
    return FusedArrays(
        image=flat(image),
        feature_grid=grid,
        grad_feature_grid=np.zeros(grid.shape, np.int64 if deterministic else np.float32),
        grid_m=flat(state.grid_m),
        grid_v=flat(np.dstack([state.grid_v, steps]) if with_room else state.grid_v),
        grid_steps=np.zeros(0, np.float32) if with_room else steps.ravel().astype(np.float32),
        weights=state.weights.copy(),
        grad_weights=np.zeros(rows * len(state.weights), np.float32),
        weights_m=state.weights_m.copy(),
        weights_v=state.weights_v.copy(),
        corrections=corrections,
        squared_errors=np.zeros(blocks * threads, np.float32),
    )


def moves_of_cells(arrays):
    """(gh * gw,) float32 on the host: how often each cell has been moved."""
    if len(getattr(arrays, "grid_steps", ())):
        return arrays.grid_steps.copy_to_host()
    return arrays.grid_v.copy_to_host()[:, 3]


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


def one_barrier_arrays(image, state, corrections, blocks, size, deterministic=False):
    """`OneBarrierArrays` of NumPy arrays. size: `OneBarrierSize`."""
    flat = flat_with_four_channels
    grid = flat(state.feature_grid)
    cells = TURNS * len(grid)
    sums = np.int64 if deterministic else np.float32
    # Beyond the table both corrections are 1.
    table = np.vstack([corrections[1:], np.ones((3, 2), np.float32)])
    return OneBarrierArrays(
        image=flat(image),
        feature_grid=grid,
        grid_m=flat(state.grid_m),
        grid_v=flat(np.dstack([state.grid_v, state.grid_steps])),
        weights=state.weights.copy(),
        weights_m=state.weights_m.copy(),
        weights_v=state.weights_v.copy(),
        cell_copies=np.zeros((size.copy_parts * cells, 4), np.float32),
        grad_cells=np.zeros((cells, 4), sums),
        grad_weights=np.zeros((TURNS * size.sum_rows, 2 if deterministic else 4), sums),
        corrections=corrections,
        cell_corrections=np.hstack([table[:-1], table[1:]]),
        squared_errors=np.zeros(blocks * size.threads, np.float32),
    )


def settings_of(config, image):
    """`StepSettings` for a run; image: (H, W, 3)."""
    height, width, _ = image.shape
    sizes = map(np.int32, (config.batch, width, height, config.grid_width, config.grid_height))
    return StepSettings(np.uint64(config.seed), *sizes, config.adam_rates)
