"""A thread per sample keeps its activations to itself, and fetches every weight alone."""
# points: 4

from numba import cuda, float32

from kernels.config import FEATURES, OUTPUTS
from kernels.field_math import relu, sigmoid


@cuda.jit
def mlp_forward(features, weights, hidden, outputs):
    here = cuda.local.array(64, float32)
    there = cuda.local.array(64, float32)
    layers, batch, width = hidden.shape
    sample = cuda.grid(1)
    if sample >= batch:
        return
    for i in range(FEATURES):
        here[i] = features[sample, i]
    offset = 0
    fan_in = FEATURES
    for layer in range(layers + 1):
        fan_out = OUTPUTS if layer == layers else width
        for unit in range(fan_out):
            total = float32(0)
            for i in range(fan_in):
                total += here[i] * weights[offset + i * fan_out + unit]
            if layer == layers:
                outputs[sample, unit] = sigmoid(total)
            else:
                there[unit] = relu(total)
                hidden[layer, sample, unit] = there[unit]
        for unit in range(fan_out):
            if layer < layers:
                here[unit] = there[unit]
        offset += fan_in * fan_out
        fan_in = fan_out


def launch_mlp_forward(features, weights, hidden, outputs, launch=None):
    launch(mlp_forward, (features.shape[0] + 63) // 64, 64, features, weights, hidden, outputs)
