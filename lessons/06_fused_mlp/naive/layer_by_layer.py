"""A thread per sample and unit reads the layer before from global memory; 15 of 16 rows idle."""
# points: 3

from numba import cuda, float32

from kernels.config import FEATURES, OUTPUTS
from kernels.field_math import relu, sigmoid


@cuda.jit
def mlp_forward(features, weights, hidden, outputs):
    column = cuda.threadIdx.x
    row = cuda.threadIdx.y
    layers, batch, width = hidden.shape
    offset = 0
    fan_in = FEATURES
    for layer in range(layers + 1):
        fan_out = OUTPUTS if layer == layers else width
        if row == 0:
            for sample in range(cuda.blockIdx.x * 64, min(batch, cuda.blockIdx.x * 64 + 64)):
                for unit in range(column, fan_out, 16):
                    total = float32(0)
                    for i in range(fan_in):
                        weight = weights[offset + i * fan_out + unit]
                        if layer == 0:
                            total += weight * features[sample, i]
                        else:
                            total += weight * hidden[layer - 1, sample, i]
                    if layer == layers:
                        outputs[sample, unit] = sigmoid(total)
                    else:
                        hidden[layer, sample, unit] = relu(total)
        cuda.syncthreads()
        offset += fan_in * fan_out
        fan_in = fan_out
