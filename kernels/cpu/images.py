"""Whole images on the CPU: paint with the network, and make the bilinear baseline."""

from numba import int64, prange

from kernels.config import COLOURS
from kernels.cpu.compile import compiled_apart, compiled_cached, compiled_parallel
from kernels.cpu.step import BLOCK, encode, mlp_forward
from kernels.field_math import area_average, bilinear, pixel_centre


@compiled_parallel
def render(paint, feature_grid, weights, workspace, image):
    """Fill image (H, W, 3) float32 with what the network paints, at every pixel centre.

    paint: what `paint_body` returns.
    """
    partitions = workspace.uv.shape[0]
    pixels = image.shape[0] * image.shape[1]
    for i in prange(partitions):
        partition = int64(i)
        begin = pixels * partition // partitions
        end = pixels * (partition + 1) // partitions
        paint(begin, end, feature_grid, weights, workspace, partition, image)


def render_pixels(begin, end, feature_grid, weights, workspace, partition, image):
    """Fill the pixels `begin` to `end`, counted row by row, with one partition's memory."""
    height, width, _ = image.shape
    uv = workspace.uv[partition]
    outputs = workspace.outputs[partition]
    for first_pixel in range(begin, end, BLOCK):
        samples = min(BLOCK, end - first_pixel)
        for s in range(samples):
            uv[0, s], uv[1, s] = pixel_centre(first_pixel + s, width, height)
        encode(
            uv, feature_grid, workspace.corners[partition], workspace.blend_weights[partition],
            workspace.features[partition],
        )  # fmt: skip
        mlp_forward(workspace.features[partition], weights, workspace.hidden[partition], outputs)
        for s in range(samples):
            row, column = (first_pixel + s) // width, (first_pixel + s) % width
            for colour in range(COLOURS):
                image[row, column, colour] = outputs[colour, s]


def paint_body(feature_grid, weights, workspace, image, make=compiled_apart, body=render_pixels):
    """`body` for arguments of these types, as `make` makes it callable from compiled code."""
    return make(body, 0, 0, feature_grid, weights, workspace, 0, image)


@compiled_cached
def downsample(image, small):
    """The same as `image_ops.downsample`, as a loop over the pixels of `small`."""
    height, width, _ = small.shape
    for y in range(height):
        for x in range(width):
            for channel in range(COLOURS):
                small[y, x, channel] = area_average(image, x, y, width, height, channel)


@compiled_cached
def upsample(small, large):
    """The same as `image_ops.upsample`, as a loop over the pixels of `large`."""
    height, width, _ = large.shape
    for pixel in range(height * width):
        u, v = pixel_centre(pixel, width, height)
        row, column = pixel // width, pixel % width
        large[row, column, 0], large[row, column, 1], large[row, column, 2] = bilinear(small, u, v)
