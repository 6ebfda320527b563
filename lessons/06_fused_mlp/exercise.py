"""Lesson 6: the fused MLP. A whole network in one kernel.

Write `mlp_forward`, after two small kernels to warm up; the story is in README.md beside this
file.

    sums (B, 16), weights (16,)     ->  outputs (B,)                                 relu_unit
    features (B, 16)                ->  outputs (B, 16)                              mix_units
    features (B, 16), weights (n,)  ->  hidden (layers, B, width), outputs (B, 16)   mlp_forward

Check your work with `python -m lessons check 6`.
"""

from numba import cuda, float32

from kernels.config import FEATURES, OUTPUTS, SAMPLES_PER_THREAD, TILE, TILE_PITCH, TILE_SAMPLES
from kernels.field_math import relu, sigmoid
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def relu_unit(sums, weights, outputs):
    """outputs (B,) = relu(sums) (B, 16) @ weights (16,), all float32: one unit behind a ReLU.

    Blocks of 16 x 16 threads and 64 samples. Neighbouring threads read neighbouring sums.
    """
    raise NotImplementedError("write me")


def launch_relu_unit(sums, weights, outputs, launch=on_gpu):
    blocks = blocks_for(sums.shape[0], TILE_SAMPLES)
    launch(relu_unit, blocks, (TILE, TILE), sums, weights, outputs)


@cuda.jit
def mix_units(features, layers, outputs):
    """`layers` layers whose weights are 1 and -1, with ReLU; features, outputs (B, 16) float32.

    In each layer unit u becomes max(0, unit u - unit u + 1) of the layer before; after the last
    unit comes unit 0. layers: 0 or more; with 0, the features are the outputs.
    Blocks of 16 x 16 threads and 64 samples; each feature is read once, each output written once.
    """
    raise NotImplementedError("write me")


def launch_mix_units(features, layers, outputs, launch=on_gpu):
    blocks = blocks_for(features.shape[0], TILE_SAMPLES)
    launch(mix_units, blocks, (TILE, TILE), features, layers, outputs)


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
