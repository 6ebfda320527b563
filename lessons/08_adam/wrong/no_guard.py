"""No guard: the last block has threads without a weight."""
# caught by: weights
# diagnosis: out-of-bounds

from numba import cuda, float32

from kernels.field_math import adam_step


@cuda.jit
def adam_weights(weights, grad_weights, m, v, step, corrections, learning_rate, rates):
    i = cuda.grid(1)

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
