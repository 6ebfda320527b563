"""Forward and backward in one kernel: the whole picture, and every gradient.

    image (H, W, 3), grid (rows, columns, 14), weights (3, 17, 16)
        ->  grad_grid (rows, columns, 14), grad_weights (3, 17, 16), loss_sum (1,)    all added to

The idea: a thread takes its pixel forward and back without ever leaving the kernel: activations
stay in registers. What is left to exchange are sums over pixels. The gradient of a weight is

    grad_matrix[k, unit] = sum over pixels of inputs[k] * delta[unit]

where `delta` is the gradient before the ReLU, and the input of a bias is always 1. So layer by
layer, last first, each thread puts its pixel's inputs and deltas into shared memory, and becomes
the owner of one weight: it sums over the 256 pixels of the block, and adds its sum to global memory
once. Then it is a pixel again, and goes a layer down. In the end the gradients of the features go
to the four corners of the cell in the same way.

The caller provides gradients that are zero: Adam clears each one after using it.
Source: Rumelhart, Hinton, Williams, "Learning representations by back-propagating errors", 1986;
inline networks: see `kernels/inline/paint.py`.
"""

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.config import COLOURS
from kernels.field_math import corner_weights
from kernels.inline.paint import encode_pixel, forward_layer, place_in_cell
from kernels.inline.scatter import add_to_corners, sum_over_pixels
from kernels.inline.sizes import ACTIVATIONS, CELL, CHANNELS, CORNERS, PITCH, PIXELS, ROWS, UNITS
from kernels.launch import blocks_for, on_gpu


@register_jitable
def backward_layer(activations, gradient, inputs, deltas, weights, grad_weights, layer, units):
    """Take the block's pixels back through a layer, and add the gradients of its weights.

    activations (4, 16), gradient (16,): this thread's; `gradient` is that of the layer's first
    `units` outputs, and becomes that of its inputs. inputs (17, PITCH), deltas (16, PITCH): the
    block's, in shared memory; nobody may be using them. weights, grad_weights: (3, 17, 16).
    """
    thread = cuda.threadIdx.y * CELL + cuda.threadIdx.x
    for unit in range(units):
        passed = activations[layer + 1, unit] > float32(0)
        deltas[unit, thread] = gradient[unit] if passed else float32(0)
    for k in range(UNITS):
        inputs[k, thread] = activations[layer, k]
    # All pixels must be there before anyone sums over them.
    cuda.syncthreads()

    # 16 x 16 weights and 16 biases: some threads own two.
    for weight in range(thread, ROWS * units, PIXELS):
        k = weight // units
        unit = weight % units
        total = sum_over_pixels(inputs, k, deltas, unit)
        cuda.atomic.add(grad_weights, (layer, k, unit), total)

    for k in range(UNITS):
        total = float32(0)
        for unit in range(units):
            total += weights[layer, k, unit] * deltas[unit, thread]
        gradient[k] = total
    # And everyone must be done with them before they are used again.
    cuda.syncthreads()


@cuda.jit
def learn(image, grid, weights, grad_grid, grad_weights, loss_sum):
    """Add the gradients and the loss of a whole picture; a block of 16 x 16 threads is a cell.

    image: (H, W, 3). grid, grad_grid: see `grid_shape`. weights, grad_weights: (3, 17, 16).
    loss_sum: (1,), the mean squared error over pixels and colours is added. All float32.
    """
    inputs = cuda.shared.array((ROWS, PITCH), float32)
    deltas = cuda.shared.array((UNITS, PITCH), float32)
    activations = cuda.local.array((ACTIVATIONS, UNITS), float32)
    gradient = cuda.local.array(UNITS, float32)

    x, y = cuda.grid(2)
    thread = cuda.threadIdx.y * CELL + cuda.threadIdx.x
    height, width, _ = image.shape
    scale = float32(1) / (float32(height) * float32(width) * float32(COLOURS))

    # No thread leaves early: one beyond the picture has a corner to read, too, but no error.
    encode_pixel(grid, x, y, activations)
    forward_layer(activations, weights, 0, UNITS)
    forward_layer(activations, weights, 1, UNITS)
    forward_layer(activations, weights, 2, COLOURS)

    squared_error = float32(0)
    inside = x < width and y < height
    for colour in range(COLOURS):
        error = activations[3, colour] - image[y, x, colour] if inside else float32(0)
        squared_error += error * error
        gradient[colour] = float32(2) * scale * error
    # The input of the biases.
    inputs[UNITS, thread] = float32(1)

    backward_layer(activations, gradient, inputs, deltas, weights, grad_weights, 2, COLOURS)
    backward_layer(activations, gradient, inputs, deltas, weights, grad_weights, 1, UNITS)
    backward_layer(activations, gradient, inputs, deltas, weights, grad_weights, 0, UNITS)

    w0, w1, w2, w3 = corner_weights(place_in_cell(x), place_in_cell(y))
    inputs[0, thread] = w0
    inputs[1, thread] = w1
    inputs[2, thread] = w2
    inputs[3, thread] = w3
    for channel in range(CHANNELS):
        deltas[channel, thread] = gradient[channel]
    # The row behind the channels is free.
    deltas[CHANNELS, thread] = squared_error
    cuda.syncthreads()
    add_to_corners(inputs, deltas, grad_grid)
    if thread == CORNERS * CHANNELS:
        total = sum_over_pixels(inputs, UNITS, deltas, CHANNELS)
        cuda.atomic.add(loss_sum, 0, scale * total)


def launch_learn(image, grid, weights, grad_grid, grad_weights, loss_sum, launch=on_gpu):
    height, width, _ = image.shape
    blocks = blocks_for(width, CELL), blocks_for(height, CELL)
    launch(
        learn, blocks, (CELL, CELL),
        image, grid, weights, grad_grid, grad_weights, loss_sum,
    )  # fmt: skip
