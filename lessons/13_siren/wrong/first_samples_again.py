"""The number of a sample is kept inside of the batch by %, and the first ones count again."""
# caught by: chunks
# diagnosis: begins anew

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
    for number in range(CHUNK_SAMPLES):
        s = (chunk * CHUNK_SAMPLES + number) % n
        d = deltas[s, unit]
        bias += d
        for j in range(INPUTS_PER_THREAD):
            sums[j] += d * inputs[s, min(start + j, fan_in - 1)]
    for j in range(INPUTS_PER_THREAD):
        if start + j < fan_in:
            partial[chunk, start + j, unit] = sums[j]
    if group == 0:
        partial[chunk, fan_in, unit] = bias
