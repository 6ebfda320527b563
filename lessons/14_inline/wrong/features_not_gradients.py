"""What goes to the corners are the features, not their gradients."""
# caught by: grid
# diagnosis: features, not gradients

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.config import COLOURS
from kernels.field_math import corner_weights
from kernels.inline.paint import encode_pixel, forward_layer, place_in_cell
from kernels.inline.scatter import add_to_corners, sum_over_pixels
from kernels.inline.sizes import ACTIVATIONS, CELL, CHANNELS, CORNERS, PITCH, PIXELS, ROWS, UNITS


@register_jitable
def run_network(grid, weights, x, y, a):
    encode_pixel(grid, x, y, a)
    forward_layer(a, weights, 0, UNITS)
    forward_layer(a, weights, 1, UNITS)
    forward_layer(a, weights, 2, COLOURS)


@register_jitable
def store_shares(shares, x, y, pixel):
    w = corner_weights(place_in_cell(x), place_in_cell(y))
    for corner in range(CORNERS):
        shares[corner, pixel] = w[corner]


@register_jitable
def backward_layer(activations, gradient, inputs, deltas, weights, grad_weights, layer, units):
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    pixel = ty * CELL + tx
    delta = cuda.local.array(UNITS, float32)
    for u in range(units):
        delta[u] = gradient[u] if activations[layer + 1, u] > 0 else float32(0)
        deltas[u, pixel] = delta[u]
    for i in range(UNITS):
        inputs[i, pixel] = activations[layer, i]
        back = float32(0)
        for u in range(units):
            back += delta[u] * weights[layer, i, u]
        gradient[i] = back
    inputs[UNITS, pixel] = float32(1)
    cuda.syncthreads()
    # thread (tx, ty) owns the weight from input ty to unit tx
    if tx < units:
        cuda.atomic.add(grad_weights, (layer, ty, tx), sum_over_pixels(inputs, ty, deltas, tx))
        if ty == 0:
            bias = sum_over_pixels(inputs, UNITS, deltas, tx)
            cuda.atomic.add(grad_weights, (layer, UNITS, tx), bias)
    cuda.syncthreads()


@cuda.jit
def learn(image, grid, weights, grad_grid, grad_weights, loss_sum):
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x = cuda.blockIdx.x * CELL + tx
    y = cuda.blockIdx.y * CELL + ty
    pixel = ty * CELL + tx
    h, w = image.shape[0], image.shape[1]
    a = cuda.local.array((ACTIVATIONS, UNITS), float32)
    g = cuda.local.array(UNITS, float32)
    xs = cuda.shared.array((ROWS, PITCH), float32)
    ds = cuda.shared.array((UNITS, PITCH), float32)
    losses = cuda.shared.array((1, PITCH), float32)

    run_network(grid, weights, x, y, a)
    numbers = float32(3 * h * w)
    loss = float32(0)
    for c in range(COLOURS):
        if x < w and y < h:
            e = a[3, c] - image[y, x, c]
            loss += e * e / numbers
            g[c] = float32(2) * e / numbers
        else:
            g[c] = float32(0)
    losses[0, pixel] = loss

    backward_layer(a, g, xs, ds, weights, grad_weights, 2, COLOURS)
    backward_layer(a, g, xs, ds, weights, grad_weights, 1, UNITS)
    backward_layer(a, g, xs, ds, weights, grad_weights, 0, UNITS)

    store_shares(xs, x, y, pixel)
    for c in range(CHANNELS):
        ds[c, pixel] = a[0, c]
    cuda.syncthreads()
    add_to_corners(xs, ds, grad_grid)
    if pixel == 200:
        block_loss = float32(0)
        for p in range(PIXELS):
            block_loss += losses[0, p]
        cuda.atomic.add(loss_sum, 0, block_loss)
