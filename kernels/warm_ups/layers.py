"""Two layers small enough to show one idea each, before all of them meet in `mlp_forward`.

    relu_unit    sums (B, 16), weights (16,)  ->  outputs (B,)
    mix_units    features (B, 16)             ->  outputs (B, 16)

The idea: what one step makes, the next step needs, and other threads need it. So it stays in shared
memory, and a barrier stands between the steps. `relu_unit` has two steps, ReLU and one unit.
`mix_units` has a step per layer. There a second buffer saves the second barrier: nobody writes
where somebody may still be reading.

A block takes 64 samples, as in `mlp_forward`: thread (column, row) has unit `column` of the samples
row, row + 16, row + 32 and row + 48.
Source: the perceptron, Rosenblatt, "The perceptron: a probabilistic model for information storage
and organization in the brain", 1958; buffers in turns as in any stencil, Micikevicius, "3D finite
difference computation on GPUs using CUDA", 2009.
"""

from numba import cuda, float32

from kernels.config import SAMPLES_PER_THREAD, TILE, TILE_PITCH, TILE_SAMPLES
from kernels.field_math import relu
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def relu_unit(sums, weights, outputs):
    """outputs (B,) = relu(sums) (B, 16) @ weights (16,), all float32: one unit behind a ReLU.

    Blocks of 16 x 16 threads and 64 samples. Neighbouring threads read neighbouring sums.
    """
    activations = cuda.shared.array((TILE_SAMPLES, TILE_PITCH), float32)
    column = cuda.threadIdx.x
    row = cuda.threadIdx.y
    first_sample = cuda.blockIdx.x * TILE_SAMPLES
    batch = sums.shape[0]

    for j in range(SAMPLES_PER_THREAD):
        local_sample = row + j * TILE
        sample = first_sample + local_sample
        if sample < batch:
            activations[local_sample, column] = relu(sums[sample, column])
    # A unit reads what sixteen threads have stored.
    cuda.syncthreads()

    local_sample = row * TILE + column
    sample = first_sample + local_sample
    if local_sample < TILE_SAMPLES and sample < batch:
        total = float32(0)
        for i in range(TILE):
            total += activations[local_sample, i] * weights[i]
        outputs[sample] = total


@cuda.jit
def mix_units(features, layers, outputs):
    """`layers` layers whose weights are 1 and -1, with ReLU; features, outputs (B, 16) float32.

    In each layer unit u becomes max(0, unit u - unit u + 1) of the layer before; after the last
    unit comes unit 0. layers: 0 or more; with 0, the features are the outputs.
    Blocks of 16 x 16 threads and 64 samples; each feature is read once, each output written once.
    """
    activations = cuda.shared.array((2, TILE_SAMPLES, TILE_PITCH), float32)
    column = cuda.threadIdx.x
    row = cuda.threadIdx.y
    first_sample = cuda.blockIdx.x * TILE_SAMPLES
    batch = features.shape[0]

    # A sample past the batch is zero in all layers: its threads go on to the barriers.
    for j in range(SAMPLES_PER_THREAD):
        local_sample = row + j * TILE
        sample = first_sample + local_sample
        inside = sample < batch
        activations[0, local_sample, column] = features[sample, column] if inside else float32(0)

    for layer in range(layers):
        source = layer % 2
        # The layer before must be complete. And it must have been read: from here on, its source
        # is overwritten.
        cuda.syncthreads()
        for j in range(SAMPLES_PER_THREAD):
            local_sample = row + j * TILE
            unit = activations[source, local_sample, column]
            following = activations[source, local_sample, (column + 1) % TILE]
            activations[1 - source, local_sample, column] = relu(unit - following)

    # Each thread stores what it has made itself: no barrier is needed.
    for j in range(SAMPLES_PER_THREAD):
        local_sample = row + j * TILE
        sample = first_sample + local_sample
        if sample < batch:
            outputs[sample, column] = activations[layers % 2, local_sample, column]


def launch_relu_unit(sums, weights, outputs, launch=on_gpu):
    blocks = blocks_for(sums.shape[0], TILE_SAMPLES)
    launch(relu_unit, blocks, (TILE, TILE), sums, weights, outputs)


def launch_mix_units(features, layers, outputs, launch=on_gpu):
    blocks = blocks_for(features.shape[0], TILE_SAMPLES)
    launch(mix_units, blocks, (TILE, TILE), features, layers, outputs)
