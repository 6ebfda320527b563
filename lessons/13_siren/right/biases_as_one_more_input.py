"""A bias is a weight whose input is 1: the groups of inputs go one further, and read a one there."""

from numba import cuda, float32

from kernels.launch import blocks_for, on_gpu
from kernels.siren.sums import CHUNK_SAMPLES, INPUTS_PER_THREAD


@cuda.jit
def chunk_sums(inputs, deltas, partial):
    unit, group, chunk = cuda.grid(3)
    samples, fan_in = inputs.shape
    first = group * INPUTS_PER_THREAD
    if unit >= deltas.shape[1] or first > fan_in:
        return
    totals = cuda.local.array(INPUTS_PER_THREAD, float32)
    for j in range(INPUTS_PER_THREAD):
        totals[j] = float32(0)
    for sample in range(chunk * CHUNK_SAMPLES, min((chunk + 1) * CHUNK_SAMPLES, samples)):
        delta = deltas[sample, unit]
        for j in range(INPUTS_PER_THREAD):
            if first + j < fan_in:
                totals[j] += inputs[sample, first + j] * delta
            elif first + j == fan_in:
                totals[j] += delta
    for j in range(INPUTS_PER_THREAD):
        if first + j <= fan_in:
            partial[chunk, first + j, unit] = totals[j]


def launch_chunk_sums(inputs, deltas, partial, launch=on_gpu):
    chunks, rows, fan_out = partial.shape
    blocks = blocks_for(fan_out, 32), blocks_for(rows, INPUTS_PER_THREAD), chunks
    launch(chunk_sums, blocks, (32, 1, 1), inputs, deltas, partial)
