"""A matrix begins at layer * fan_in * fan_out, as if all had one size."""
# caught by: wide_and_deep
# diagnosis: matrix elsewhere

from numba import cuda, float32

from kernels.config import FEATURES, OUTPUTS, TILE, TILE_PITCH, TILE_SAMPLES
from kernels.field_math import relu, sigmoid


@cuda.jit(device=True)
def load_weight(weights, layer, fanIn, fanOut, i, u):
    return weights[layer * fanIn * fanOut + i * fanOut + u]


@cuda.jit
def mlp_forward(features, weights, hidden, outputs):
    act = cuda.shared.array((2, TILE_SAMPLES, TILE_PITCH), float32)
    wtile = cuda.shared.array((TILE, TILE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    base = cuda.blockIdx.x * TILE_SAMPLES
    nLayers = hidden.shape[0]
    batch = hidden.shape[1]
    width = hidden.shape[2]

    for s in range(ty, TILE_SAMPLES, TILE):
        if base + s < batch:
            act[0, s, tx] = features[base + s, tx]
        else:
            act[0, s, tx] = float32(0)

    src = 0
    for layer in range(nLayers + 1):
        fanIn = FEATURES if layer == 0 else width
        fanOut = OUTPUTS if layer == nLayers else width
        dst = src ^ 1
        for ut in range(fanOut // TILE):
            u = ut * TILE + tx
            acc0 = float32(0)
            acc1 = float32(0)
            acc2 = float32(0)
            acc3 = float32(0)
            for it in range(fanIn // TILE):
                wtile[ty, tx] = load_weight(weights, layer, fanIn, fanOut, it * TILE + ty, u)
                cuda.syncthreads()
                for k in range(TILE):
                    w = wtile[k, tx]
                    i = it * TILE + k
                    acc0 += w * act[src, ty, i]
                    acc1 += w * act[src, ty + 16, i]
                    acc2 += w * act[src, ty + 32, i]
                    acc3 += w * act[src, ty + 48, i]
                cuda.syncthreads()
            for j in range(4):
                v = acc0
                if j == 1:
                    v = acc1
                if j == 2:
                    v = acc2
                if j == 3:
                    v = acc3
                s = ty + 16 * j
                if layer < nLayers:
                    v = relu(v)
                    act[dst, s, u] = v
                    if base + s < batch:
                        hidden[layer, base + s, u] = v
                elif base + s < batch:
                    outputs[base + s, u] = sigmoid(v)
        src = dst
