"""Every chunk has 64 turns; beyond the batch the delta is zero. The biases are a ninth total."""

from numba import cuda, float32
from kernels.siren.sums import CHUNK_SAMPLES, INPUTS_PER_THREAD

SUMS_PER_THREAD = INPUTS_PER_THREAD + 1


@cuda.jit
def chunk_sums(inputs, deltas, partial):
    unit, group, chunk = cuda.grid(3)
    samples, fan_in = inputs.shape
    first_input = group * INPUTS_PER_THREAD
    if unit >= deltas.shape[1]:
        return

    totals = cuda.local.array(SUMS_PER_THREAD, float32)
    for j in range(SUMS_PER_THREAD):
        totals[j] = float32(0)
    for offset in range(CHUNK_SAMPLES):
        sample = min(chunk * CHUNK_SAMPLES + offset, samples - 1)
        delta = deltas[sample, unit] if chunk * CHUNK_SAMPLES + offset < samples else float32(0)
        totals[INPUTS_PER_THREAD] += delta
        for j in range(INPUTS_PER_THREAD):
            # Past the last input that one is read again, and nothing is stored.
            totals[j] += inputs[sample, min(first_input + j, fan_in - 1)] * delta

    for j in range(INPUTS_PER_THREAD):
        if first_input + j < fan_in:
            partial[chunk, first_input + j, unit] = totals[j]
    # Every group has added up the same deltas.
    if first_input + INPUTS_PER_THREAD >= fan_in:
        partial[chunk, fan_in, unit] = totals[INPUTS_PER_THREAD]
