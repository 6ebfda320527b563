"""One thread puts the factors into shared memory, and no barrier stands before they are read."""
# caught by: weights
# diagnosis: cuda.syncthreads() between them

from numba import cuda, float32

from kernels.adam import adam_step


@cuda.jit
def adam_weights(weights, grad_weights, m, v, step, corrections, learning_rate, rates):
    factors = cuda.shared.array(2, float32)
    tid = cuda.threadIdx.x
    i = cuda.blockIdx.x * cuda.blockDim.x + tid

    if tid == 0:
        row = min(step, corrections.shape[0] - 1)
        factors[0] = corrections[row, 0]
        factors[1] = corrections[row, 1]

    if i < weights.shape[0]:
        w, mi, vi = adam_step(
            weights[i], grad_weights[i], m[i], v[i], factors[0], factors[1], learning_rate, rates
        )
        weights[i] = w
        m[i] = mi
        v[i] = vi
        grad_weights[i] = float32(0)
