"""The biases are stored in row 0, which is that of the first input."""
# caught by: chunks
# diagnosis: biases over the first input

from numba import cuda, float32

from kernels.siren.sums import CHUNK_SAMPLES, INPUTS_PER_THREAD


@cuda.jit
def chunk_sums(inputs, deltas, partial):
    unit, group, chunk = cuda.grid(3)
    samples, fan_in = inputs.shape
    if unit >= deltas.shape[1]:
        return
    first_input = group * INPUTS_PER_THREAD
    start = chunk * CHUNK_SAMPLES
    end = min(start + CHUNK_SAMPLES, samples)
    totals = cuda.local.array(INPUTS_PER_THREAD, float32)
    for j in range(INPUTS_PER_THREAD):
        totals[j] = float32(0.0)
    bias = float32(0.0)
    for sample in range(start, end):
        delta = deltas[sample, unit]
        bias += delta
        for j in range(INPUTS_PER_THREAD):
            totals[j] += delta * inputs[sample, min(first_input + j, fan_in - 1)]
    for j in range(INPUTS_PER_THREAD):
        i = first_input + j
        if i < fan_in:
            partial[chunk, i, unit] = totals[j]
    if group == 0:
        partial[chunk, 0, unit] = bias
