"""The sizes of the inline model, in one place: kernels need them before they are compiled."""

from kernels.launch import blocks_for

CELL = 16  # pixels along each side of a cell, and threads along each side of a block
PIXELS = CELL * CELL  # of a cell: as many as a block has threads

CHANNELS = 14  # what each corner of a cell stores
FEATURES = CHANNELS + 2  # and where between its corners the pixel lies, along x and along y
UNITS = FEATURES  # a layer has as many units as inputs
ROWS = UNITS + 1  # rows of a layer's matrix: one per input, and the biases
LAYERS = 3
ACTIVATIONS = LAYERS + 1  # the features, and what each of the layers makes of them
CORNERS = 4

# One word longer than a row of pixels. Threads that read one pixel of 16 rows would all want the
# same bank of shared memory if it were 256.
PITCH = PIXELS + 1


def grid_shape(height, width):
    """(rows, columns, CHANNELS) of the grid for a picture: it stores corners, one more than cells.

    A picture whose size is no multiple of CELL has a last cell that is not full.
    """
    return blocks_for(height, CELL) + 1, blocks_for(width, CELL) + 1, CHANNELS


WEIGHTS_SHAPE = LAYERS, ROWS, UNITS  # of all matrices, with their biases
