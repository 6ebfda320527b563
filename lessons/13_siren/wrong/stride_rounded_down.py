"""Samples are dealt out with a stride of B // 8, rounded down: the last ones are nobody's."""
# caught by: layer
# diagnosis: is a number of groups rounded down

from numba import cuda, float32

from kernels.field_math import cosine, sine
from kernels.siren.layers import SAMPLES_PER_THREAD


@cuda.jit
def sine_layer(inputs, weights, biases, omega, outputs, slopes):
    x, group = cuda.grid(2)
    height, width = outputs.shape
    stride = height // SAMPLES_PER_THREAD
    if x >= width or group >= stride:
        return
    acc = cuda.local.array(SAMPLES_PER_THREAD, float32)
    bias = biases[x]
    for n in range(SAMPLES_PER_THREAD):
        acc[n] = bias
    for k in range(weights.shape[0]):
        weight = weights[k, x]
        for n in range(SAMPLES_PER_THREAD):
            acc[n] += inputs[group + n * stride, k] * weight
    for n in range(SAMPLES_PER_THREAD):
        y = group + n * stride
        angle = omega * acc[n]
        outputs[y, x] = sine(angle)
        slopes[y, x] = omega * cosine(angle)
