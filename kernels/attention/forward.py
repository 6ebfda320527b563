"""Attention: each query looks at the keys before it, and takes a mean of their values.

    q, k, v (B, heads, n, d)  ->  out (B, heads, n, d), log_sums (B, heads, n)

The idea: with scores s_ij = q_i . k_j / sqrt(d), query i gives key j the weight

    w_ij = exp(s_ij) / sum over j of exp(s_ij)        and        out_i = sum over j of w_ij v_j

A query sees no key behind its own place: attention is *causal*. Written as it stands, n x n scores
go to memory and come back, for numbers that nobody wants to keep. But a softmax can be made of
parts. Whoever has seen some of the keys keeps the largest score m, the sum of exp(s - m), and the
sum of exp(s - m) v. If a larger score comes, both sums shrink by the same factor, exp(m - new m);
at the end one is divided by the other. So a block goes through the keys tile by tile, and a score
never leaves its registers and shared memory. What is kept for the way back is one number per query,
m + log(sum): the logarithm of what the exponentials have been divided by.

A thread (x, y) of a block has the ROWS rows from ROWS * y on, and of a tile the columns x and
x + SIDE. The 16 threads of a row of scores are half of a warp, and reduce them by shuffles.

Sources: Vaswani and others, "Attention is all you need", 2017; Milakov, Gimelshein, "Online
normalizer calculation for softmax", 2018; Dao and others, "FlashAttention", 2022, and "-2", 2023.
"""

import math

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.config import THREADS, WARP
from kernels.launch import blocks_for, on_gpu
from kernels.reductions.maximum import larger
from kernels.reductions.sums import add, warp_reduce

WIDTH = 64  # channels that a tile has room for: d may be up to that
QUERIES, KEYS = 64, 32  # rows of a block, and of a tile
SIDE = 16  # threads side by side: they share their rows
ROWS = 4  # of a thread, one behind the other
WARP_ROWS = ROWS * WARP // SIDE  # of a warp
PLACES = KEYS // SIDE  # columns of a tile of scores per thread
CHANNELS = WIDTH // SIDE  # columns of the result per thread
# 65 is odd: 16 threads that go along 16 rows in step meet 16 banks.
PITCH = WIDTH + 1
# The two halves of a warp have rows that are four apart: 4 * 36 words are 16 banks further.
SCORES_PITCH = KEYS + 4


@cuda.jit
def attention_naive(q, k, v, weights, out):
    """Attention with all weights in memory. One thread per query.

    q, k, v (B, heads, n, d): float32. Writes weights (B, heads, n, n), zeros above the diagonal,
    whose rows sum to 1; and out (B, heads, n, d): float32.
    """
    query, heads = cuda.grid(2)[0], q.shape[1]
    batch, head = cuda.blockIdx.y // heads, cuda.blockIdx.y % heads
    count, width = q.shape[2], q.shape[3]
    if query >= count:
        return

    largest = float32(-math.inf)
    for key in range(query + 1):
        score = float32(0)
        for channel in range(width):
            score += q[batch, head, query, channel] * k[batch, head, key, channel]
        score /= math.sqrt(float32(width))
        weights[batch, head, query, key] = score
        largest = max(largest, score)
    total = float32(0)
    for key in range(query + 1):
        weight = math.exp(weights[batch, head, query, key] - largest)
        weights[batch, head, query, key] = weight
        total += weight
    for key in range(count):
        seen = weights[batch, head, query, key] / total if key <= query else float32(0)
        weights[batch, head, query, key] = seen
    for channel in range(width):
        value = float32(0)
        for key in range(query + 1):
            value += weights[batch, head, query, key] * v[batch, head, key, channel]
        out[batch, head, query, channel] = value


# ---------------------------------------------------------------- tiles


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
    q_tile = cuda.shared.array((QUERIES, PITCH), float32)
    k_tile = cuda.shared.array((KEYS, PITCH), float32)
    v_tile = cuda.shared.array((KEYS, PITCH), float32)
    weights = cuda.shared.array((QUERIES, SCORES_PITCH), float32)
    scores = cuda.local.array((ROWS, PLACES), float32)
    sums = cuda.local.array((ROWS, CHANNELS), float32)
    largest = cuda.local.array(ROWS, float32)
    totals = cuda.local.array(ROWS, float32)
    x, heads = cuda.threadIdx.x, q.shape[1]
    batch, head = cuda.blockIdx.y // heads, cuda.blockIdx.y % heads
    count, width = q.shape[2], q.shape[3]
    first = cuda.blockIdx.x * QUERIES
    own = cuda.threadIdx.y * ROWS  # this thread's first row in the block
    # A warp without a query has nothing to do but to fetch, and to wait at the barriers.
    busy = first + own // WARP_ROWS * WARP_ROWS < count
    scale = float32(1) / math.sqrt(float32(width))

    load_tile(q, batch, head, first, QUERIES, q_tile)
    clear(sums)
    for i in range(ROWS):
        largest[i] = float32(-math.inf)
        totals[i] = float32(0)
    # No query of the block sees a tile that begins behind the last of them.
    for begin in range(0, min(first + QUERIES, count), KEYS):
        load_tile(k, batch, head, begin, KEYS, k_tile)
        load_tile(v, batch, head, begin, KEYS, v_tile)
        # The tiles are complete.
        cuda.syncthreads()
        if busy:
            dot_products(q_tile, k_tile, width, scores)
            for i in range(ROWS):
                new_largest = largest[i]
                for j in range(PLACES):
                    key = begin + x + j * SIDE
                    seen = key <= first + own + i and key < count
                    scores[i, j] = scores[i, j] * scale if seen else float32(-math.inf)
                    new_largest = max(new_largest, scores[i, j])
                new_largest = warp_reduce(new_largest, SIDE, larger)
                shrink = math.exp(largest[i] - new_largest)
                largest[i] = new_largest
                totals[i] *= shrink
                for j in range(CHANNELS):
                    sums[i, j] *= shrink
                for j in range(PLACES):
                    weight = math.exp(scores[i, j] - new_largest)
                    weights[own + i, x + j * SIDE] = weight
                    totals[i] += weight
            # A row of weights is written and read by half of a warp: nobody else has to wait.
            cuda.syncwarp()
            last_seen = min(count, first + own + ROWS) - begin
            add_weighted(weights, v_tile, min(KEYS, last_seen), sums)
        # Everyone has read, before the next tiles come.
        cuda.syncthreads()
    if not busy:
        return

    for i in range(ROWS):
        total = warp_reduce(totals[i], SIDE, add)
        for j in range(CHANNELS):
            sums[i, j] /= total
        if x == 0 and first + own + i < count:
            log_sums[batch, head, first + own + i] = largest[i] + math.log(total)
    store_rows(sums, batch, head, first, out)


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
