"""Kernels of many kinds with one bug each, on the line that says `# here`: each bug is named."""

import math

import numpy as np
from numba import cuda, float32, float64, int32, uint32
from numba.cuda.random import xoroshiro128p_normal_float32

from tests.lab.kinds.right import (
    TILE_WITH_HALO,
    added,
    empty,
    larger,
    overlapping_halves,
    picture,
    pixel,
    reduced,
    xoroshiro_states,
)
from tests.lab.ordering.cases import decorators, floats, ints, zeros

WRONG = {}
_, wrong = decorators(WRONG)


@wrong((2, 2), (8, 8), lambda: (picture(11, 13), empty(11, 13)), "out-of-bounds", "image")
def sobel_without_a_clamp(image, out):
    x, y = cuda.grid(2)
    if y < image.shape[0] and x < image.shape[1]:
        out[y, x] = image[y, x + 1] - pixel(image, y, x - 1)  # here


@wrong((2, 2), (8, 8), lambda: (picture(11, 13), empty(11, 13)), "out-of-bounds", "axis")
def rows_and_columns_exchanged(image, out):
    x, y = cuda.grid(2)
    if x < image.shape[0] and y < image.shape[1]:
        out[y, x] = image[y, x]  # here


@wrong(1, 16, lambda: (picture(16, 16), empty(16, 16)), "race")
def summed_area_table_without_a_barrier(image, out):
    i = cuda.threadIdx.x
    total = float32(0)
    for x in range(16):
        total += image[i, x]
        out[i, x] = total
    total = float32(0)
    for y in range(16):
        total += out[y, i]  # here
        out[y, i] = total


@wrong(1, 64, lambda: (ints(64, 16), zeros(16)), "uninitialised", "counts")
def histogram_not_cleared(values, out):
    counts = cuda.shared.array(16, int32)
    i = cuda.threadIdx.x
    cuda.atomic.add(counts, values[i], 1)  # here
    cuda.syncthreads()
    if i < 16:
        out[i] = counts[i]


@wrong(1, (8, 8), lambda: (ints((8, 8), 2), 3), "race")
def game_of_life_in_one_array(board, steps):
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    for _ in range(steps):
        around = 0
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                around += board[(y + dy) % 8, (x + dx) % 8]  # here
        cuda.syncthreads()
        board[y, x] = around == 3 or (around == 4 and board[y, x] == 1)


@wrong(2, 16, lambda: (floats(32), empty(32), 3), "race", never=("syncthreads",))
def heat_with_a_barrier_of_the_block(a, b, steps):
    i = cuda.grid(1)
    for _ in range(steps):
        b[i] = a[i]
        if 0 < i < a.size - 1:
            b[i] += float32(0.25) * (a[i - 1] + a[i + 1])  # here
        cuda.syncthreads()
        a[i] = b[i]
        cuda.syncthreads()


@wrong(
    1,
    64,
    lambda: (zeros(60, dtype=np.uint8), zeros(4, dtype=np.uint8), zeros(1)),
    "out-of-bounds",
    "text[60]",
)
def search_runs_past_the_text(text, word, count):
    i = cuda.grid(1)
    if i >= text.size:
        return
    for k in range(word.size):
        if text[i + k] != word[k]:  # here
            break
    else:
        cuda.atomic.add(count, 0, 1)


@wrong(
    1,
    12,
    lambda: (np.arange(12, dtype=np.int32), ints(30, 20), floats(30), empty(12)),
    "out-of-bounds",
    "starts[12]",
)
def sparse_rows_have_one_start_too_few(starts, columns, values, out):
    row = cuda.grid(1)
    total = float32(0)
    for k in range(starts[row], starts[row + 1]):  # here
        total += values[k]
    out[row] = total


@wrong(1, 32, lambda: (floats(32), empty(1)), "barrier", "a shuffle waits", "before the branch")
def shuffle_within_a_branch(values, out):
    lane = cuda.threadIdx.x
    total = values[lane]
    step = 16
    while step:
        if lane < step:
            total += cuda.shfl_down_sync(0xFFFFFFFF, total, step)  # here
        step //= 2
    if lane == 0:
        out[0] = total


@wrong((2, 2), (8, 8), lambda: (picture(16, 16), empty(16, 16)), "uninitialised", "tile")
def transposed_tile_of_a_guarded_load(a, out):
    tile = cuda.shared.array((8, 8), float32)
    x, y = cuda.grid(2)
    column, row = cuda.threadIdx.x, cuda.threadIdx.y
    if x < a.shape[1] - 1:
        tile[row, column] = a[y, x]
    cuda.syncthreads()
    out[x, y] = tile[row, column]  # here


@wrong(1, 8, lambda: (np.eye(8),), "race")
def cholesky_with_one_barrier_per_column(a):
    i, n = cuda.threadIdx.x, a.shape[0]
    for k in range(n):
        if i == k:
            a[k, k] = math.sqrt(a[k, k])
        cuda.syncthreads()
        if i > k:
            a[i, k] /= a[k, k]
            for j in range(k + 1, i + 1):
                a[i, j] -= a[i, k] * a[j, k]  # here


@wrong(1, 4, lambda: (zeros(1), zeros(1)), "race", "atomic.exch", never=("syncthreads",))
def unlocked_by_a_plain_store(lock, total):
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:
        pass
    total[0] += 1
    lock[0] = 0  # here


@wrong(1, 32, lambda: (zeros(32),), "endless", budget=4000)
def collatz_with_a_slip(out):
    n = cuda.threadIdx.x + 1
    while n != 1:  # here
        n = n // 2 if n % 2 == 0 else 3 * n + 3
        out[cuda.threadIdx.x] += 1


@wrong(1, 32, lambda: (zeros(30),), "out-of-bounds", "stack[4]")
def stack_is_too_small(out):
    stack = cuda.local.array(4, int32)
    height = 0
    for k in range(cuda.threadIdx.x % 6):
        stack[height] = k  # here
        height += 1
    if cuda.threadIdx.x < 30:
        out[cuda.threadIdx.x] = height


@wrong(1, 16, lambda: (ints(16, 9), empty(16)), "compile")
def a_field_that_is_not_there(values, out):
    i = cuda.grid(1)
    out[i] = values[i].weight  # here


@wrong(1, 16, lambda: (np.ones(16, np.complex64), empty(16)), "compile")
def complex_into_a_real_array(values, out):
    i = cuda.grid(1)
    out[i] = values[i] * 2  # here


@wrong(1, 32, lambda: (floats(32), np.zeros(1), zeros(1)), "race")
def leader_reads_before_all_have_written(values, out, done):
    shared = cuda.shared.array(32, float64)
    lane = cuda.threadIdx.x
    shared[lane] = values[lane]
    if lane == 0:
        total = 0.0
        for k in range(32):
            total += shared[k]  # here
        out[0] = total


@wrong((2, 2, 2), (2, 3, 2), lambda: (empty(4, 5, 3), empty(4, 5, 3)), "out-of-bounds")
def volume_in_the_wrong_order(volume, out):
    x, y, z = cuda.grid(3)
    if x < volume.shape[0] and y < volume.shape[1] and z < volume.shape[2]:
        out[z, y, x] = volume[x, y, z]  # here


@wrong(1, 32, lambda: (ints(32, 64), zeros(32)), "race")
def radix_places_that_collide(keys, out):
    shared = cuda.shared.array(32, int32)
    lane = cuda.threadIdx.x
    ones = cuda.ballot_sync(0xFFFFFFFF, keys[lane] & 1)
    below = cuda.popc(uint32(ones) & cuda.lanemask_lt())
    place = 16 + below // 2 if keys[lane] & 1 else (lane - below) // 2
    shared[place] = keys[lane]  # here
    cuda.syncwarp()
    out[lane] = shared[lane // 2 if lane < 4 else place]


@wrong(1, 32, lambda: (floats(32), empty(1)), "uninitialised", "total")
def variable_without_a_value_in_some_threads(values, out):
    i = cuda.threadIdx.x
    if values[i] > 2:
        total = values[i]
    if i == 0:
        out[0] = total  # here


# ---------------------------------------------------------------- threads that work together


@wrong(1, (4, 4, 2), lambda: (floats(32).reshape(2, 4, 4), empty(2, 4, 4)), "uninitialised", "tile")
def halo_that_nobody_loads(volume, out):
    tile = cuda.shared.array(TILE_WITH_HALO, float32)
    x, y, z = cuda.threadIdx.x, cuda.threadIdx.y, cuda.threadIdx.z
    tile[z + 1, y + 1, x + 1] = volume[z, y, x]
    if z == 0:
        tile[0, y + 1, x + 1] = float32(0)
    if z == 2:
        tile[3, y + 1, x + 1] = float32(0)
    cuda.syncthreads()
    out[z, y, x] = tile[z, y + 1, x + 1] + tile[z + 2, y + 1, x + 1]  # here


@wrong(
    1, 64, lambda: (floats(64), empty(64)), "race", "both[", dynamic_shared=512,
)  # fmt: skip
def dynamic_memory_whose_parts_overlap(values, out):
    both = cuda.shared.array(0, float32)
    n, t = cuda.blockDim.x, cuda.threadIdx.x
    a, b = both[:n], both[n - 1 : 2 * n - 1]
    a[t] = values[t]
    cuda.syncthreads()
    b[t] = a[t] + float32(1)  # here
    cuda.syncthreads()
    out[t] = b[t]


@wrong(
    1, 32, lambda: (floats(32), empty(32)), "uninitialised", "written through order",
    dynamic_shared=256,
)  # fmt: skip
def dynamic_memory_of_two_types_at_one_place(values, out):
    numbers = cuda.shared.array(0, float32)
    order = cuda.shared.array(0, int32)
    t = cuda.threadIdx.x
    numbers[t] = values[t]
    order[t] = 31 - t
    cuda.syncthreads()
    out[t] = numbers[31 - t]  # here


@wrong(5, 64, lambda: (picture(5, 64), empty(5, 64)), "race", "line", "syncthreads")
def softmax_stores_while_others_read(rows, out):
    shared = cuda.shared.array(64, float32)
    t, row = cuda.threadIdx.x, cuda.blockIdx.x
    shared[t] = rows[row, t]
    largest = reduced(shared, t, larger)
    e = math.exp(rows[row, t] - largest)
    shared[t] = e  # here
    out[row, t] = e / reduced(shared, t, added)


@wrong(3, 32, lambda: (picture(20, 32), empty(20, 32), zeros(1)), "race", "second", "round")
def the_next_job_comes_too_early(values, out, taken):
    job = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    while True:
        if t == 0:
            job[0] = cuda.atomic.add(taken, 0, 1)  # here
        cuda.syncthreads()
        row = job[0]
        if row >= values.shape[0]:
            break
        out[row, t] = values[row, t]


@wrong(1, 8, lambda: (xoroshiro_states(), empty(8)), "out-of-bounds", "states[8]", "random.py")
def more_draws_than_states(states, out):
    i = cuda.grid(1)
    out[i] = xoroshiro128p_normal_float32(states, i + 1)  # here


@wrong(1, 64, overlapping_halves, "race", "left[", "syncthreads")
def shifted_in_place_without_a_barrier(left, right):
    i = cuda.grid(1)
    left[i] = right[i]  # here


@wrong(1, 48, lambda: (floats(48), empty(48)), "barrier", "mask")
def half_a_warp_with_a_mask_too_small(values, out):
    t = cuda.threadIdx.x
    mask = 0xFFFFFFFF if t < 32 else 0x7FFF
    out[t] = cuda.shfl_xor_sync(mask, values[t], 1)  # here


@wrong(1, 32, lambda: (floats(32), empty(32)), "out-of-bounds", "values[4294967295]")
def unsigned_index_below_zero_is_used(values, out):
    i = uint32(cuda.grid(1))
    before = uint32(i - uint32(1))
    out[i] = values[before]  # here
