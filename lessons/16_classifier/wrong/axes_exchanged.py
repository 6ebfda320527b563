"""cuda.grid gives x first, and x counts units."""
# caught by: bias_gelu
# diagnosis: never written

from numba import cuda

from kernels.classifier.gelu import gelu


@cuda.jit
def bias_gelu(sums, bias, hidden):
    sample, unit = cuda.grid(2)
    if sample >= hidden.shape[0] or unit >= hidden.shape[1]:
        return

    hidden[sample, unit] = gelu(sums[sample, unit] + bias[unit])
