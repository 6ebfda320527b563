"""Sampling on the CPU: random points, colours there, the encoding, and its way back.

    uv (2, samples), texture (h, w, 3)  ->  colours (3, samples), features (16, samples)

The idea: bilinear sampling is two kinds of work. *Where* the four texels lie is arithmetic, the
same for all samples, and becomes vector instructions. *Reading* them means jumps in memory that
differ from sample to sample. Kept in two loops, each is as fast as it can be; and the way back,
which adds to the same four texels, need not find them again.
"""

from numba import float32, int64, uint32, uint64

from kernels.config import COLOURS, FOURIER_OCTAVES, GRID_CHANNELS, SUB_CELL_FEATURES
from kernels.cpu.compile import compiled
from kernels.field_math import corner_weights, neighbours, random_uv, sine_of_turns


@compiled
def draw_uv(seed, step, first_sample, uv):
    for s in range(uv.shape[1]):
        uv[0, s], uv[1, s] = random_uv(uint64(first_sample + s), uint64(step), uint64(seed))


@compiled
def find_corners(uv, texture, corners, blend_weights):
    """Where in the flat texture each sample's four texels begin, and the weight of each.

    uv: (2, samples) float32. Writes corners (4, samples) uint32 and blend_weights (4, samples)
    float32: top left, top right, bottom left, bottom right.
    """
    height, width, channels = texture.shape
    for s in range(uv.shape[1]):
        left, right, x_fraction = neighbours(uv[0, s], width)
        top, bottom, y_fraction = neighbours(uv[1, s], height)
        corners[0, s] = (top * width + left) * channels
        corners[1, s] = (top * width + right) * channels
        corners[2, s] = (bottom * width + left) * channels
        corners[3, s] = (bottom * width + right) * channels
        w0, w1, w2, w3 = corner_weights(x_fraction, y_fraction)
        blend_weights[0, s], blend_weights[1, s] = w0, w1
        blend_weights[2, s], blend_weights[3, s] = w2, w3


@compiled
def blend_corners(texture, corners, blend_weights, colours, channels=COLOURS):
    """`field_math.bilinear` of the texels that `find_corners` has found: (3, samples) float32.

    channels: of the texture. What is left to its default is a constant to the compiler, here and
    below.
    """
    flat = texture.reshape(texture.size)
    for s in range(corners.shape[1]):
        for channel in range(channels):
            # Unsigned, so Numba emits no check for negative indices.
            i = uint32(channel)
            colours[channel, s] = (
                blend_weights[0, s] * flat[corners[0, s] + i]
                + blend_weights[1, s] * flat[corners[1, s] + i]
                + blend_weights[2, s] * flat[corners[2, s] + i]
                + blend_weights[3, s] * flat[corners[3, s] + i]
            )


@compiled
def encode(
    uv, feature_grid, corners, blend_weights, features, channels=GRID_CHANNELS,
    octaves=FOURIER_OCTAVES,
):  # fmt: skip
    """Leaves `corners` and `blend_weights` as `scatter` will need them."""
    find_corners(uv, feature_grid, corners, blend_weights)
    blend_corners(feature_grid, corners, blend_weights, features, channels)
    for axis in range(2):
        cells = float32(feature_grid.shape[1 - axis])
        for s in range(uv.shape[1]):
            features[channels + axis, s] = sine_of_turns(uv[axis, s] * cells - float32(0.5))
    channel = channels + SUB_CELL_FEATURES
    for axis in range(2):
        for octave in range(octaves):
            waves = float32(1 << octave)
            for s in range(uv.shape[1]):
                features[channel, s] = sine_of_turns(waves * uv[axis, s])
                features[channel + 1, s] = sine_of_turns(waves * uv[axis, s] + float32(0.25))
            channel += 2


@compiled
def scatter(corners, blend_weights, delta, samples, grad_feature_grid, channels=GRID_CHANNELS):
    """The way back of `blend_corners`: add to the same texels, with the same weights."""
    flat = grad_feature_grid.reshape(grad_feature_grid.size)
    for s in range(samples):
        for corner in range(4):
            for channel in range(channels):
                i = corners[corner, s] + uint32(channel)
                flat[i] += blend_weights[corner, s] * delta[channel, s]


@compiled
def send(partition, place, first, samples, delta, workspace, channels=GRID_CHANNELS):
    """What `scatter` would add, left where the owners of the rows find it: see `receive`.

    first: number of the block's first sample in its partition. workspace: see `step.Workspace`. For
    each sample, writes a line of `sent` (corners, weights, deltas), and its number into the lists
    of one owner or two. How long they are stands in `counts`, which grow.
    """
    corners, blend_weights = workspace.corners[place], workspace.blend_weights[place]
    sent, sent_corners = workspace.sent[partition], workspace.sent_corners[partition]
    lists, counts = workspace.lists[partition], workspace.counts[partition]
    owners, rows, columns, _ = workspace.grad_feature_grid.shape
    for s in range(samples):
        number = first + s
        for corner in range(4):
            sent_corners[number, corner] = corners[corner, s]
            sent[number, 4 + corner] = blend_weights[corner, s]
        for channel in range(channels):
            sent[number, 8 + channel] = delta[channel, s]
        before = -1
        for corner in range(0, 4, 2):
            row = int64(corners[corner, s]) // (columns * channels)
            owner = ((row + 1) * owners - 1) // rows  # whose first row is rows * owner // owners
            if owner != before:
                lists[owner, counts[owner]] = number
                counts[owner] += 1
            before = owner


@compiled
def receive(owner, workspace, channels=GRID_CHANNELS):
    """`scatter` what all partitions have sent to this owner, partition by partition.

    Clears the owner's rows first, and writes to the row above and the one below, too; but what they
    have there is only a part.
    """
    sent, sent_corners = workspace.sent, workspace.sent_corners
    lists, counts = workspace.lists, workspace.counts
    owners, rows, columns, _ = workspace.grad_feature_grid.shape
    flat = workspace.grad_feature_grid[owner].reshape(rows * columns * channels)
    begin, end = rows * owner // owners, rows * (owner + 1) // owners
    for i in range(begin * columns * channels, end * columns * channels):
        flat[i] = float32(0)
    for partition in range(owners):
        for k in range(counts[partition, owner]):
            number = lists[partition, owner, k]
            for corner in range(4):
                first = sent_corners[partition, number, corner]
                weight = sent[partition, number, 4 + corner]
                for channel in range(channels):
                    flat[first + uint32(channel)] += weight * sent[partition, number, 8 + channel]
