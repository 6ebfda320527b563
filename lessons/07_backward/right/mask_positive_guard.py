"""A positive guard, and a product with 1 or 0 in place of the if."""

from numba import cuda, float32


@cuda.jit
def relu_backward(gradients, activations):
    unit, sample = cuda.grid(2)
    samples, units = activations.shape
    if sample < samples and unit < units:
        slope = float32(1) if activations[sample, unit] > float32(0) else float32(0)
        activations[sample, unit] = slope * gradients[sample, unit]
