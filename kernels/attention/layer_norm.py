"""Layer norm: every row gets the mean 0 and the deviation 1; one row per warp.

    x (rows, d), gain (d,)  ->  out (rows, d), means (rows,), scales (rows,)
    grad_out (rows, d)      ->  grad_x (rows, d), partials (blocks, d)

The idea: the mean of the squares less the square of the mean is a variance, on paper. In float32 it
is noise as soon as the mean is much larger than the deviation: two large numbers that agree in
all their digits. Welford's way needs one pass, too, but sums up squared distances from the mean so
far. Two groups that have each been summed up so can be merged, and so the lanes of a warp, by five
shuffles.

Going back, a row's gradient has three parts. An element changes its own output, and through the
mean and the deviation all others of its row:

    grad_x = scale * (e - mean(e) - n * mean(e * n))

with n = (x - mean) * scale, the row without its gain, and e = grad_out * gain, what comes to n. The
last two parts can be found left out, in print: then the gradient has the diagonal of the derivative
alone, and every test of differences disagrees.

Sources: Ba, Kiros, Hinton, "Layer normalization", 2016; Welford, Technometrics 4, 1962; Chan,
Golub, LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979.
"""

import math

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.config import BLOCK_THREADS, WARP
from kernels.launch import blocks_for, on_gpu
from kernels.reductions.sums import ALL_LANES, WARPS, add, warp_reduce

EPSILON = 1e-5  # is added to a variance: a row of equal numbers has none


@register_jitable
def merge(count, mean, squares, other_count, other_mean, other_squares):
    """Two groups of numbers as one: (count, mean, squares), all float32.

    squares: the sum of squared distances from the group's mean. A group may be empty.
    """
    total = count + other_count
    if total == float32(0):
        return count, mean, squares
    difference = other_mean - mean
    share = other_count / total
    squares += other_squares + difference * difference * count * share
    return total, mean + difference * share, squares


@cuda.jit
def layer_norm(x, gain, out, means, scales):
    """out = (x - mean) * scale * gain, row by row. One warp per row.

    x (rows, d), gain (d,): float32. Writes out (rows, d), means (rows,), and scales (rows,), one
    over the root of the row's variance plus EPSILON: float32.
    """
    lane = cuda.threadIdx.x % WARP
    row = cuda.grid(1) // WARP
    # A whole warp leaves, so none of its shuffles lacks a lane.
    if row >= x.shape[0]:
        return

    count, mean, squares = float32(0), float32(0), float32(0)
    for column in range(lane, x.shape[1], WARP):
        value = x[row, column]
        difference = value - mean
        count += float32(1)
        mean += difference / count
        # One distance is from the mean before, the other from the mean after.
        squares += difference * (value - mean)
    step = WARP // 2
    while step > 0:
        other_count = cuda.shfl_xor_sync(ALL_LANES, count, step)
        other_mean = cuda.shfl_xor_sync(ALL_LANES, mean, step)
        other_squares = cuda.shfl_xor_sync(ALL_LANES, squares, step)
        count, mean, squares = merge(count, mean, squares, other_count, other_mean, other_squares)
        step //= 2

    scale = float32(1) / math.sqrt(squares / count + float32(EPSILON))
    for column in range(lane, x.shape[1], WARP):
        out[row, column] = (x[row, column] - mean) * scale * gain[column]
    if lane == 0:
        means[row] = mean
        scales[row] = scale


@cuda.jit
def layer_norm_backward(x, gain, means, scales, grad_out, grad_x):
    """grad_x: how the loss grows with each number of x, by way of its whole row. One warp per row.

    x, grad_out (rows, d), gain (d,); means, scales (rows,): as `layer_norm` has left them. Writes
    grad_x (rows, d). All float32.
    """
    lane = cuda.threadIdx.x % WARP
    row = cuda.grid(1) // WARP
    if row >= x.shape[0]:
        return

    mean, scale = means[row], scales[row]
    total, along = float32(0), float32(0)
    for column in range(lane, x.shape[1], WARP):
        slope = grad_out[row, column] * gain[column]
        total += slope
        along += slope * (x[row, column] - mean) * scale
    width = float32(x.shape[1])
    shift = warp_reduce(total, WARP, add) / width
    stretch = warp_reduce(along, WARP, add) / width
    for column in range(lane, x.shape[1], WARP):
        slope = grad_out[row, column] * gain[column]
        normalized = (x[row, column] - mean) * scale
        grad_x[row, column] = scale * (slope - shift - normalized * stretch)


@cuda.jit
def gain_gradients(x, means, scales, grad_out, partials):
    """partials (blocks, d): for each column, the sum over a block's rows of grad_out * normalized.

    x, grad_out (rows, d); means, scales (rows,): float32. Blocks of WARP x WARPS threads: x counts
    columns, and warp y takes every WARPS-th row of the block's; gridDim.y blocks share the rows.
    """
    warp_sums = cuda.shared.array((WARPS, WARP), float32)
    lane, warp = cuda.threadIdx.x, cuda.threadIdx.y
    column = cuda.grid(2)[0]
    rows, width = x.shape

    total = float32(0)
    if column < width:
        for row in range(cuda.blockIdx.y * WARPS + warp, rows, cuda.gridDim.y * WARPS):
            total += grad_out[row, column] * (x[row, column] - means[row]) * scales[row]
    warp_sums[warp, lane] = total
    # The sums of all warps must be there before one of them adds them up.
    cuda.syncthreads()

    if warp == 0 and column < width:
        for other in range(1, WARPS):
            total += warp_sums[other, lane]
        partials[cuda.blockIdx.y, column] = total


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
