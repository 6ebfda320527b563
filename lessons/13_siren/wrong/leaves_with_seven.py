"""A thread leaves if the last of its eight samples is not there."""
# caught by: backward
# diagnosis: does a thread leave if its last sample is not there

from numba import cuda, float32

from kernels.siren.layers import SAMPLES_PER_THREAD


@cuda.jit
def sine_backward(deltas, weights, slopes, deltas_below):
    x, group = cuda.grid(2)
    height, width = deltas_below.shape
    top = group * SAMPLES_PER_THREAD
    if x < width and top + SAMPLES_PER_THREAD <= height:
        result = cuda.local.array(SAMPLES_PER_THREAD, float32)
        for n in range(SAMPLES_PER_THREAD):
            result[n] = float32(0)
        for k in range(weights.shape[1]):
            weight = weights[x, k]
            for n in range(SAMPLES_PER_THREAD):
                result[n] += deltas[min(top + n, height - 1), k] * weight
        for y in range(top, min(top + SAMPLES_PER_THREAD, height)):
            deltas_below[y, x] = slopes[y, x] * result[y - top]
