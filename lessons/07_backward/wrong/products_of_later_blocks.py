"""Each block goes on from its own samples to all later ones, which other blocks add, too."""
# caught by: add_weight_gradients
# diagnosis: all later samples, too

from numba import cuda, float32
from numba.extending import register_jitable

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
from kernels.field_math import corner_weights, neighbours
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def relu_backward(gradients, activations):
    """Replace activations (B, units) by deltas: the gradient where one is above 0, elsewhere 0.

    gradients: (B, units), those of the activations. Both float32, of any size. One thread per
    element.
    """
    x, y = cuda.grid(2)
    if x < activations.shape[1] and y < activations.shape[0]:
        passes = activations[y, x] > float32(0)
        activations[y, x] = float32(0)
        if passes:
            activations[y, x] = gradients[y, x]


def launch_relu_backward(gradients, activations, launch=on_gpu):
    samples, units = activations.shape
    blocks = blocks_for(units, TILE), blocks_for(samples, TILE)
    launch(relu_backward, blocks, (TILE, TILE), gradients, activations)


@cuda.jit
def add_weight_gradients(activations, deltas, grad_weights):
    """Add activations^T @ deltas to grad_weights (16, 16); both (B, 16), all float32.

    Blocks of 16 x 16 threads and 64 samples; one atomic addition per weight and block.
    """
    a_part = cuda.shared.array((TILE_SAMPLES, TILE), float32)
    d_part = cuda.shared.array((TILE_SAMPLES, TILE), float32)
    tid_x = cuda.threadIdx.x
    tid_y = cuda.threadIdx.y
    n_samples = activations.shape[0]

    acc = float32(0)
    for start in range(cuda.blockIdx.x * TILE_SAMPLES, n_samples, TILE_SAMPLES):
        for k in range(SAMPLES_PER_THREAD):
            local = tid_y + k * TILE
            if start + local < n_samples:
                a_part[local, tid_x] = activations[start + local, tid_x]
                d_part[local, tid_x] = deltas[start + local, tid_x]
            else:
                a_part[local, tid_x] = float32(0)
                d_part[local, tid_x] = float32(0)
        cuda.syncthreads()
        for local in range(TILE_SAMPLES):
            acc += a_part[local, tid_y] * d_part[local, tid_x]
        cuda.syncthreads()
    cuda.atomic.add(grad_weights, (tid_y, tid_x), acc)


def launch_add_weight_gradients(activations, deltas, grad_weights, launch=on_gpu):
    blocks = blocks_for(activations.shape[0], TILE_SAMPLES)
    launch(add_weight_gradients, blocks, (TILE, TILE), activations, deltas, grad_weights)


@cuda.jit
def backward(
    uv, features, hidden, outputs, target, weights, grad_weights, grad_feature_grid, loss_sum
):
    """Add one batch's gradients and loss; 16 x 16 threads and 64 samples per block.

    uv (B, 2), features (B, 16), hidden (layers, B, width), outputs (B, 16), target (B, 3),
    weights (n,): float32, as the earlier stages left them.
    Adds to grad_weights (n,), grad_feature_grid (gh, gw, 3) and loss_sum (1,): float32.
    """
    tiles = cuda.shared.array((2, TILE_SAMPLES, TILE_PITCH), float32)
    weight_tile = cuda.shared.array((TILE, WEIGHT_PITCH), float32)
    squared_errors = cuda.shared.array(BLOCK_THREADS, float32)
    totals = cuda.local.array(SAMPLES_PER_THREAD, float32)

    tid_x = cuda.threadIdx.x
    tid_y = cuda.threadIdx.y
    tid = tid_x + TILE * tid_y
    n_samples = features.shape[0]
    start = TILE_SAMPLES * cuda.blockIdx.x
    width = hidden.shape[2]
    last = hidden.shape[0]
    norm = float32(n_samples) * float32(COLOURS)

    acc = float32(0)
    for k in range(SAMPLES_PER_THREAD):
        local = tid_y + k * TILE
        if tid_x < COLOURS and start + local < n_samples:
            out = outputs[start + local, tid_x]
            err = out - target[start + local, tid_x]
            tiles[0, local, tid_x] = float32(2) / norm * err * out * (float32(1) - out)
            acc += err * err
        else:
            tiles[0, local, tid_x] = float32(0)
    squared_errors[tid] = acc
    cuda.syncthreads()
    stride = 128
    while stride >= 1:
        if tid < stride:
            squared_errors[tid] = squared_errors[tid] + squared_errors[tid + stride]
        cuda.syncthreads()
        stride = stride // 2
    if tid == 0:
        cuda.atomic.add(loss_sum, 0, squared_errors[0] / norm)

    offset = weights.shape[0]
    current = 0
    for layer in range(last, -1, -1):
        if layer == 0:
            fan_in = FEATURES
        else:
            fan_in = width
        if layer == last:
            fan_out = OUTPUTS
        else:
            fan_out = width
        offset -= fan_in * fan_out
        other = 1 - current

        for k in range(SAMPLES_PER_THREAD):
            local = tid_y + k * TILE
            for unit in range(tid_x, fan_in, TILE):
                if start + local >= n_samples:
                    tiles[other, local, unit] = float32(0)
                elif layer == 0:
                    tiles[other, local, unit] = features[start + local, unit]
                else:
                    tiles[other, local, unit] = hidden[layer - 1, start + local, unit]
        cuda.syncthreads()

        for i in range(tid_y, fan_in, TILE):
            for j in range(tid_x, fan_out, TILE):
                grad = float32(0)
                for local in range(TILE_SAMPLES):
                    grad += tiles[other, local, i] * tiles[current, local, j]
                cuda.atomic.add(grad_weights, offset + i * fan_out + j, grad)

        for i in range(0, fan_in, TILE):
            for k in range(SAMPLES_PER_THREAD):
                totals[k] = float32(0)
            for j in range(0, fan_out, TILE):
                weight_tile[tid_y, tid_x] = weights[offset + (i + tid_y) * fan_out + j + tid_x]
                cuda.syncthreads()
                for inner in range(TILE):
                    weight = weight_tile[tid_x, inner]
                    for k in range(SAMPLES_PER_THREAD):
                        totals[k] += tiles[current, tid_y + k * TILE, j + inner] * weight
                cuda.syncthreads()
            for k in range(SAMPLES_PER_THREAD):
                local = tid_y + k * TILE
                if layer == 0:
                    if i + tid_x < GRID_CHANNELS and start + local < n_samples:
                        scatter(
                            grad_feature_grid,
                            uv[start + local, 0],
                            uv[start + local, 1],
                            i + tid_x,
                            totals[k],
                        )
                elif tiles[other, local, i + tid_x] > float32(0):
                    tiles[other, local, i + tid_x] = totals[k]
                else:
                    tiles[other, local, i + tid_x] = float32(0)
        current = other


@register_jitable
def scatter(grad_feature_grid, u, v, channel, gradient):
    """Add one channel's gradient to the four grid cells that the encoding blended at (u, v).

    Other samples add to the same cells at the same time, hence the atomics.
    """
    left, right, along_x = neighbours(u, grad_feature_grid.shape[1])
    top, bottom, along_y = neighbours(v, grad_feature_grid.shape[0])
    weight = corner_weights(along_x, along_y)
    cuda.atomic.add(grad_feature_grid, (top, left, channel), gradient * weight[0])
    cuda.atomic.add(grad_feature_grid, (top, right, channel), gradient * weight[1])
    cuda.atomic.add(grad_feature_grid, (bottom, left, channel), gradient * weight[2])
    cuda.atomic.add(grad_feature_grid, (bottom, right, channel), gradient * weight[3])


def launch_backward(
    uv, features, hidden, outputs, target, weights, grad_weights, grad_feature_grid, loss_sum,
    launch=on_gpu,
):  # fmt: skip
    blocks = blocks_for(uv.shape[0], TILE_SAMPLES)
    launch(
        backward, blocks, (TILE, TILE),
        uv, features, hidden, outputs, target, weights, grad_weights, grad_feature_grid, loss_sum,
    )  # fmt: skip
