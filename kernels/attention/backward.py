"""Attention backward, without the weights in memory.

    q, k, v, out, log_sums, grad_out  ->  grad_q, grad_k, grad_v (B, heads, n, d)

The idea: a weight is computed anew where it is needed, from its score and one number of its query:
w_ij = exp(s_ij - log_sum_i). That costs arithmetic, of which there is plenty, and no memory. With
g = grad_out, the chain rule through the mean of values, the softmax and the product is

    grad_v_j = sum over i of w_ij g_i
    slope_ij = w_ij (g_i . v_j - g_i . out_i) / sqrt(d)         how the loss grows with q_i . k_j
    grad_q_i = sum over j of slope_ij k_j
    grad_k_j = sum over i of slope_ij q_i

g_i . out_i is what a softmax's slope subtracts: the mean of g_i . v_j, by the weights.

Two of these sums go over queries, one over keys. A kernel that does all of them would have to add
to somebody's sum with atomics. So there are two: in one a block owns queries and meets all keys
before them, in the other it owns keys and meets all queries behind them. Every sum has one owner,
and the same bits in every run. The scores are computed twice; that is cheaper than to wait in
queues.

Both use `forward.py`'s tiles, and blocks of SIDE x (OWN // ROWS) threads.
Source: Dao, "FlashAttention-2", 2023, which has the keys' loop outside and adds grad_q atomically.
"""

import math

from numba import cuda, float32

from kernels.attention.forward import (
    CHANNELS,
    PITCH,
    PLACES,
    ROWS,
    SCORES_PITCH,
    SIDE,
    WARP_ROWS,
    add_weighted,
    clear,
    dot_products,
    load_tile,
    store_rows,
)
from kernels.config import BLOCK_THREADS, WARP
from kernels.launch import blocks_for, on_gpu
from kernels.reductions.sums import WARPS, add, warp_reduce

OWN = 32  # rows that a block owns, and rows of a tile that it meets


@cuda.jit
def output_products(out, grad_out, products):
    """products (B, heads, n): of each query, grad_out . out. One warp per query.

    out, grad_out (B, heads, n, d): all float32.
    """
    lane = cuda.threadIdx.x % WARP
    query, heads = cuda.grid(2)[0] // WARP, out.shape[1]
    batch, head = cuda.blockIdx.y // heads, cuda.blockIdx.y % heads
    if query >= out.shape[2]:
        return

    total = float32(0)
    for channel in range(lane, out.shape[3], WARP):
        total += out[batch, head, query, channel] * grad_out[batch, head, query, channel]
    total = warp_reduce(total, WARP, add)
    if lane == 0:
        products[batch, head, query] = total


@cuda.jit
def flash_backward_queries(q, k, v, grad_out, log_sums, products, grad_q):
    """grad_q (B, heads, n, d), each block for OWN queries; it goes through the keys before them.

    q, k, v, grad_out (B, heads, n, d); log_sums, products (B, heads, n): of `flash_attention` and
    `output_products`. All float32.
    """
    q_tile = cuda.shared.array((OWN, PITCH), float32)
    g_tile = cuda.shared.array((OWN, PITCH), float32)
    k_tile = cuda.shared.array((OWN, PITCH), float32)
    v_tile = cuda.shared.array((OWN, PITCH), float32)
    slopes = cuda.shared.array((OWN, SCORES_PITCH), float32)
    scores = cuda.local.array((ROWS, PLACES), float32)
    wanted = cuda.local.array((ROWS, PLACES), float32)
    sums = cuda.local.array((ROWS, CHANNELS), float32)
    x, heads = cuda.threadIdx.x, q.shape[1]
    batch, head = cuda.blockIdx.y // heads, cuda.blockIdx.y % heads
    count, width = q.shape[2], q.shape[3]
    first = cuda.blockIdx.x * OWN
    own = cuda.threadIdx.y * ROWS
    busy = first + own // WARP_ROWS * WARP_ROWS < count
    scale = float32(1) / math.sqrt(float32(width))

    load_tile(q, batch, head, first, OWN, q_tile)
    load_tile(grad_out, batch, head, first, OWN, g_tile)
    clear(sums)
    for begin in range(0, min(first + OWN, count), OWN):
        load_tile(k, batch, head, begin, OWN, k_tile)
        load_tile(v, batch, head, begin, OWN, v_tile)
        # The tiles are complete.
        cuda.syncthreads()
        if busy:
            dot_products(q_tile, k_tile, width, scores)
            dot_products(g_tile, v_tile, width, wanted)
            for i in range(ROWS):
                query = first + own + i
                for j in range(PLACES):
                    key = begin + x + j * SIDE
                    slope = float32(0)
                    if key <= query and query < count:
                        weight = math.exp(scores[i, j] * scale - log_sums[batch, head, query])
                        slope = weight * (wanted[i, j] - products[batch, head, query]) * scale
                    slopes[own + i, x + j * SIDE] = slope
            # The same half of a warp reads these rows.
            cuda.syncwarp()
            last_seen = min(count, first + own + ROWS) - begin
            add_weighted(slopes, k_tile, min(OWN, last_seen), sums)
        # Everyone has read, before the next tiles come.
        cuda.syncthreads()
    store_rows(sums, batch, head, first, grad_q)


@cuda.jit
def flash_backward_keys(q, k, v, grad_out, log_sums, products, grad_k, grad_v):
    """grad_k, grad_v (B, heads, n, d), each block for OWN keys; through the queries behind them.

    The rest as in `flash_backward_queries`.
    """
    k_tile = cuda.shared.array((OWN, PITCH), float32)
    v_tile = cuda.shared.array((OWN, PITCH), float32)
    q_tile = cuda.shared.array((OWN, PITCH), float32)
    g_tile = cuda.shared.array((OWN, PITCH), float32)
    weights = cuda.shared.array((OWN, SCORES_PITCH), float32)
    slopes = cuda.shared.array((OWN, SCORES_PITCH), float32)
    scores = cuda.local.array((ROWS, PLACES), float32)
    wanted = cuda.local.array((ROWS, PLACES), float32)
    k_sums = cuda.local.array((ROWS, CHANNELS), float32)
    v_sums = cuda.local.array((ROWS, CHANNELS), float32)
    x, heads = cuda.threadIdx.x, q.shape[1]
    batch, head = cuda.blockIdx.y // heads, cuda.blockIdx.y % heads
    count, width = q.shape[2], q.shape[3]
    first = cuda.blockIdx.x * OWN
    own = cuda.threadIdx.y * ROWS
    busy = first + own // WARP_ROWS * WARP_ROWS < count
    scale = float32(1) / math.sqrt(float32(width))

    load_tile(k, batch, head, first, OWN, k_tile)
    load_tile(v, batch, head, first, OWN, v_tile)
    clear(k_sums)
    clear(v_sums)
    # No query before the block's first key sees any of its keys.
    for begin in range(first, count, OWN):
        load_tile(q, batch, head, begin, OWN, q_tile)
        load_tile(grad_out, batch, head, begin, OWN, g_tile)
        # The tiles are complete.
        cuda.syncthreads()
        if busy:
            dot_products(k_tile, q_tile, width, scores)
            dot_products(v_tile, g_tile, width, wanted)
            for j in range(PLACES):
                query = begin + x + j * SIDE
                for i in range(ROWS):
                    weight, slope = float32(0), float32(0)
                    if first + own + i <= query and query < count:
                        weight = math.exp(scores[i, j] * scale - log_sums[batch, head, query])
                        slope = weight * (wanted[i, j] - products[batch, head, query]) * scale
                    weights[own + i, x + j * SIDE] = weight
                    slopes[own + i, x + j * SIDE] = slope
            # The same half of a warp reads these rows.
            cuda.syncwarp()
            queries = min(OWN, count - begin)
            add_weighted(slopes, q_tile, queries, k_sums)
            add_weighted(weights, g_tile, queries, v_sums)
        # Everyone has read, before the next tiles come.
        cuda.syncthreads()
    store_rows(k_sums, batch, head, first, grad_k)
    store_rows(v_sums, batch, head, first, grad_v)


def launch_output_products(out, grad_out, products, launch=on_gpu):
    batch, heads, count, _ = out.shape
    blocks = blocks_for(count, WARPS), batch * heads
    launch(output_products, blocks, BLOCK_THREADS, out, grad_out, products)


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
