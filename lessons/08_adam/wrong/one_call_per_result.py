"""The step is made of m and v that have been stored already, by a call of its own."""
# caught by: weights
# diagnosis: both once more

from numba import cuda, float32

from kernels.field_math import adam_step


@cuda.jit
def adam_weights(weights, grad_weights, m, v, step, corrections, learning_rate, rates):
    i = cuda.grid(1)
    if i < weights.shape[0]:
        row = min(step, corrections.shape[0] - 1)
        c_m = corrections[row, 0]
        c_v = corrections[row, 1]
        g = grad_weights[i]
        m[i] = adam_step(weights[i], g, m[i], v[i], c_m, c_v, learning_rate, rates)[1]
        v[i] = adam_step(weights[i], g, m[i], v[i], c_m, c_v, learning_rate, rates)[2]
        weights[i] = adam_step(weights[i], g, m[i], v[i], c_m, c_v, learning_rate, rates)[0]
        grad_weights[i] = float32(0)
