"""The angle is the bare sum; only the slope has omega."""
# caught by: layer
# diagnosis: omega forgotten in the angle

from numba import cuda, float32

from kernels.siren.layers import SAMPLES_PER_THREAD, cosine, sine


@cuda.jit
def sine_layer(inputs, weights, biases, omega, outputs, slopes):
    unit, group = cuda.grid(2)
    samples, units = outputs.shape
    first = group * SAMPLES_PER_THREAD
    if unit >= units or first >= samples:
        return
    totals = cuda.local.array(SAMPLES_PER_THREAD, float32)
    for j in range(SAMPLES_PER_THREAD):
        totals[j] = biases[unit]
    for i in range(inputs.shape[1]):
        weight = weights[i, unit]
        for j in range(SAMPLES_PER_THREAD):
            totals[j] += weight * inputs[min(first + j, samples - 1), i]
    for j in range(SAMPLES_PER_THREAD):
        sample = first + j
        if sample < samples:
            angle = totals[j]
            outputs[sample, unit] = sine(angle)
            slopes[sample, unit] = omega * cosine(angle)
