"""The gradients of a layer's weights and biases: sums over the batch, in two stages, no atomics.

    inputs (B, fan_in), deltas (B, fan_out)
        ->  partial (chunks, fan_in + 1, fan_out)     stage 1: a sum for each chunk of samples
        ->  gradients (fan_in + 1, fan_out)           stage 2: chunk after chunk

The idea: the gradient of a weight is the sum of input times delta over all samples. One thread per
weight would be few threads with much to do each. So the batch is cut into chunks of 64 samples. In
the first stage there is a thread for each weight *and* chunk, which writes its sum to a place of
its own; in the second, one thread per weight adds up the chunks' sums, always in the same order.
Nobody adds to what somebody else adds to: there are no atomics, and the same inputs give the same
bits, whichever thread comes first.

A bias is a weight whose input is always 1: its gradient is the sum of the deltas, and stands in the
row behind those of the weights.

Source: the second stage of Harris, "Optimizing parallel reduction in CUDA", NVIDIA, 2007.
"""

from numba import cuda, float32

from kernels.config import THREADS
from kernels.launch import blocks_for, on_gpu
from kernels.siren.layers import UNITS_PER_BLOCK

CHUNK_SAMPLES = 64
INPUTS_PER_THREAD = 8


@cuda.jit
def chunk_sums(inputs, deltas, partial):
    """Stage 1; one thread per unit, INPUTS_PER_THREAD inputs, and chunk of CHUNK_SAMPLES samples.

    inputs (B, fan_in), deltas (B, fan_out): float32. Writes partial (chunks, fan_in + 1, fan_out);
    the last row of each chunk is that of the biases.
    """
    unit, group, chunk = cuda.grid(3)
    samples, fan_in = inputs.shape
    first_input = group * INPUTS_PER_THREAD
    if unit >= deltas.shape[1]:
        return

    totals = cuda.local.array(INPUTS_PER_THREAD, float32)
    for j in range(INPUTS_PER_THREAD):
        totals[j] = float32(0)
    bias_total = float32(0)
    first_sample = chunk * CHUNK_SAMPLES
    for sample in range(first_sample, min(first_sample + CHUNK_SAMPLES, samples)):
        delta = deltas[sample, unit]
        bias_total += delta
        for j in range(INPUTS_PER_THREAD):
            # Past the last input that one is read again, and nothing is stored.
            totals[j] += inputs[sample, min(first_input + j, fan_in - 1)] * delta

    for j in range(INPUTS_PER_THREAD):
        if first_input + j < fan_in:
            partial[chunk, first_input + j, unit] = totals[j]
    # Every group has added up the same deltas.
    if group == 0:
        partial[chunk, fan_in, unit] = bias_total


@cuda.jit
def sum_chunks(partial, gradients):
    """Stage 2; one thread per weight or bias.

    partial (chunks, fan_in + 1, fan_out): float32. Writes gradients (fan_in + 1, fan_out).
    """
    unit, row = cuda.grid(2)
    if row >= gradients.shape[0] or unit >= gradients.shape[1]:
        return

    total = float32(0)
    for chunk in range(partial.shape[0]):
        total += partial[chunk, row, unit]
    gradients[row, unit] = total


def launch_chunk_sums(inputs, deltas, partial, launch=on_gpu):
    chunks, rows, fan_out = partial.shape
    groups = blocks_for(rows - 1, INPUTS_PER_THREAD)
    blocks = blocks_for(fan_out, UNITS_PER_BLOCK), groups, chunks
    launch(chunk_sums, blocks, (UNITS_PER_BLOCK, 1, 1), inputs, deltas, partial)


def launch_sum_chunks(partial, gradients, launch=on_gpu):
    rows, fan_out = gradients.shape
    rows_per_block = THREADS // UNITS_PER_BLOCK
    blocks = blocks_for(fan_out, UNITS_PER_BLOCK), blocks_for(rows, rows_per_block)
    launch(sum_chunks, blocks, (UNITS_PER_BLOCK, rows_per_block), partial, gradients)
