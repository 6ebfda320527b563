"""The slope is that of the loop variable, after the loop."""
# caught by: backward
# diagnosis: slope of the last unit

from numba import cuda, float32

from kernels.siren.layers import SAMPLES_PER_THREAD


@cuda.jit
def sine_backward(deltas, weights, slopes, deltas_below):
    i, group = cuda.grid(2)
    samples, fan_in = deltas_below.shape
    first = group * SAMPLES_PER_THREAD
    if i >= fan_in:
        return

    totals = cuda.local.array(SAMPLES_PER_THREAD, float32)
    for j in range(SAMPLES_PER_THREAD):
        totals[j] = float32(0)
    for unit in range(deltas.shape[1]):
        # Neighbours read a row apart, unlike in `sine_layer`. Each fetches eight units' weights at
        # once, and finds the next seven in the L1 cache, where a matrix of 64 x 64 fits.
        weight = weights[i, unit]
        for j in range(SAMPLES_PER_THREAD):
            totals[j] += weight * deltas[min(first + j, samples - 1), unit]

    for j in range(SAMPLES_PER_THREAD):
        if first + j < samples:
            deltas_below[first + j, i] = totals[j] * slopes[first + j, min(unit, fan_in - 1)]
