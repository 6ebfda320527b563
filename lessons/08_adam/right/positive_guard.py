"""The guard encloses the work, which a function of the file does."""

from numba import cuda, float32
from numba.extending import register_jitable


@cuda.jit
def adam_weights(weights, grad_weights, m, v, step, corrections, learning_rate, rates):
    i = cuda.grid(1)
    if i < weights.shape[0]:
        update(weights, grad_weights, m, v, step, corrections, learning_rate, rates, i)


@register_jitable
def update(weights, grad_weights, m, v, step, corrections, learning_rate, rates, i):
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
    grad_weights[i] = float32(0)
