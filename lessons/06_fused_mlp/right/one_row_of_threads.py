"""One-dimensional blocks, whole matrices in shared memory."""

import math

import numba
from numba import cuda

from kernels.config import FEATURES, OUTPUTS

SAMPLES = 32


@cuda.jit
def mlp_forward(features, weights, hidden, outputs):
    here = cuda.shared.array((SAMPLES, 65), numba.float32)
    there = cuda.shared.array((SAMPLES, 65), numba.float32)
    matrix = cuda.shared.array(64 * 64, numba.float32)
    thread = cuda.threadIdx.x
    threads = cuda.blockDim.x
    first = cuda.blockIdx.x * SAMPLES
    layers, batch, width = hidden.shape
    count = min(SAMPLES, batch - first)
    for i in range(thread, count * FEATURES, threads):
        here[i // FEATURES, i % FEATURES] = features[first + i // FEATURES, i % FEATURES]
    offset = 0
    fan_in = FEATURES
    for layer in range(layers + 1):
        fan_out = OUTPUTS if layer == layers else width
        for i in range(thread, fan_in * fan_out, threads):
            matrix[i] = weights[offset + i]
        cuda.syncthreads()
        for i in range(thread, count * fan_out, threads):
            sample = i // fan_out
            unit = i % fan_out
            total = numba.float32(0)
            for k in range(fan_in):
                total += here[sample, k] * matrix[k * fan_out + unit]
            if layer == layers:
                outputs[first + sample, unit] = numba.float32(1) / (
                    numba.float32(1) + math.exp(-total)
                )
            else:
                if total < numba.float32(0):
                    total = numba.float32(0)
                hidden[layer, first + sample, unit] = total
                there[sample, unit] = total
        cuda.syncthreads()
        if layer < layers:
            for i in range(thread, count * fan_out, threads):
                here[i // fan_out, i % fan_out] = there[i // fan_out, i % fan_out]
        cuda.syncthreads()
        offset += fan_in * fan_out
        fan_in = fan_out


def launch_mlp_forward(features, weights, hidden, outputs, launch=None):
    launch(
        mlp_forward,
        (features.shape[0] + SAMPLES - 1) // SAMPLES,
        128,
        features,
        weights,
        hidden,
        outputs,
    )
