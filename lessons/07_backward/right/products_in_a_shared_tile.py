"""Four groups of threads take 16 samples each, and meet in shared memory by atomics."""

from numba import cuda, float32

from kernels.config import TILE, TILE_SAMPLES


@cuda.jit
def add_weight_gradients(activations, deltas, grad_weights):
    inputs = cuda.shared.array((TILE_SAMPLES, TILE), float32)
    units = cuda.shared.array((TILE_SAMPLES, TILE), float32)
    sums = cuda.shared.array((TILE, TILE), float32)
    column, row = cuda.threadIdx.x, cuda.threadIdx.y
    first_sample = cuda.blockIdx.x * TILE_SAMPLES
    for local_sample in range(row, TILE_SAMPLES, TILE):
        sample = first_sample + local_sample
        inside = sample < activations.shape[0]
        inputs[local_sample, column] = activations[sample, column] if inside else float32(0)
        units[local_sample, column] = deltas[sample, column] if inside else float32(0)
    sums[row, column] = float32(0)
    cuda.syncthreads()
    group, first_input = row // 4, row % 4
    for i in range(first_input, TILE, 4):
        total = float32(0)
        for s in range(group * TILE, (group + 1) * TILE):
            total += inputs[s, i] * units[s, column]
        cuda.atomic.add(sums, (i, column), total)
    cuda.syncthreads()
    cuda.atomic.add(grad_weights, (row, column), sums[row, column])
