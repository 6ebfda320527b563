"""Weight tiles are fetched as if they lay one after another."""
# caught by: wide_and_deep
# diagnosis: tiles in a row

from numba import cuda, float32

from kernels.config import FEATURES, OUTPUTS, SAMPLES_PER_THREAD, TILE, TILE_PITCH, TILE_SAMPLES
from kernels.field_math import relu, sigmoid


@cuda.jit
def mlp_forward(features, weights, hidden, outputs):
    """Evaluate the network; 16 x 16 threads and 64 samples per block."""
    act = cuda.shared.array((2, TILE_SAMPLES, TILE_PITCH), float32)
    wt = cuda.shared.array((TILE, TILE), float32)
    acc = cuda.local.array(SAMPLES_PER_THREAD, float32)
    layers, batch, width = hidden.shape
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    first = cuda.blockIdx.x * TILE_SAMPLES
    for j in range(SAMPLES_PER_THREAD):
        s = y + j * TILE
        act[0, s, x] = features[first + s, x] if first + s < batch else float32(0)
    offset = 0
    fan_in = FEATURES
    for layer in range(layers + 1):
        src = layer % 2
        dst = 1 - src
        last = layer == layers
        fan_out = OUTPUTS if last else width
        for u0 in range(0, fan_out, TILE):
            for j in range(SAMPLES_PER_THREAD):
                acc[j] = float32(0)
            for i0 in range(0, fan_in, TILE):
                wt[y, x] = weights[offset + y * TILE + x]
                cuda.syncthreads()
                for k in range(TILE):
                    w = wt[k, x]
                    for j in range(SAMPLES_PER_THREAD):
                        acc[j] += w * act[src, y + j * TILE, i0 + k]
                cuda.syncthreads()
                offset += TILE * TILE
            for j in range(SAMPLES_PER_THREAD):
                s = y + j * TILE
                if last:
                    if first + s < batch:
                        outputs[first + s, u0 + x] = sigmoid(acc[j])
                else:
                    act[dst, s, u0 + x] = relu(acc[j])
                    if first + s < batch:
                        hidden[layer, first + s, u0 + x] = relu(acc[j])
        fan_in = fan_out
