"""The picture gets row 0 of the activations."""
# caught by: layers
# diagnosis: row 0 of activations

from numba import cuda, float32

from kernels.config import COLOURS
from kernels.inline.sizes import ACTIVATIONS, UNITS


@cuda.jit
def paint(grid, weights, picture):
    activations = cuda.local.array((ACTIVATIONS, UNITS), float32)
    x, y = cuda.grid(2)
    if x >= picture.shape[1] or y >= picture.shape[0]:
        return

    encode_pixel(grid, x, y, activations)
    forward_layer(activations, weights, 0, UNITS)
    forward_layer(activations, weights, 1, UNITS)
    forward_layer(activations, weights, 2, COLOURS)
    for colour in range(COLOURS):
        picture[y, x, colour] = activations[0, colour]
