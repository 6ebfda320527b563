"""The slope is the cosine, divided by omega."""
# caught by: layer
# diagnosis: slope divided by omega

from numba import cuda, float32

from kernels.field_math import cosine, sine
from kernels.siren.layers import SAMPLES_PER_THREAD


@cuda.jit
def sine_layer(inputs, weights, biases, omega, outputs, slopes):
    unit, group = cuda.grid(2)
    n = inputs.shape[0]
    if unit >= weights.shape[1]:
        return
    first = group * SAMPLES_PER_THREAD
    sums = cuda.local.array(SAMPLES_PER_THREAD, float32)
    for j in range(SAMPLES_PER_THREAD):
        sums[j] = biases[unit]
    for i in range(weights.shape[0]):
        w = weights[i, unit]
        for j in range(SAMPLES_PER_THREAD):
            sums[j] += w * inputs[min(first + j, n - 1), i]
    for j in range(SAMPLES_PER_THREAD):
        if first + j < n:
            angle = omega * sums[j]
            outputs[first + j, unit] = sine(angle)
            slopes[first + j, unit] = cosine(angle) / omega
