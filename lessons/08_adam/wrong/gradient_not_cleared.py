"""The gradient is left as it is: the next step adds to it."""
# caught by: weights
# diagnosis: gradient not cleared

from numba import cuda

from kernels.field_math import adam_step


@cuda.jit
def adam_weights(weights, grad_weights, m, v, step, corrections, learning_rate, rates):
    i = cuda.grid(1)
    if i >= weights.shape[0]:
        return

    row = min(step, corrections.shape[0] - 1)
    weights[i], m[i], v[i] = adam_step(
        weights[i],
        grad_weights[i],
        m[i],
        v[i],
        corrections[row, 0],
        corrections[row, 1],
        learning_rate,
        rates,
    )
