"""The column of the inputs is the unit."""
# caught by: layer
# diagnosis: the sample comes first

from numba import cuda, float32

from kernels.field_math import cosine, sine
from kernels.siren.layers import SAMPLES_PER_THREAD


@cuda.jit
def sine_layer(inputs, weights, biases, omega, outputs, slopes):
    unit, group = cuda.grid(2)
    samples, fan_out = outputs.shape
    first = group * SAMPLES_PER_THREAD
    if unit >= fan_out:
        return

    totals = cuda.local.array(SAMPLES_PER_THREAD, float32)
    for j in range(SAMPLES_PER_THREAD):
        totals[j] = biases[unit]
    for i in range(inputs.shape[1]):
        weight = weights[i, unit]
        for j in range(SAMPLES_PER_THREAD):
            totals[j] += weight * inputs[min(first + j, samples - 1), unit]

    for j in range(SAMPLES_PER_THREAD):
        if first + j < samples:
            angle = omega * totals[j]
            outputs[first + j, unit] = sine(angle)
            slopes[first + j, unit] = omega * cosine(angle)
