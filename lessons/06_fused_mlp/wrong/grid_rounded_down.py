"""The number of blocks is rounded down."""
# caught by: wide_and_deep
# diagnosis: grid rounded down

from kernels.config import TILE, TILE_SAMPLES
from kernels.launch import on_gpu


def launch_mlp_forward(features, weights, hidden, outputs, launch=on_gpu):
    blocks = features.shape[0] // TILE_SAMPLES
    launch(mlp_forward, blocks, (TILE, TILE), features, weights, hidden, outputs)
