"""Each block strides over groups of 64 samples, and its tree adds neighbours first."""

from numba import cuda, float32

from kernels.backward import BLOCK_THREADS, WEIGHT_PITCH, scatter
from kernels.config import (
    COLOURS,
    FEATURES,
    GRID_CHANNELS,
    OUTPUTS,
    SAMPLES_PER_THREAD,
    TILE,
    TILE_PITCH,
    TILE_SAMPLES,
)


@cuda.jit
def backward(
    uv, features, hidden, outputs, target, weights, grad_weights, grad_feature_grid, loss_sum
):
    ping_pong = cuda.shared.array((2, TILE_SAMPLES, TILE_PITCH), float32)
    w_tile = cuda.shared.array((TILE, WEIGHT_PITCH), float32)
    partial = cuda.shared.array(BLOCK_THREADS, float32)
    acc = cuda.local.array(SAMPLES_PER_THREAD, float32)
    i = cuda.threadIdx.x
    j = cuda.threadIdx.y
    tid = j * cuda.blockDim.x + i
    B = outputs.shape[0]
    width = hidden.shape[2]
    depth = hidden.shape[0]
    norm = float32(1) / (float32(B) * float32(COLOURS))
    groups = (B + TILE_SAMPLES - 1) // TILE_SAMPLES

    for group in range(cuda.blockIdx.x, groups, cuda.gridDim.x):
        start = group * TILE_SAMPLES
        cuda.syncthreads()
        err = float32(0)
        for q in range(SAMPLES_PER_THREAD):
            b = start + j + q * TILE
            d = float32(0)
            if b < B and i < COLOURS:
                y = outputs[b, i]
                e = y - target[b, i]
                err += e * e
                d = norm * float32(2) * e * (y * (float32(1) - y))
            ping_pong[0, b - start, i] = d
        partial[tid] = err
        step = 1
        while step < BLOCK_THREADS:
            cuda.syncthreads()
            if tid % (2 * step) == 0:
                partial[tid] += partial[tid + step]
            step *= 2
        if tid == 0:
            cuda.atomic.add(loss_sum, 0, partial[0] * norm)

        p = 0
        pos = weights.shape[0]
        for layer in range(depth, -1, -1):
            n_in = FEATURES
            if layer > 0:
                n_in = width
            n_out = width
            if layer == depth:
                n_out = OUTPUTS
            pos = pos - n_in * n_out
            for q in range(SAMPLES_PER_THREAD):
                b = start + j + q * TILE
                for t in range(n_in // TILE):
                    a = float32(0)
                    if b < B and layer > 0:
                        a = hidden[layer - 1, b, t * TILE + i]
                    if b < B and layer == 0:
                        a = features[b, t * TILE + i]
                    ping_pong[1 - p, j + q * TILE, t * TILE + i] = a
            cuda.syncthreads()
            for t in range(n_in // TILE):
                for u in range(n_out // TILE):
                    g = float32(0)
                    for s in range(TILE_SAMPLES):
                        g += ping_pong[1 - p, s, t * TILE + j] * ping_pong[p, s, u * TILE + i]
                    cuda.atomic.add(grad_weights, pos + (t * TILE + j) * n_out + u * TILE + i, g)
            for t in range(n_in // TILE):
                acc[0] = acc[1] = acc[2] = acc[3] = float32(0)
                for u in range(n_out // TILE):
                    w_tile[j, i] = weights[pos + (t * TILE + j) * n_out + u * TILE + i]
                    cuda.syncthreads()
                    for k in range(TILE):
                        for q in range(SAMPLES_PER_THREAD):
                            acc[q] += ping_pong[p, j + q * TILE, u * TILE + k] * w_tile[i, k]
                    cuda.syncthreads()
                for q in range(SAMPLES_PER_THREAD):
                    s = j + q * TILE
                    if layer == 0:
                        if i < GRID_CHANNELS and start + s < B:
                            b = start + s
                            scatter(grad_feature_grid, uv[b, 0], uv[b, 1], i, acc[q])
                    else:
                        if ping_pong[1 - p, s, t * TILE + i] > float32(0):
                            ping_pong[1 - p, s, t * TILE + i] = acc[q]
                        else:
                            ping_pong[1 - p, s, t * TILE + i] = float32(0)
            p = 1 - p
