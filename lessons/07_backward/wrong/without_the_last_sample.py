"""The guard leaves out the last sample of the batch."""
# caught by: add_weight_gradients
# diagnosis: number batch - 1

from numba import cuda, float32

from kernels.config import SAMPLES_PER_THREAD, TILE, TILE_SAMPLES


@cuda.jit
def add_weight_gradients(activations, deltas, grad_weights):
    inputs = cuda.shared.array((TILE_SAMPLES, TILE), float32)
    units = cuda.shared.array((TILE_SAMPLES, TILE), float32)
    column = cuda.threadIdx.x
    row = cuda.threadIdx.y
    batch = activations.shape[0]

    for j in range(SAMPLES_PER_THREAD):
        local_sample = row + j * TILE
        sample = cuda.blockIdx.x * TILE_SAMPLES + local_sample
        inside = sample < batch - 1
        inputs[local_sample, column] = activations[sample, column] if inside else float32(0)
        units[local_sample, column] = deltas[sample, column] if inside else float32(0)
    cuda.syncthreads()

    total = float32(0)
    for s in range(TILE_SAMPLES):
        total += inputs[s, row] * units[s, column]
    cuda.atomic.add(grad_weights, (row, column), total)
