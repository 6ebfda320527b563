"""A group of inputs that is not full stores nothing."""
# caught by: chunks
# diagnosis: last group of inputs left out

from numba import cuda, float32

from kernels.siren.sums import CHUNK_SAMPLES, INPUTS_PER_THREAD


@cuda.jit
def chunk_sums(inputs, deltas, partial):
    unit, group, chunk = cuda.grid(3)
    n, fan_in = inputs.shape
    if unit >= deltas.shape[1]:
        return
    start = group * INPUTS_PER_THREAD
    sums = cuda.local.array(INPUTS_PER_THREAD, float32)
    for j in range(INPUTS_PER_THREAD):
        sums[j] = float32(0)
    bias = float32(0)
    for s in range(chunk * CHUNK_SAMPLES, min(n, (chunk + 1) * CHUNK_SAMPLES)):
        d = deltas[s, unit]
        bias += d
        for j in range(INPUTS_PER_THREAD):
            sums[j] += d * inputs[s, min(start + j, fan_in - 1)]
    if start + INPUTS_PER_THREAD <= fan_in:
        for j in range(INPUTS_PER_THREAD):
            partial[chunk, start + j, unit] = sums[j]
    if group == 0:
        partial[chunk, fan_in, unit] = bias
