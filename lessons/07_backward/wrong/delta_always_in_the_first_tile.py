"""The new delta goes into tiles[0], whose old one is still read: the tiles never change roles."""
# caught by: all_layers
# diagnosis: whether the two tiles change roles

from numba import cuda, float32

from kernels.backward import scatter
from kernels.config import (
    BLOCK_THREADS,
    COLOURS,
    FEATURES,
    GRID_CHANNELS,
    OUTPUTS,
    SAMPLES_PER_THREAD,
    TILE,
    TILE_PITCH,
    TILE_SAMPLES,
    WEIGHT_PITCH,
)


@cuda.jit
def backward(
    uv, features, hidden, outputs, target, weights, grad_weights, grad_feature_grid, loss_sum
):
    tiles = cuda.shared.array((2, TILE_SAMPLES, TILE_PITCH), float32)
    weight_tile = cuda.shared.array((TILE, WEIGHT_PITCH), float32)
    squared_errors = cuda.shared.array(BLOCK_THREADS, float32)
    totals = cuda.local.array(SAMPLES_PER_THREAD, float32)
    col, row = cuda.threadIdx.x, cuda.threadIdx.y
    tid = row * TILE + col
    batch_size = features.shape[0]
    block_start = cuda.blockIdx.x * TILE_SAMPLES
    one_over = float32(1) / (float32(COLOURS) * float32(batch_size))

    own = float32(0)
    for p in range(tid, TILE_SAMPLES * OUTPUTS, BLOCK_THREADS):
        s = p // OUTPUTS
        c = p % OUTPUTS
        g = block_start + s
        if c < COLOURS and g < batch_size:
            diff = outputs[g, c] - target[g, c]
            own += diff * diff
            tiles[0, s, c] = (
                float32(2) * one_over * diff * outputs[g, c] * (float32(1) - outputs[g, c])
            )
        else:
            tiles[0, s, c] = float32(0)
    squared_errors[tid] = own
    cuda.syncthreads()
    half = BLOCK_THREADS >> 1
    while half:
        if tid < half:
            squared_errors[tid] += squared_errors[tid + half]
        cuda.syncthreads()
        half >>= 1
    if tid == 0:
        cuda.atomic.add(loss_sum, 0, squared_errors[0] * one_over)

    hidden_layers = hidden.shape[0]
    width = hidden.shape[2]
    cur = 0
    offset = weights.shape[0]
    for layer in range(hidden_layers, -1, -1):
        rows_w = FEATURES if layer == 0 else width
        cols_w = OUTPUTS if layer == hidden_layers else width
        offset -= rows_w * cols_w
        prev = 1
        for p in range(tid, TILE_SAMPLES * rows_w, BLOCK_THREADS):
            s = p // rows_w
            j = p % rows_w
            g = block_start + s
            if g >= batch_size:
                tiles[prev, s, j] = float32(0)
            elif layer > 0:
                tiles[prev, s, j] = hidden[layer - 1, g, j]
            else:
                tiles[prev, s, j] = features[g, j]
        cuda.syncthreads()
        for p in range(tid, rows_w * cols_w, BLOCK_THREADS):
            acc = float32(0)
            for s in range(TILE_SAMPLES):
                acc += tiles[prev, s, p // cols_w] * tiles[cur, s, p % cols_w]
            cuda.atomic.add(grad_weights, offset + p, acc)
        for it in range(rows_w // TILE):
            for q in range(SAMPLES_PER_THREAD):
                totals[q] = float32(0)
            for ut in range(cols_w // TILE):
                wi = it * TILE + row
                wj = ut * TILE + col
                weight_tile[row, col] = weights[offset + wi * cols_w + wj]
                cuda.syncthreads()
                for q in range(SAMPLES_PER_THREAD):
                    for k in range(TILE):
                        totals[q] += tiles[cur, row + q * TILE, ut * TILE + k] * weight_tile[col, k]
                cuda.syncthreads()
            for q in range(SAMPLES_PER_THREAD):
                s = row + q * TILE
                g = block_start + s
                unit = it * TILE + col
                if layer > 0:
                    mask = float32(1) if tiles[prev, s, unit] > 0 else float32(0)
                    tiles[0, s, unit] = mask * totals[q]
                elif unit < GRID_CHANNELS and g < batch_size:
                    scatter(grad_feature_grid, uv[g, 0], uv[g, 1], unit, totals[q])
