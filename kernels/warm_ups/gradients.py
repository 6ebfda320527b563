"""Two pieces of a backward pass, one idea each, before all of them meet in `backward`.

    relu_backward           gradients, activations (B, units)  ->  activations, now deltas
    add_weight_gradients    activations, deltas (B, 16)  ->  grad_weights (16, 16), added to

The idea: what the forward pass has kept is enough to go back. An activation above zero says that
its ReLU has passed the sum on, so the gradient passes, too; afterwards nobody needs the activation,
and the delta takes its place. And the gradient of a weight is the activation that it was multiplied
by, times the delta of its unit, added up over all samples: a block adds up its 64 by itself, and
makes one atomic addition per weight.

Source: Rumelhart, Hinton, Williams, "Learning representations by back-propagating errors", 1986.
"""

from numba import cuda, float32

from kernels.config import SAMPLES_PER_THREAD, TILE, TILE_SAMPLES
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def relu_backward(gradients, activations):
    """Replace activations (B, units) by deltas: the gradient where one is above 0, elsewhere 0.

    gradients: (B, units), those of the activations. Both float32, of any size. One thread per
    element.
    """
    unit, sample = cuda.grid(2)
    if sample >= activations.shape[0] or unit >= activations.shape[1]:
        return

    gradient = gradients[sample, unit]
    passed = activations[sample, unit] > float32(0)
    activations[sample, unit] = gradient if passed else float32(0)


@cuda.jit
def add_weight_gradients(activations, deltas, grad_weights):
    """Add activations^T @ deltas to grad_weights (16, 16); both (B, 16), all float32.

    Blocks of 16 x 16 threads and 64 samples; one atomic addition per weight and block.
    """
    inputs = cuda.shared.array((TILE_SAMPLES, TILE), float32)
    units = cuda.shared.array((TILE_SAMPLES, TILE), float32)
    column = cuda.threadIdx.x
    row = cuda.threadIdx.y
    batch = activations.shape[0]

    # Samples past the batch are zeros, which add nothing to a sum.
    for j in range(SAMPLES_PER_THREAD):
        local_sample = row + j * TILE
        sample = cuda.blockIdx.x * TILE_SAMPLES + local_sample
        inside = sample < batch
        inputs[local_sample, column] = activations[sample, column] if inside else float32(0)
        units[local_sample, column] = deltas[sample, column] if inside else float32(0)
    # A weight needs all samples of the block, and other threads have fetched them.
    cuda.syncthreads()

    # Thread (column, row) owns the weight from input `row` to unit `column`.
    total = float32(0)
    for s in range(TILE_SAMPLES):
        total += inputs[s, row] * units[s, column]
    cuda.atomic.add(grad_weights, (row, column), total)


def launch_relu_backward(gradients, activations, launch=on_gpu):
    samples, units = activations.shape
    blocks = blocks_for(units, TILE), blocks_for(samples, TILE)
    launch(relu_backward, blocks, (TILE, TILE), gradients, activations)


def launch_add_weight_gradients(activations, deltas, grad_weights, launch=on_gpu):
    blocks = blocks_for(activations.shape[0], TILE_SAMPLES)
    launch(add_weight_gradients, blocks, (TILE, TILE), activations, deltas, grad_weights)
