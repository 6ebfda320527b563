"""The guard compares the sample with the units, and the unit with the samples."""
# caught by: bias_gelu
# diagnosis: out-of-bounds

from numba import cuda

from kernels.classifier.gelu import gelu


@cuda.jit
def bias_gelu(sums, bias, hidden):
    unit, sample = cuda.grid(2)
    if sample >= hidden.shape[1] or unit >= hidden.shape[0]:
        return

    hidden[sample, unit] = gelu(sums[sample, unit] + bias[unit])
