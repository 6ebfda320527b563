"""The slope is made of the output, by a root: the sign of the cosine is lost."""
# caught by: layer
# diagnosis: slope from the output

import math

from numba import cuda, float32

from kernels.field_math import sine
from kernels.siren.layers import SAMPLES_PER_THREAD


@cuda.jit
def sine_layer(inputs, weights, biases, omega, outputs, slopes):
    unit, group = cuda.grid(2)
    samples, fan_in = inputs.shape
    if unit >= weights.shape[1]:
        return
    first = group * SAMPLES_PER_THREAD
    total = cuda.local.array(SAMPLES_PER_THREAD, float32)
    for j in range(SAMPLES_PER_THREAD):
        total[j] = biases[unit]
    for i in range(fan_in):
        weight = weights[i, unit]
        for j in range(SAMPLES_PER_THREAD):
            total[j] += weight * inputs[min(first + j, samples - 1), i]
    for j in range(SAMPLES_PER_THREAD):
        if first + j < samples:
            value = sine(omega * total[j])
            outputs[first + j, unit] = value
            cosine_squared = max(float32(1) - value * value, float32(0))
            slopes[first + j, unit] = omega * math.sqrt(cosine_squared)
