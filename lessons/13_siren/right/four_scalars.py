"""Four samples per thread, each with a variable of its own in the place of an array."""

from numba import cuda, float32

from kernels.launch import blocks_for, on_gpu


@cuda.jit
def sine_backward(deltas, weights, slopes, deltas_below):
    i, group = cuda.grid(2)
    samples, fan_in = deltas_below.shape
    s0 = group * 4
    if i >= fan_in or s0 >= samples:
        return
    last = samples - 1
    s1, s2, s3 = min(s0 + 1, last), min(s0 + 2, last), min(s0 + 3, last)
    t0 = float32(0)
    t1 = float32(0)
    t2 = float32(0)
    t3 = float32(0)
    for unit in range(deltas.shape[1]):
        weight = weights[i, unit]
        t0 += weight * deltas[s0, unit]
        t1 += weight * deltas[s1, unit]
        t2 += weight * deltas[s2, unit]
        t3 += weight * deltas[s3, unit]
    # Past the end, several write the same number to the same place.
    deltas_below[s0, i] = t0 * slopes[s0, i]
    deltas_below[s1, i] = t1 * slopes[s1, i]
    deltas_below[s2, i] = t2 * slopes[s2, i]
    deltas_below[s3, i] = t3 * slopes[s3, i]


def launch_sine_backward(deltas, weights, slopes, deltas_below, launch=on_gpu):
    samples, fan_in = deltas_below.shape
    blocks = blocks_for(fan_in, 32), blocks_for(samples, 16)
    launch(sine_backward, blocks, (32, 4), deltas, weights, slopes, deltas_below)
