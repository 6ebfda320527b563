"""More blocks than needed."""

from kernels.config import (
    TILE,
    TILE_SAMPLES,
)
from kernels.launch import blocks_for, on_gpu


def launch_backward(
    uv, features, hidden, outputs, target, weights, grad_weights, grad_feature_grid, loss_sum,
    launch=on_gpu,
):  # fmt: skip
    blocks = blocks_for(uv.shape[0], TILE_SAMPLES) + 1
    launch(
        backward, blocks, (TILE, TILE),
        uv, features, hidden, outputs, target, weights, grad_weights, grad_feature_grid, loss_sum,
    )  # fmt: skip
