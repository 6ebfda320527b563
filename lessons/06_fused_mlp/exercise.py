"""Lesson 6: the fused MLP. A whole network in one kernel.

Write `mlp_forward`; the story is in README.md beside this file.

    features (B, 16), weights (n,)  ->  hidden (layers, B, width), outputs (B, 16)

Check your work with `python -m lessons check 6`.
"""

from numba import cuda, float32

from kernels.config import FEATURES, OUTPUTS, SAMPLES_PER_THREAD, TILE, TILE_PITCH, TILE_SAMPLES
from kernels.field_math import relu, sigmoid
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def mlp_forward(features, weights, hidden, outputs):
    """Evaluate the network; 16 x 16 threads and 64 samples per block.

    features: (B, 16) float32. weights: (n,) float32. Writes hidden (layers, B, width) float32,
    the activations after ReLU that the backward pass needs again, and outputs (B, 16) float32
    after the sigmoid; the first three are red, green, blue.
    """
    raise NotImplementedError("write me")


def launch_mlp_forward(features, weights, hidden, outputs, launch=on_gpu):
    blocks = blocks_for(features.shape[0], TILE_SAMPLES)
    launch(mlp_forward, blocks, (TILE, TILE), features, weights, hidden, outputs)
