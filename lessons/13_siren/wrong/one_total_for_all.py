"""One total serves all eight samples: it goes on from one to the next."""
# caught by: layer
# diagnosis: totals go on

from numba import cuda, float32

from kernels.siren.layers import SAMPLES_PER_THREAD, cosine, sine


@cuda.jit
def sine_layer(inputs, weights, biases, omega, outputs, slopes):
    unit, group = cuda.grid(2)
    samples, fan_out = outputs.shape
    first = group * SAMPLES_PER_THREAD
    if unit >= fan_out:
        return

    total = biases[unit]
    for j in range(SAMPLES_PER_THREAD):
        if first + j < samples:
            for i in range(inputs.shape[1]):
                total += weights[i, unit] * inputs[first + j, i]
            angle = omega * total
            outputs[first + j, unit] = sine(angle)
            slopes[first + j, unit] = omega * cosine(angle)
