"""The three results get names first."""

from numba import cuda, float32


@cuda.jit
def adam_weights(weights, grad_weights, m, v, step, corrections, learning_rate, rates):
    i = cuda.grid(1)
    if i >= weights.shape[0]:
        return

    row = min(step, corrections.shape[0] - 1)
    w, new_m, new_v = adam_step(
        weights[i],
        grad_weights[i],
        m[i],
        v[i],
        corrections[row, 0],
        corrections[row, 1],
        learning_rate,
        rates,
    )
    weights[i] = w
    m[i] = new_m
    v[i] = new_v
    grad_weights[i] = float32(0)
