"""Forward and back with 16 x 16 tiles in shared memory, and four samples per thread."""

from numba import cuda, float32

from kernels.launch import blocks_for, on_gpu
from kernels.siren.layers import cosine, sine

TILE, SAMPLES, ROWS, PITCH = 16, 4, 64, 17


@cuda.jit
def sine_layer(inputs, weights, biases, omega, outputs, slopes):
    weight_tile = cuda.shared.array((TILE, TILE), float32)
    input_tile = cuda.shared.array((ROWS, PITCH), float32)
    totals = cuda.local.array(SAMPLES, float32)
    column, row = cuda.threadIdx.x, cuda.threadIdx.y
    unit, first = cuda.blockIdx.x * TILE + column, cuda.blockIdx.y * ROWS
    samples, fan_out = outputs.shape
    fan_in = inputs.shape[1]
    for j in range(SAMPLES):
        totals[j] = float32(0)
    for start in range(0, fan_in, TILE):
        inside = start + row < fan_in and unit < fan_out
        weight_tile[row, column] = weights[start + row, unit] if inside else float32(0)
        for j in range(SAMPLES):
            sample = first + row + j * TILE
            inside = sample < samples and start + column < fan_in
            input_tile[row + j * TILE, column] = (
                inputs[sample, start + column] if inside else float32(0)
            )
        cuda.syncthreads()
        for k in range(TILE):
            for j in range(SAMPLES):
                totals[j] += weight_tile[k, column] * input_tile[row + j * TILE, k]
        cuda.syncthreads()
    for j in range(SAMPLES):
        sample = first + row + j * TILE
        if sample < samples and unit < fan_out:
            angle = omega * (totals[j] + biases[unit])
            outputs[sample, unit] = sine(angle)
            slopes[sample, unit] = omega * cosine(angle)


def launch_sine_layer(inputs, weights, biases, omega, outputs, slopes, launch=on_gpu):
    blocks = blocks_for(outputs.shape[1], TILE), blocks_for(outputs.shape[0], ROWS)
    launch(sine_layer, blocks, (TILE, TILE), inputs, weights, biases, omega, outputs, slopes)
