"""One thread per result, with nothing kept for a second product: two reads for each."""
# points: 8

from numba import cuda, float32

from kernels.launch import blocks_for, on_gpu
from kernels.siren.layers import cosine, sine
from kernels.siren.sums import CHUNK_SAMPLES


@cuda.jit
def sine_layer(inputs, weights, biases, omega, outputs, slopes):
    unit, sample = cuda.grid(2)
    samples, fan_out = outputs.shape
    if unit >= fan_out or sample >= samples:
        return
    total = biases[unit]
    for i in range(inputs.shape[1]):
        total += inputs[sample, i] * weights[i, unit]
    angle = omega * total
    outputs[sample, unit] = sine(angle)
    slopes[sample, unit] = omega * cosine(angle)


@cuda.jit
def sine_backward(deltas, weights, slopes, deltas_below):
    i, sample = cuda.grid(2)
    samples, fan_in = deltas_below.shape
    if i >= fan_in or sample >= samples:
        return
    total = float32(0)
    for unit in range(deltas.shape[1]):
        total += deltas[sample, unit] * weights[i, unit]
    deltas_below[sample, i] = total * slopes[sample, i]


@cuda.jit
def chunk_sums(inputs, deltas, partial):
    unit, row, chunk = cuda.grid(3)
    samples, fan_in = inputs.shape
    if unit >= deltas.shape[1] or row > fan_in:
        return
    total = float32(0)
    for sample in range(chunk * CHUNK_SAMPLES, min((chunk + 1) * CHUNK_SAMPLES, samples)):
        x = inputs[sample, row] if row < fan_in else float32(1)
        total += x * deltas[sample, unit]
    partial[chunk, row, unit] = total


def launch_sine_layer(inputs, weights, biases, omega, outputs, slopes, launch=on_gpu):
    blocks = blocks_for(outputs.shape[1], 32), blocks_for(outputs.shape[0], 4)
    launch(sine_layer, blocks, (32, 4), inputs, weights, biases, omega, outputs, slopes)


def launch_sine_backward(deltas, weights, slopes, deltas_below, launch=on_gpu):
    blocks = blocks_for(deltas_below.shape[1], 32), blocks_for(deltas_below.shape[0], 4)
    launch(sine_backward, blocks, (32, 4), deltas, weights, slopes, deltas_below)


def launch_chunk_sums(inputs, deltas, partial, launch=on_gpu):
    chunks, rows, fan_out = partial.shape
    blocks = blocks_for(fan_out, 32), blocks_for(rows, 4), chunks
    launch(chunk_sums, blocks, (32, 4, 1), inputs, deltas, partial)
