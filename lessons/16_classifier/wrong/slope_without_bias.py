"""On the way back the bias is forgotten."""
# caught by: bias_gelu
# diagnosis: bias forgotten

from numba import cuda

from kernels.classifier.gelu import gelu_slope


@cuda.jit
def gelu_backward(sums, bias, delta):
    unit, sample = cuda.grid(2)
    if sample >= delta.shape[0] or unit >= delta.shape[1]:
        return

    delta[sample, unit] *= gelu_slope(sums[sample, unit])
