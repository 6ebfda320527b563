"""The last chunk is short, and its threads return before they have stored anything."""
# caught by: chunks
# diagnosis: is left out

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
    for sample in range(first_sample, first_sample + CHUNK_SAMPLES):
        if sample >= samples:
            return
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
