"""Thread 0 clears all gradients, while others may not have read theirs yet."""
# caught by: weights
# diagnosis: let each thread set its own element

from numba import cuda, float32

from kernels.adam import adam_step


@cuda.jit
def adam_weights(weights, grad_weights, m, v, step, corrections, learning_rate, rates):
    thread = cuda.grid(1)
    count = weights.shape[0]
    if thread < count:
        t = min(step, corrections.shape[0] - 1)
        out = adam_step(
            weights[thread],
            grad_weights[thread],
            m[thread],
            v[thread],
            corrections[t, 0],
            corrections[t, 1],
            learning_rate,
            rates,
        )
        weights[thread], m[thread], v[thread] = out
    cuda.syncthreads()
    if thread == 0:
        for i in range(count):
            grad_weights[i] = float32(0)
