"""Attention on tensor cores: the rung above `forward.py` and `backward.py`, for the same arrays.

    q, k, v (B, heads, n, d)       ->  out (B, heads, n, d), log_sums (B, heads, n)
    and grad_out, products         ->  grad_q, grad_k, grad_v

The idea: scores, and all sums with weights, are products of small matrices, so a tensor core makes
them. A block owns OWN rows, a warp 16 of them, whose fragments stay in registers. It goes through
the others in tiles of MET rows, which all warps share, and whose copies are under way while the
last ones are multiplied.

Each number of a tile stands where the copy has put it; it is rounded to 11 significant bits (TF32)
on its way to the tensor core, and the sums are float32. The weights do not move at all. A lane has
row r, columns 2 c and 2 c + 1 of the scores; as left factor of the next product it has to hold
columns c and c + 4. But a sum over keys may go through them in any order, if both factors take the
same: let key 2 c be the c-th, and key 2 c + 1 the (c + 4)-th. Then the lane has what it needs.

A score is one of base 2: log2(e) is in the query's factor, and 2 ** x is one instruction.

The tiles have rows of PITCH = 68 words. What 32 lanes read at once then lies in 32 banks, both
ways: row r, column c (banks 4 r + c) and rows 2 c, column r (banks 8 c + r).

Source: Dao, "FlashAttention-2", 2023, sections 3.1 and 3.2. The other two files have the formulas.
"""

import math

from numba import cuda, float32, int32, uint32

from kernels.config import WARP
from kernels.fast.ptx import (
    begin_copy,
    multiply_tf32,
    power_of_two,
    round_to_tf32,
    wait_for_copies,
)
from kernels.launch import blocks_for, on_gpu
from kernels.reductions.sums import add, warp_reduce

WIDTH = 64  # channels that a tile has room for: d may be up to that, and a multiple of four
WARPS, WARP_ROWS = 4, 16
ROW_LANES = 4  # that share a row
THREADS = WARPS * WARP
OWN, MET = WARPS * WARP_ROWS, 32  # rows that a block owns, and rows of a tile that it meets
TILE_ROWS = 2 * MET  # one is multiplied while the next one comes
PITCH = WIDTH + 4
STEPS, TILES = WIDTH // 8, MET // 8  # pieces of 8 channels, and of 8 rows of a tile
LOG2_E, LN_2 = 1 / math.log(2), math.log(2)


@cuda.jit(device=True)
def begin_tiles(first, second, head, begin, end, first_tile, second_tile):
    """Begin to copy MET rows of two matrices (rows, d) to tiles (TILE_ROWS, PITCH).

    head: where the head's rows begin. begin: the first of them; zeros come from row `end` on. Every
    other tile goes to the lower half.
    """
    row, column = cuda.threadIdx.x // (WIDTH // 4), 4 * (cuda.threadIdx.x % (WIDTH // 4))
    for i in range(row, MET, 4 * THREADS // WIDTH):
        to, place = begin // MET % 2 * MET + i, head + begin + i
        inside = int32(begin + i < end and column < first.shape[1])
        begin_copy(first_tile, to, column, first, place, column, inside)
        begin_copy(second_tile, to, column, second, place, column, inside)


@cuda.jit(device=True)
def load_own(matrix, head, first, count, factor, own):
    """This warp's 16 rows, from `first` on, times `factor`, as left factor of a product.

    matrix (rows, d), head, count: as above. Sets own (STEPS, 4) uint32; zeros outside.
    """
    lane = cuda.threadIdx.x % WARP
    for step in range(STEPS):
        for n in range(4):
            row, column = first + lane // 4 + 8 * (n % 2), 8 * step + lane % 4 + 4 * (n // 2)
            value = float32(0)
            if row < count and column < matrix.shape[1]:
                value = matrix[head + row, column]
            own[step, n] = round_to_tf32(value * factor)


@cuda.jit(device=True)
def row_products(own, tile, top, products):
    """products (TILES, 4) = own @ rows.T, with the MET rows of the tile from `top` on."""
    lane = cuda.threadIdx.x % WARP
    # Unsigned, so that no index has to be looked at for being negative.
    row, column = uint32(top + lane // 4), uint32(lane % 4)
    for i in range(TILES):
        for n in range(4):
            products[i, n] = float32(0)
    for step in range(STEPS):
        for i in range(TILES):
            b0 = round_to_tf32(tile[row + uint32(8 * i), column + uint32(8 * step)])
            b1 = round_to_tf32(tile[row + uint32(8 * i), column + uint32(8 * step + 4)])
            products[i, 0], products[i, 1], products[i, 2], products[i, 3] = multiply_tf32(
                own[step, 0], own[step, 1], own[step, 2], own[step, 3], b0, b1,
                products[i, 0], products[i, 1], products[i, 2], products[i, 3],
            )  # fmt: skip


@cuda.jit(device=True)
def add_weighted(weights, tile, top, sums):
    """sums (STEPS, 4) += weights @ rows; weights (TILES, 4): as `row_products` leaves them."""
    lane = cuda.threadIdx.x % WARP
    row, column = uint32(top + 2 * (lane % 4)), uint32(lane // 4)
    for i in range(TILES):
        a0, a1 = round_to_tf32(weights[i, 0]), round_to_tf32(weights[i, 2])
        a2, a3 = round_to_tf32(weights[i, 1]), round_to_tf32(weights[i, 3])
        for step in range(STEPS):
            b0 = round_to_tf32(tile[row + uint32(8 * i), column + uint32(8 * step)])
            b1 = round_to_tf32(tile[row + uint32(8 * i + 1), column + uint32(8 * step)])
            sums[step, 0], sums[step, 1], sums[step, 2], sums[step, 3] = multiply_tf32(
                a0, a1, a2, a3, b0, b1, sums[step, 0], sums[step, 1], sums[step, 2], sums[step, 3]
            )


@cuda.jit(device=True)
def clear(sums):
    """Set sums (STEPS, 4) to zero."""
    for step in range(STEPS):
        for n in range(4):
            sums[step, n] = float32(0)


@cuda.jit(device=True)
def store_own(sums, upper_factor, lower_factor, head, first, count, matrix):
    """Write the warp's 16 rows of sums to matrix (rows, d), from row `first` of the head on.

    upper_factor, lower_factor: what the lane's rows r and r + 8 are multiplied with.
    """
    lane = cuda.threadIdx.x % WARP
    for n in range(4):
        row = first + lane // 4 + 8 * (n // 2)
        factor = lower_factor if n // 2 else upper_factor
        for step in range(STEPS):
            column = 8 * step + 2 * (lane % 4) + n % 2
            if row < count and column < matrix.shape[1]:
                matrix[uint32(head + row), uint32(column)] = factor * sums[step, n]


# ---------------------------------------------------------------- forward


@cuda.jit(device=True)
def hide(scores, begin, row, direction):
    """Set to minus infinity the scores of keys that are behind their queries.

    begin: the tile's first column of scores (TILES, 4); row: the lane's upper row. direction: 1 if
    columns are keys and rows queries; -1 if it is the other way round.
    """
    distance = begin + 2 * (cuda.threadIdx.x % 4) - row
    for i in range(TILES):
        for n in range(4):
            if direction * (distance + 8 * i + n % 2 - 8 * (n // 2)) > 0:
                scores[i, n] = float32(-math.inf)


@cuda.jit(device=True)
def weigh(scores, half, largest, total, sums):
    """Scores of the lane's upper (half = 0) or lower row (1) become weights.

    largest, total: of the row, so far; the lane's total is only of its own columns. What sums
    (STEPS, 4) hold shrinks as the largest score grows. Returns the new largest, and total.
    """
    tile_largest = largest
    for i in range(TILES):
        tile_largest = max(tile_largest, max(scores[i, 2 * half], scores[i, 2 * half + 1]))
    tile_largest = warp_reduce(tile_largest, ROW_LANES, max)
    shrink = power_of_two(largest - tile_largest)
    total *= shrink
    for step in range(STEPS):
        sums[step, 2 * half] *= shrink
        sums[step, 2 * half + 1] *= shrink
    for i in range(TILES):
        for n in range(2 * half, 2 * half + 2):
            scores[i, n] = power_of_two(scores[i, n] - tile_largest)
            total += scores[i, n]
    return tile_largest, total


@cuda.jit
def attention_tiles(q, k, v, count, out, log_sums):
    """Causal attention; blocks of THREADS threads, x counts heads and y their parts of OWN queries.

    q, k, v (B * heads * n, d) float32, count: n. Writes out, of the same shape, and log_sums
    (B * heads * n,). Needs compute capability 8.0.
    """
    k_tile = cuda.shared.array((TILE_ROWS, PITCH), float32, alignment=16)
    v_tile = cuda.shared.array((TILE_ROWS, PITCH), float32, alignment=16)
    own = cuda.local.array((STEPS, 4), uint32)
    scores = cuda.local.array((TILES, 4), float32)
    sums = cuda.local.array((STEPS, 4), float32)
    lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    head = cuda.blockIdx.x * count
    # The last queries see most keys: these blocks begin first, and short ones fill the end.
    first = (cuda.gridDim.y - 1 - cuda.blockIdx.y) * OWN
    warp_first = first + warp * WARP_ROWS
    row = warp_first + lane // 4
    end = min(first + OWN, count)

    begin_tiles(k, v, head, 0, end, k_tile, v_tile)
    load_own(q, head, warp_first, count, float32(LOG2_E) / math.sqrt(float32(q.shape[1])), own)
    clear(sums)
    upper_largest, lower_largest = float32(-math.inf), float32(-math.inf)
    upper_total, lower_total = float32(0), float32(0)
    for begin in range(0, end, MET):
        top = begin // MET % 2 * MET
        # What all threads have copied is there, and nobody reads the other half any more.
        wait_for_copies()
        cuda.syncthreads()
        begin_tiles(k, v, head, begin + MET, end, k_tile, v_tile)
        if begin < warp_first + WARP_ROWS:
            row_products(own, k_tile, top, scores)
            if begin + MET > warp_first:
                hide(scores, begin, row, 1)
            upper_largest, upper_total = weigh(scores, 0, upper_largest, upper_total, sums)
            lower_largest, lower_total = weigh(scores, 1, lower_largest, lower_total, sums)
            add_weighted(scores, v_tile, top, sums)

    upper_total = warp_reduce(upper_total, ROW_LANES, add)
    lower_total = warp_reduce(lower_total, ROW_LANES, add)
    one = float32(1)
    store_own(sums, one / upper_total, one / lower_total, head, warp_first, count, out)
    if lane % 4 == 0 and row < count:
        log_sums[head + row] = upper_largest * float32(LN_2) + math.log(upper_total)
    if lane % 4 == 0 and row + 8 < count:
        log_sums[head + row + 8] = lower_largest * float32(LN_2) + math.log(lower_total)


# ---------------------------------------------------------------- backward


@cuda.jit(device=True)
def number_of(numbers, head, row, count):
    """numbers (B * heads * n,) float32 at a row of a head; zero if it has no such row."""
    return numbers[head + row] if row < count else float32(0)


@cuda.jit
def slopes_of_queries(q, k, v, grad_out, count, grad_q, log_sums, products):
    """Sets grad_q, each block for OWN queries; it goes through the keys before them.

    q, k, v, grad_out, grad_q (B * heads * n, d); log_sums, products (B * heads * n,): all float32.
    Blocks and `count` as in `attention_tiles`.
    """
    k_tile = cuda.shared.array((TILE_ROWS, PITCH), float32, alignment=16)
    v_tile = cuda.shared.array((TILE_ROWS, PITCH), float32, alignment=16)
    own_q = cuda.local.array((STEPS, 4), uint32)
    own_g = cuda.local.array((STEPS, 4), uint32)
    slopes = cuda.local.array((TILES, 4), float32)
    wanted = cuda.local.array((TILES, 4), float32)
    sums = cuda.local.array((STEPS, 4), float32)
    log_sum = cuda.local.array(2, float32)
    product = cuda.local.array(2, float32)
    lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    head = cuda.blockIdx.x * count
    first = (cuda.gridDim.y - 1 - cuda.blockIdx.y) * OWN
    warp_first = first + warp * WARP_ROWS
    row = warp_first + lane // 4
    end = min(first + OWN, count)
    scale = float32(1) / math.sqrt(float32(q.shape[1]))

    begin_tiles(k, v, head, 0, end, k_tile, v_tile)
    load_own(q, head, warp_first, count, float32(LOG2_E) * scale, own_q)
    load_own(grad_out, head, warp_first, count, float32(1), own_g)
    for half in range(2):
        log_sum[half] = float32(LOG2_E) * number_of(log_sums, head, row + 8 * half, count)
        product[half] = number_of(products, head, row + 8 * half, count)
    clear(sums)
    for begin in range(0, end, MET):
        top = begin // MET % 2 * MET
        # As in `attention_tiles`.
        wait_for_copies()
        cuda.syncthreads()
        begin_tiles(k, v, head, begin + MET, end, k_tile, v_tile)
        if begin < warp_first + WARP_ROWS:
            row_products(own_q, k_tile, top, slopes)
            if begin + MET > warp_first:
                hide(slopes, begin, row, 1)
            row_products(own_g, v_tile, top, wanted)
            for i in range(TILES):
                for n in range(4):
                    weight = power_of_two(slopes[i, n] - log_sum[n // 2])
                    slopes[i, n] = weight * (wanted[i, n] - product[n // 2])
            add_weighted(slopes, k_tile, top, sums)
    store_own(sums, scale, scale, head, warp_first, count, grad_q)


@cuda.jit
def slopes_of_keys(q, k, v, grad_out, count, grad_k, grad_v, log_sums, products):
    """Sets grad_k and grad_v, each block for OWN keys; it goes through the queries behind them.

    The rest as in `slopes_of_queries`.
    """
    q_tile = cuda.shared.array((TILE_ROWS, PITCH), float32, alignment=16)
    g_tile = cuda.shared.array((TILE_ROWS, PITCH), float32, alignment=16)
    own_k = cuda.local.array((STEPS, 4), uint32)
    own_v = cuda.local.array((STEPS, 4), uint32)
    weights = cuda.local.array((TILES, 4), float32)
    slopes = cuda.local.array((TILES, 4), float32)
    k_sums = cuda.local.array((STEPS, 4), float32)
    v_sums = cuda.local.array((STEPS, 4), float32)
    lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    head = cuda.blockIdx.x * count
    # The first keys are seen by most queries, and their blocks begin first.
    first = cuda.blockIdx.y * OWN
    warp_first = first + warp * WARP_ROWS
    row = warp_first + lane // 4
    scale = float32(1) / math.sqrt(float32(q.shape[1]))

    begin_tiles(q, grad_out, head, first, count, q_tile, g_tile)
    load_own(k, head, warp_first, count, float32(LOG2_E) * scale, own_k)
    load_own(v, head, warp_first, count, float32(1), own_v)
    clear(k_sums)
    clear(v_sums)
    for begin in range(first, count, MET):
        top = begin // MET % 2 * MET
        # As in `attention_tiles`.
        wait_for_copies()
        cuda.syncthreads()
        begin_tiles(q, grad_out, head, begin + MET, count, q_tile, g_tile)
        if begin + MET > warp_first:
            row_products(own_k, q_tile, top, weights)
            if begin < warp_first + WARP_ROWS:
                hide(weights, begin, row, -1)
            row_products(own_v, g_tile, top, slopes)
            for i in range(TILES):
                for n in range(4):
                    query = begin + 8 * i + 2 * (lane % 4) + n % 2
                    # Behind the last query weights are not zero, but rows of tiles are.
                    log_sum = number_of(log_sums, head, query, count)
                    weights[i, n] = power_of_two(weights[i, n] - float32(LOG2_E) * log_sum)
                    slopes[i, n] -= number_of(products, head, query, count)
                    slopes[i, n] *= weights[i, n]
            add_weighted(weights, g_tile, top, v_sums)
            add_weighted(slopes, q_tile, top, k_sums)
    store_own(k_sums, scale, scale, head, warp_first, count, grad_k)
    store_own(v_sums, float32(1), float32(1), head, warp_first, count, grad_v)


# ---------------------------------------------------------------- launches


def launch_flash_attention(q, k, v, out, log_sums, launch=on_gpu):
    launch_over_heads(attention_tiles, (q, k, v), (out,), (log_sums,), launch)


def launch_flash_backward_queries(q, k, v, grad_out, log_sums, products, grad_q, launch=on_gpu):
    given, numbers = (q, k, v, grad_out), (log_sums, products)
    launch_over_heads(slopes_of_queries, given, (grad_q,), numbers, launch)


def launch_flash_backward_keys(
    q, k, v, grad_out, log_sums, products, grad_k, grad_v, launch=on_gpu
):
    given, numbers = (q, k, v, grad_out), (log_sums, products)
    launch_over_heads(slopes_of_keys, given, (grad_k, grad_v), numbers, launch)


def launch_over_heads(kernel, given, made, numbers, launch):
    """Start a kernel whose blocks own OWN rows of a head each.

    given, made: arrays (B, heads, n, d) that come before and behind n; numbers (B, heads, n). All
    begin at a multiple of 16 bytes, as arrays of their own do.
    Raises `ValueError` for a d that a tile has no room for, or that is no multiple of four.
    """
    batch, heads, count, width = given[0].shape
    if width > WIDTH or width % 4:
        raise ValueError(f"{width} channels per head, not a multiple of four up to {WIDTH}")
    rows = batch * heads * count
    given, made = ([array.reshape(rows, width) for array in arrays] for arrays in (given, made))
    numbers = [array.reshape(rows) for array in numbers]
    blocks = batch * heads, blocks_for(count, OWN)
    launch(kernel, blocks, THREADS, *given, count, *made, *numbers)
