"""Lesson 19: who looks at whom. Layer norm, attention in tiles, and both backward.

Write the eight functions marked "write me"; the story is in README.md beside this file.

    x (rows, d), gain (d,)     ->  out (rows, d), means (rows,), scales (rows,)
    q, k, v (B, heads, n, d)   ->  out (B, heads, n, d), log_sums (B, heads, n)

Check your work with `python -m lessons check 19`.
"""

import math

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.attention.backward import OWN
from kernels.attention.forward import (
    CHANNELS,
    KEYS,
    PITCH,
    PLACES,
    QUERIES,
    ROWS,
    SCORES_PITCH,
    SIDE,
    WARP_ROWS,
    WIDTH,
)
from kernels.attention.layer_norm import EPSILON
from kernels.config import BLOCK_THREADS, THREADS, WARP
from kernels.launch import blocks_for, on_gpu
from kernels.reductions.maximum import larger
from kernels.reductions.sums import ALL_LANES, WARPS, add, warp_reduce


@register_jitable
def merge(count, mean, squares, other_count, other_mean, other_squares):
    """Two groups of numbers as one: (count, mean, squares), all float32.

    squares: the sum of squared distances from the group's mean. A group may be empty.
    """
    raise NotImplementedError("write me")


@cuda.jit
def layer_norm(x, gain, out, means, scales):
    """out = (x - mean) * scale * gain, row by row. One warp per row.

    x (rows, d), gain (d,): float32. Writes out (rows, d), means (rows,), and scales (rows,), one
    over the root of the row's variance plus EPSILON: float32.
    """
    raise NotImplementedError("write me")


@cuda.jit
def layer_norm_backward(x, gain, means, scales, grad_out, grad_x):
    """grad_x: how the loss grows with each number of x, by way of its whole row. One warp per row.

    x, grad_out (rows, d), gain (d,); means, scales (rows,): as `layer_norm` has left them. Writes
    grad_x (rows, d). All float32.
    """
    raise NotImplementedError("write me")


@cuda.jit
def gain_gradients(x, means, scales, grad_out, partials):
    """partials (blocks, d): for each column, the sum over a block's rows of grad_out * normalized.

    x, grad_out (rows, d); means, scales (rows,): float32. Blocks of WARP x WARPS threads: x counts
    columns, and warp y takes every WARPS-th row of the block's; gridDim.y blocks share the rows.
    """
    raise NotImplementedError("write me")


def launch_layer_norm(x, gain, out, means, scales, launch=on_gpu):
    blocks = blocks_for(x.shape[0], WARPS)
    launch(layer_norm, blocks, BLOCK_THREADS, x, gain, out, means, scales)


def launch_layer_norm_backward(x, gain, means, scales, grad_out, grad_x, launch=on_gpu):
    blocks = blocks_for(x.shape[0], WARPS)
    launch(layer_norm_backward, blocks, BLOCK_THREADS, x, gain, means, scales, grad_out, grad_x)


def launch_gain_gradients(x, means, scales, grad_out, partials, launch=on_gpu):
    """partials: (blocks, d), for any number of blocks; the sums of its columns are the gradient."""
    blocks = blocks_for(x.shape[1], WARP), partials.shape[0]
    launch(gain_gradients, blocks, (WARP, WARPS), x, means, scales, grad_out, partials)


@cuda.jit
def attention_naive(q, k, v, weights, out):
    """Attention with all weights in memory. One thread per query.

    q, k, v (B, heads, n, d): float32. Writes weights (B, heads, n, n), zeros above the diagonal,
    whose rows sum to 1; and out (B, heads, n, d): float32.
    """
    raise NotImplementedError("write me")


@register_jitable
def load_tile(matrix, batch, head, first, rows, tile):
    """Fetch `rows` rows of matrix (B, heads, n, d), from `first` on: the whole block together.

    tile (rows, PITCH), in shared memory, gets WIDTH columns; zeros outside of the matrix.
    Neighbouring threads read neighbouring numbers.
    """
    threads = cuda.blockDim.x * cuda.blockDim.y
    for i in range(cuda.threadIdx.y * SIDE + cuda.threadIdx.x, rows * WIDTH, threads):
        row, channel = i // WIDTH, i % WIDTH
        value = float32(0)
        if first + row < matrix.shape[2] and channel < matrix.shape[3]:
            value = matrix[batch, head, first + row, channel]
        tile[row, channel] = value


@register_jitable
def dot_products(own_tile, other_tile, width, products):
    """products (ROWS, PLACES): of this thread's rows of own_tile with its rows of other_tile.

    Both (any, PITCH). Of own_tile they are those from ROWS * y on, of other_tile x and x + SIDE.
    width: how many channels are multiplied.
    """
    x, first = cuda.threadIdx.x, cuda.threadIdx.y * ROWS
    for i in range(ROWS):
        for j in range(PLACES):
            products[i, j] = float32(0)
    for channel in range(width):
        for j in range(PLACES):
            other = other_tile[x + j * SIDE, channel]
            for i in range(ROWS):
                products[i, j] += own_tile[first + i, channel] * other


@register_jitable
def add_weighted(weights, tile, count, sums):
    """Add to sums (ROWS, CHANNELS) the weights times the first `count` rows of a tile.

    weights (any, SCORES_PITCH): this thread's rows are those from ROWS * y on. tile (any, PITCH):
    its channels are x, x + SIDE, ...
    """
    x, first = cuda.threadIdx.x, cuda.threadIdx.y * ROWS
    for row in range(count):
        for j in range(CHANNELS):
            value = tile[row, x + j * SIDE]
            for i in range(ROWS):
                sums[i, j] += weights[first + i, row] * value


@register_jitable
def clear(sums):
    """Set sums (ROWS, CHANNELS) to zero."""
    for i in range(ROWS):
        for j in range(CHANNELS):
            sums[i, j] = float32(0)


@register_jitable
def store_rows(sums, batch, head, first, matrix):
    """Write this thread's sums (ROWS, CHANNELS) to matrix (B, heads, n, d).

    first: the block's first row of it.
    """
    for i in range(ROWS):
        row = first + cuda.threadIdx.y * ROWS + i
        for j in range(CHANNELS):
            channel = cuda.threadIdx.x + j * SIDE
            if row < matrix.shape[2] and channel < matrix.shape[3]:
                matrix[batch, head, row, channel] = sums[i, j]


@cuda.jit
def flash_attention(q, k, v, out, log_sums):
    """Attention tile by tile, without the weights in memory.

    Blocks of SIDE x SIDE threads, each for QUERIES queries. q, k, v (B, heads, n, d): float32, d at
    most WIDTH. Writes out (B, heads, n, d), and log_sums (B, heads, n): the logarithm of the sum of
    a query's exp(score): float32.
    """
    raise NotImplementedError("write me")


def launch_attention_naive(q, k, v, weights, out, launch=on_gpu):
    batch, heads, count, _ = q.shape
    blocks = blocks_for(count), batch * heads
    launch(attention_naive, blocks, THREADS, q, k, v, weights, out)


def launch_flash_attention(q, k, v, out, log_sums, launch=on_gpu):
    """Raises `ValueError` for more than WIDTH channels: a tile has no room for them."""
    batch, heads, count, width = q.shape
    if width > WIDTH:
        raise ValueError(f"{width} channels per head, and a tile has room for {WIDTH}")
    blocks = blocks_for(count, QUERIES), batch * heads
    launch(flash_attention, blocks, (SIDE, QUERIES // ROWS), q, k, v, out, log_sums)


@cuda.jit
def flash_backward_queries(q, k, v, grad_out, log_sums, products, grad_q):
    """grad_q (B, heads, n, d), each block for OWN queries; it goes through the keys before them.

    q, k, v, grad_out (B, heads, n, d); log_sums, products (B, heads, n): of `flash_attention` and
    `output_products`. All float32.
    """
    raise NotImplementedError("write me")


@cuda.jit
def flash_backward_keys(q, k, v, grad_out, log_sums, products, grad_k, grad_v):
    """grad_k, grad_v (B, heads, n, d), each block for OWN keys; through the queries behind them.

    The rest as in `flash_backward_queries`.
    """
    raise NotImplementedError("write me")


def launch_flash_backward_queries(q, k, v, grad_out, log_sums, products, grad_q, launch=on_gpu):
    launch_over_rows(
        flash_backward_queries, (q, k, v, grad_out, log_sums, products, grad_q), launch
    )


def launch_flash_backward_keys(
    q, k, v, grad_out, log_sums, products, grad_k, grad_v, launch=on_gpu
):
    launch_over_rows(
        flash_backward_keys, (q, k, v, grad_out, log_sums, products, grad_k, grad_v), launch
    )


def launch_over_rows(kernel, arguments, launch):
    """Start a kernel whose blocks own OWN rows each of the first argument, (B, heads, n, d)."""
    batch, heads, count, _ = arguments[0].shape
    blocks = blocks_for(count, OWN), batch * heads
    launch(kernel, blocks, (SIDE, OWN // ROWS), *arguments)
