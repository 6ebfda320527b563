"""A loop over groups of samples, two blocks."""

from numba import cuda, float32

from kernels.config import FEATURES, OUTPUTS
from kernels.field_math import relu, sigmoid


@cuda.jit
def mlp_forward(features, weights, hidden, outputs):
    activations = cuda.shared.array((2, 64, 65), float32)
    weight_tile = cuda.shared.array((16, 16), float32)
    totals = cuda.local.array(4, float32)
    column, row = cuda.threadIdx.x, cuda.threadIdx.y
    layers, batch, width = hidden.shape
    for first_sample in range(cuda.blockIdx.x * 64, batch, cuda.gridDim.x * 64):
        cuda.syncthreads()
        for j in range(4):
            sample = first_sample + row + j * 16
            if sample < batch:
                activations[0, row + j * 16, column] = features[sample, column]
            else:
                activations[0, row + j * 16, column] = float32(0)
        offset = 0
        fan_in = FEATURES
        for layer in range(layers + 1):
            source = layer % 2
            fan_out = width
            if layer == layers:
                fan_out = OUTPUTS
            unit_tile = 0
            while unit_tile < fan_out:
                for j in range(4):
                    totals[j] = 0
                for input_tile in range(0, fan_in, 16):
                    weight_tile[row, column] = weights[
                        offset + (input_tile + row) * fan_out + unit_tile + column
                    ]
                    cuda.syncthreads()
                    for k in range(16):
                        for j in range(4):
                            totals[j] += (
                                weight_tile[k, column]
                                * activations[source, row + j * 16, input_tile + k]
                            )
                    cuda.syncthreads()
                for j in range(4):
                    sample = first_sample + row + j * 16
                    if layer == layers:
                        if sample < batch:
                            outputs[sample, unit_tile + column] = sigmoid(totals[j])
                    else:
                        value = relu(totals[j])
                        activations[1 - source, row + j * 16, unit_tile + column] = value
                        if sample < batch:
                            hidden[layer, sample, unit_tile + column] = value
                unit_tile += 16
            offset += fan_in * fan_out
            fan_in = fan_out


def launch_mlp_forward(features, weights, hidden, outputs, launch=None):
    launch(mlp_forward, 2, (16, 16), features, weights, hidden, outputs)
