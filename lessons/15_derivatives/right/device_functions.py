"""Derivatives as device functions of CUDA."""

import math

from numba import cuda

from kernels.derivatives.functions import sine
from kernels.derivatives.registry import derivative_of


@derivative_of(sine)
@cuda.jit(device=True)
def sine_derivative(x, gradient):
    return gradient * math.cos(x)
