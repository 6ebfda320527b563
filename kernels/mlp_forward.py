"""Stage 3, the network: all layers in one kernel, on tiles in shared memory.

    features (B, 16), weights (n,)  ->  hidden (layers, B, width), outputs (B, 16)

The idea: a layer is a matrix product, (samples x fan_in) times (fan_in x fan_out). Run layer by
layer, every activation would travel to global memory and back. Here a block takes 64 samples
through *all* layers: their activations stay in shared memory, and only the weights are fetched
from global memory, one 16 x 16 tile at a time, each tile once for 64 samples.

A block has 16 x 16 threads. Thread (column, row) computes unit `column` of the current tile for the
four samples row, row + 16, row + 32, row + 48: each weight it reads serves four multiply-adds.

`weights` holds all matrices one after another, each row-major (fan_in, fan_out); there are no
biases (the encoding pads with ones, whose weights act as the biases of the first layer).
Source: the fully fused networks of Mueller et al., "Real-time Neural Radiance Caching for Path
Tracing", SIGGRAPH 2021.
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
    # Two buffers: a layer reads one and writes the other, so no thread overwrites an activation
    # that another thread still needs.
    activations = cuda.shared.array((2, TILE_SAMPLES, TILE_PITCH), float32)
    weight_tile = cuda.shared.array((TILE, TILE), float32)
    totals = cuda.local.array(SAMPLES_PER_THREAD, float32)

    column = cuda.threadIdx.x
    row = cuda.threadIdx.y
    first_sample = cuda.blockIdx.x * TILE_SAMPLES
    layers, batch, width = hidden.shape

    # No thread leaves early: a thread without a sample still fetches its part of each weight tile
    # and arrives at every barrier. It computes on zeros and stores nothing.
    for j in range(SAMPLES_PER_THREAD):
        local_sample = row + j * TILE
        sample = first_sample + local_sample
        inside = sample < batch
        activations[0, local_sample, column] = features[sample, column] if inside else float32(0)

    offset = 0
    fan_in = FEATURES
    for layer in range(layers + 1):
        source = layer % 2
        last = layer == layers
        fan_out = OUTPUTS if last else width

        for unit_tile in range(0, fan_out, TILE):
            unit = unit_tile + column
            for j in range(SAMPLES_PER_THREAD):
                totals[j] = float32(0)

            for input_tile in range(0, fan_in, TILE):
                weight_tile[row, column] = weights[offset + (input_tile + row) * fan_out + unit]
                # The tile, and the activations it is multiplied by, must be complete.
                cuda.syncthreads()
                for k in range(TILE):
                    weight = weight_tile[k, column]
                    for j in range(SAMPLES_PER_THREAD):
                        totals[j] += weight * activations[source, row + j * TILE, input_tile + k]
                # Everyone must be done with the tile before the next one replaces it.
                cuda.syncthreads()

            for j in range(SAMPLES_PER_THREAD):
                local_sample = row + j * TILE
                sample = first_sample + local_sample
                value = sigmoid(totals[j]) if last else relu(totals[j])
                activations[1 - source, local_sample, unit] = value
                if sample < batch:
                    if last:
                        outputs[sample, unit] = value
                    else:
                        hidden[layer, sample, unit] = value

        offset += fan_in * fan_out
        fan_in = fan_out


def launch_mlp_forward(features, weights, hidden, outputs, launch=on_gpu):
    blocks = blocks_for(features.shape[0], TILE_SAMPLES)
    launch(mlp_forward, blocks, (TILE, TILE), features, weights, hidden, outputs)
