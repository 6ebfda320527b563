"""A thread whose samples are beyond the batch does not fetch its weight, which all samples need."""
# caught by: ragged_batch
# diagnosis: Its row is there that of an input, not of a sample

from numba import cuda, float32

from kernels.config import FEATURES, OUTPUTS, SAMPLES_PER_THREAD, TILE, TILE_PITCH, TILE_SAMPLES
from kernels.field_math import relu, sigmoid


@cuda.jit
def mlp_forward(features, weights, hidden, outputs):
    """Evaluate the network; 16 x 16 threads and 64 samples per block."""
    layers, batch, width = hidden.shape
    col, row = cuda.threadIdx.x, cuda.threadIdx.y
    block_start = cuda.blockIdx.x * TILE_SAMPLES
    A = cuda.shared.array((2, TILE_SAMPLES, TILE_PITCH), float32)
    W = cuda.shared.array((TILE, TILE), float32)
    acc = cuda.local.array(SAMPLES_PER_THREAD, float32)

    has_work = block_start + row < batch  # its other samples lie even further on

    for j in range(SAMPLES_PER_THREAD):
        s = row + TILE * j
        A[0, s, col] = features[block_start + s, col] if block_start + s < batch else float32(0)

    offset = 0
    n_in = FEATURES
    for layer in range(layers + 1):
        n_out = OUTPUTS if layer == layers else width
        for tile in range(n_out // TILE):
            unit = tile * TILE + col
            for j in range(SAMPLES_PER_THREAD):
                acc[j] = float32(0)
            for part in range(n_in // TILE):
                if has_work:
                    W[row, col] = weights[offset + (part * TILE + row) * n_out + unit]
                cuda.syncthreads()
                if has_work:
                    for k in range(TILE):
                        w = W[k, col]
                        for j in range(SAMPLES_PER_THREAD):
                            acc[j] += w * A[layer % 2, row + TILE * j, part * TILE + k]
                cuda.syncthreads()
            for j in range(SAMPLES_PER_THREAD):
                s = row + TILE * j
                if layer < layers:
                    A[(layer + 1) % 2, s, unit] = relu(acc[j])
                if block_start + s < batch:
                    if layer < layers:
                        hidden[layer, block_start + s, unit] = relu(acc[j])
                    else:
                        outputs[block_start + s, unit] = sigmoid(acc[j])
        offset += n_in * n_out
        n_in = n_out
