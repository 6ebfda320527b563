"""The table is asked for [0, row] and [1, row]."""
# caught by: weights
# diagnosis: indices of the table exchanged

from numba import cuda, float32

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
        corrections[0, row],
        corrections[1, row],
        learning_rate,
        rates,
    )
    grad_weights[i] = float32(0)
