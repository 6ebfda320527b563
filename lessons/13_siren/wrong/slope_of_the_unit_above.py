"""The slope stands in the loop, and is that of the unit that the loop is at."""
# caught by: backward
# diagnosis: slope of the unit above

from numba import cuda, float32

from kernels.siren.layers import SAMPLES_PER_THREAD


@cuda.jit
def sine_backward(deltas, weights, slopes, deltas_below):
    unit, group = cuda.grid(2)
    samples, units = deltas_below.shape
    first = group * SAMPLES_PER_THREAD
    if unit >= units or first >= samples:
        return
    totals = cuda.local.array(SAMPLES_PER_THREAD, float32)
    for j in range(SAMPLES_PER_THREAD):
        totals[j] = float32(0.0)
    for above in range(deltas.shape[1]):
        weight = weights[unit, above]
        for j in range(SAMPLES_PER_THREAD):
            totals[j] += (
                weight
                * deltas[min(first + j, samples - 1), above]
                * slopes[min(first + j, samples - 1), above]
            )
    for j in range(SAMPLES_PER_THREAD):
        sample = first + j
        if sample < samples:
            deltas_below[sample, unit] = totals[j]
