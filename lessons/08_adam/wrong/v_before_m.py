"""adam_step gets v before m."""
# caught by: weights
# diagnosis: m and v exchanged

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
        v[i],
        m[i],
        corrections[row, 0],
        corrections[row, 1],
        learning_rate,
        rates,
    )
    grad_weights[i] = float32(0)
