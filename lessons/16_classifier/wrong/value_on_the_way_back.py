"""gelu on the way back, too."""
# caught by: bias_gelu
# diagnosis: value, not slope

from numba import cuda

from kernels.classifier.gelu import gelu


@cuda.jit
def gelu_backward(sums, bias, delta):
    unit, sample = cuda.grid(2)
    if sample >= delta.shape[0] or unit >= delta.shape[1]:
        return

    delta[sample, unit] *= gelu(sums[sample, unit] + bias[unit])
