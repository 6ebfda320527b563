"""Eight totals are unrolled by hand, and number 5 gets the sample of number 4."""
# caught by: backward
# diagnosis: wrong in every round

from numba import cuda, float32

from kernels.siren.layers import SAMPLES_PER_THREAD


@cuda.jit
def sine_backward(deltas, weights, slopes, deltas_below):
    col = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    row0 = (cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y) * SAMPLES_PER_THREAD
    M = deltas_below.shape[0]
    K = deltas_below.shape[1]
    N = deltas.shape[1]
    if col >= K or row0 >= M:
        return
    r0 = row0
    r1 = min(row0 + 1, M - 1)
    r2 = min(row0 + 2, M - 1)
    r3 = min(row0 + 3, M - 1)
    r4 = min(row0 + 4, M - 1)
    r5 = min(row0 + 5, M - 1)
    r6 = min(row0 + 6, M - 1)
    r7 = min(row0 + 7, M - 1)
    t0 = t1 = t2 = t3 = float32(0)
    t4 = t5 = t6 = t7 = float32(0)
    for n in range(N):
        w = weights[col, n]
        t0 += w * deltas[r0, n]
        t1 += w * deltas[r1, n]
        t2 += w * deltas[r2, n]
        t3 += w * deltas[r3, n]
        t4 += w * deltas[r4, n]
        t5 += w * deltas[r4, n]
        t6 += w * deltas[r6, n]
        t7 += w * deltas[r7, n]
    deltas_below[r0, col] = t0 * slopes[r0, col]
    if row0 + 1 < M:
        deltas_below[r1, col] = t1 * slopes[r1, col]
    if row0 + 2 < M:
        deltas_below[r2, col] = t2 * slopes[r2, col]
    if row0 + 3 < M:
        deltas_below[r3, col] = t3 * slopes[r3, col]
    if row0 + 4 < M:
        deltas_below[r4, col] = t4 * slopes[r4, col]
    if row0 + 5 < M:
        deltas_below[r5, col] = t5 * slopes[r5, col]
    if row0 + 6 < M:
        deltas_below[r6, col] = t6 * slopes[r6, col]
    if row0 + 7 < M:
        deltas_below[r7, col] = t7 * slopes[r7, col]
