"""The other way round: a thread has one sample and eight units, and each input serves eight."""

from numba import cuda, float32

from kernels.launch import blocks_for, on_gpu
from kernels.siren.layers import cosine, sine

UNITS = 8


@cuda.jit
def sine_layer(inputs, weights, biases, omega, outputs, slopes):
    sample, group = cuda.grid(2)
    samples, fan_out = outputs.shape
    first = group * UNITS
    if sample >= samples or first >= fan_out:
        return
    totals = cuda.local.array(UNITS, float32)
    for j in range(UNITS):
        totals[j] = biases[min(first + j, fan_out - 1)]
    for i in range(inputs.shape[1]):
        x = inputs[sample, i]
        for j in range(UNITS):
            totals[j] += x * weights[i, min(first + j, fan_out - 1)]
    for j in range(UNITS):
        if first + j < fan_out:
            angle = omega * totals[j]
            outputs[sample, first + j] = sine(angle)
            slopes[sample, first + j] = omega * cosine(angle)


def launch_sine_layer(inputs, weights, biases, omega, outputs, slopes, launch=on_gpu):
    samples, fan_out = outputs.shape
    blocks = blocks_for(samples, 64), blocks_for(fan_out, UNITS)
    launch(sine_layer, blocks, (64, 1), inputs, weights, biases, omega, outputs, slopes)
