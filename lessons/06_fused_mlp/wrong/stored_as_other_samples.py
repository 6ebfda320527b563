"""Stored as sample row * 4 + j, multiplied as sample row + j * 16."""
# caught by: one_hidden_layer
# diagnosis: stored as other samples

from numba import cuda, float32

from kernels.config import FEATURES, OUTPUTS, SAMPLES_PER_THREAD, TILE, TILE_PITCH, TILE_SAMPLES
from kernels.field_math import relu, sigmoid


@cuda.jit
def mlp_forward(features, weights, hidden, outputs):
    act = cuda.shared.array((2, TILE_SAMPLES, TILE_PITCH), float32)
    wt = cuda.shared.array((TILE, TILE), float32)
    acc = cuda.local.array(SAMPLES_PER_THREAD, float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    depth, batch, width = hidden.shape
    base = cuda.blockIdx.x * TILE_SAMPLES

    for j in range(SAMPLES_PER_THREAD):
        r = ty * SAMPLES_PER_THREAD + j
        act[0, r, tx] = features[base + r, tx] if base + r < batch else float32(0)

    offset = 0
    n_in = FEATURES
    now = 0
    for layer in range(depth + 1):
        n_out = width if layer < depth else OUTPUTS
        for u0 in range(0, n_out, TILE):
            for j in range(SAMPLES_PER_THREAD):
                acc[j] = float32(0)
            for i0 in range(0, n_in, TILE):
                wt[ty, tx] = weights[offset + (i0 + ty) * n_out + u0 + tx]
                cuda.syncthreads()
                for k in range(TILE):
                    w = wt[k, tx]
                    for j in range(SAMPLES_PER_THREAD):
                        acc[j] += w * act[now, ty + j * TILE, i0 + k]
                cuda.syncthreads()
            for j in range(SAMPLES_PER_THREAD):
                r = ty * SAMPLES_PER_THREAD + j
                if layer == depth:
                    if base + r < batch:
                        outputs[base + r, u0 + tx] = sigmoid(acc[j])
                else:
                    y = relu(acc[j])
                    act[1 - now, r, u0 + tx] = y
                    if base + r < batch:
                        hidden[layer, base + r, u0 + tx] = y
        now = 1 - now
        offset += n_in * n_out
        n_in = n_out
