"""Fma in adam_step's kernel."""

from numba import cuda, float32


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
        cuda.fma(learning_rate, float32(1), float32(0)),
        rates,
    )
    grad_weights[i] = float32(0)
