"""The biases are one more input: where fan_in is a multiple of 8, no group has room for them."""
# caught by: chunks
# diagnosis: none has a place left over

from numba import cuda, float32

from kernels.siren.sums import CHUNK_SAMPLES, INPUTS_PER_THREAD


@cuda.jit
def chunk_sums(inputs, deltas, partial):
    unit, group, chunk = cuda.grid(3)
    batch, fan_in = inputs.shape
    if unit >= deltas.shape[1]:
        return
    first_row = group * INPUTS_PER_THREAD
    rows = min(INPUTS_PER_THREAD, fan_in + 1 - first_row)
    totals = cuda.local.array(INPUTS_PER_THREAD, float32)
    for j in range(rows):
        totals[j] = float32(0)
    for sample in range(chunk * CHUNK_SAMPLES, min((chunk + 1) * CHUNK_SAMPLES, batch)):
        delta = deltas[sample, unit]
        for j in range(rows):
            if first_row + j == fan_in:
                totals[j] += delta
            else:
                totals[j] += inputs[sample, first_row + j] * delta
    for j in range(rows):
        partial[chunk, first_row + j, unit] = totals[j]
