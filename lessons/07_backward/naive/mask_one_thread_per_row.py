"""The threads of column 0 go over all units of a sample."""
# points: 9

from numba import cuda, float32


@cuda.jit
def relu_backward(gradients, activations):
    unit, sample = cuda.grid(2)
    if sample >= activations.shape[0] or unit > 0:
        return
    for unit in range(activations.shape[1]):
        if activations[sample, unit] > float32(0):
            activations[sample, unit] = gradients[sample, unit]
        else:
            activations[sample, unit] = float32(0)
