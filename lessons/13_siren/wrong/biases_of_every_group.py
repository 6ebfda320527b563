"""Each group of inputs adds its sum of the deltas to the row of the biases."""
# caught by: chunks
# diagnosis: race

from numba import cuda, float32

from kernels.siren.sums import CHUNK_SAMPLES, INPUTS_PER_THREAD


@cuda.jit
def chunk_sums(inputs, deltas, partial):
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
            totals[j] += inputs[sample, min(first_input + j, fan_in - 1)] * delta

    for j in range(INPUTS_PER_THREAD):
        if first_input + j < fan_in:
            partial[chunk, first_input + j, unit] = totals[j]
    partial[chunk, fan_in, unit] += bias_total
