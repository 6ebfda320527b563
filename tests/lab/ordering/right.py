"""Right kernels, as they are written everywhere: nothing must be found in any of them."""

import math

import numpy as np
from numba import cuda, float32, int32, uint32

from tests.lab.ordering.cases import decorators, floats, ints, zeros

RIGHT = {}
right, _ = decorators(RIGHT)


# ---------------------------------------------------------------- loops that only compute


def mandelbrot_rounds(height, width, limit):
    y, x = np.mgrid[:height, :width].astype(np.float32)
    real = x / np.float32(width) * np.float32(3) - np.float32(2)
    imaginary = y / np.float32(height) * np.float32(2) - np.float32(1)
    a, b, rounds = np.zeros_like(x), np.zeros_like(x), np.zeros((height, width), np.int32)
    with np.errstate(all="ignore"):
        for _ in range(limit):
            inside = a * a + b * b < 4
            rounds += inside
            a, b = (
                np.where(inside, a * a - b * b + real, a),
                np.where(inside, np.float32(2) * a * b + imaginary, b),
            )
    return rounds


@right(
    (2, 2), (8, 8), lambda: (zeros(16, 16), 600), lambda out, n: {0: mandelbrot_rounds(16, 16, n)}
)
def mandelbrot(out, limit):
    x, y = cuda.grid(2)
    if x >= out.shape[1] or y >= out.shape[0]:
        return
    real = float32(x) / float32(out.shape[1]) * float32(3) - float32(2)
    imaginary = float32(y) / float32(out.shape[0]) * float32(2) - float32(1)
    a, b, rounds = float32(0), float32(0), 0
    while rounds < limit and a * a + b * b < float32(4):
        a, b = a * a - b * b + real, float32(2) * a * b + imaginary
        rounds += 1
    out[y, x] = rounds


@right(
    (2, 2), (8, 8), lambda: (zeros(16, 16), 600), lambda out, n: {0: mandelbrot_rounds(16, 16, n)}
)
def mandelbrot_with_break(out, limit):
    x, y = cuda.grid(2)
    real = float32(x) / float32(out.shape[1]) * float32(3) - float32(2)
    imaginary = float32(y) / float32(out.shape[0]) * float32(2) - float32(1)
    a, b, rounds = float32(0), float32(0), 0
    for _ in range(limit):
        if a * a + b * b >= float32(4):
            break
        temporary = a * a - b * b + real
        b = float32(2) * a * b + imaginary
        a = temporary
        rounds += 1
    out[y, x] = rounds


def until_far(c):
    n, z = 0, np.float32(0)
    while abs(z) < 4 and n < 900:
        z = np.float32(np.float32(z * z) + c)
        n += 1
    return n


@right(
    1,
    64,
    lambda: (floats(64), zeros(64)),
    lambda c, out: {1: np.array([until_far(value) for value in c])},
)
def a_call_in_the_condition(constants, out):
    i = cuda.grid(1)
    z, n = float32(0), 0
    while abs(z) < float32(4) and n < 900:
        z = float32(z * z) + constants[i]
        n += 1
    out[i] = n


def collatz_steps(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@right(
    2,
    32,
    lambda: (zeros(64),),
    lambda out: {0: np.array([collatz_steps(i + 1) for i in range(64)])},
)
def collatz(out):
    i = cuda.grid(1)
    n, steps = i + 1, 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    out[i] = steps


@right(1, 32, lambda: (zeros(32),), lambda out: {0: np.full(32, 30_000)})
def counts_far(out):
    n = 0
    while n < 30_000:
        n += 1
    out[cuda.grid(1)] = n


@right(
    1,
    32,
    lambda: (ints(32, 999, 1) + 1, ints(32, 999, 2) + 1, zeros(32)),
    lambda a, b, out: {2: np.gcd(a, b)},
)
def greatest_common_divisor(a, b, out):
    i = cuda.grid(1)
    x, y = a[i], b[i]
    while y != 0:
        x, y = y, x % y
    out[i] = x


@right(
    1,
    32,
    lambda: (floats(32) + np.float32(2), np.zeros(32, np.float32)),
    lambda a, out: {1: np.sqrt(a)},
)
def newton_reads_its_input_each_round(a, out):
    i = cuda.grid(1)
    x = a[i]
    while abs(x * x - a[i]) > float32(1e-5):
        x = float32(0.5) * (x + a[i] / x)
    out[i] = x


@right(
    1,
    32,
    lambda: (np.arange(0, 600, 2).astype(np.int32), ints(32, 600), zeros(32)),
    lambda table, keys, out: {2: np.searchsorted(table, keys)},
)
def binary_search(table, keys, out):
    i = cuda.grid(1)
    low, high = 0, table.shape[0]
    while low < high:
        middle = (low + high) // 2
        if table[middle] < keys[i]:
            low = middle + 1
        else:
            high = middle
    out[i] = low


@right(
    1,
    16,
    lambda: (np.roll(np.arange(400, dtype=np.int32), 1), zeros(16)),
    lambda following, out: {1: np.arange(16) * 20},
)
def follows_a_list(following, out):
    i = cuda.grid(1)
    place, steps = i * 20, 0
    while place != 0:
        place = following[place]
        steps += 1
    out[i] = steps


@right(
    1,
    8,
    lambda: (np.arange(900, dtype=np.int32), zeros(8)),
    lambda values, out: {1: np.array([np.arange(i * 100).sum() for i in range(8)])},
)
def rows_of_different_lengths(values, out):
    i = cuda.grid(1)
    if i == 0:
        values[899] = 7  # so that the array is one that the kernel writes
    j, total = 0, 0
    while j < i * 100:
        total += values[j]
        j += 1
    out[i] = total


@right(2, 32, lambda: (ints(200, 9), np.array([0]), zeros(1)), lambda a, _, out: {2: [a.sum()]})
def grid_stride(values, unused, total):
    i, own = cuda.grid(1), 0
    while i < values.shape[0]:
        own += values[i]
        i += cuda.gridsize(1)
    cuda.atomic.add(total, 0, own)


# ---------------------------------------------------------------- barriers


@right(
    2,
    64,
    lambda: (floats(128), np.zeros(2, np.float32)),
    lambda values, out: {1: values.reshape(2, 64).sum(axis=1)},
)
def tree_reduction(values, out):
    partial = cuda.shared.array(64, float32)
    thread = cuda.threadIdx.x
    partial[thread] = values[cuda.grid(1)]
    active = 32
    while active > 0:
        cuda.syncthreads()
        if thread < active:
            partial[thread] += partial[thread + active]
        active //= 2
    if thread == 0:
        out[cuda.blockIdx.x] = partial[0]


@right(1, 64, lambda: (ints(64, 9), zeros(64)), lambda values, out: {1: np.cumsum(values)})
def hillis_steele_scan(values, out):
    sums = cuda.shared.array((2, 64), int32)
    thread = cuda.threadIdx.x
    now, step = 0, 1
    sums[0, thread] = values[thread]
    cuda.syncthreads()
    while step < 64:
        value = sums[now, thread]
        if thread >= step:
            value += sums[now, thread - step]
        sums[1 - now, thread] = value
        now = 1 - now
        step *= 2
        cuda.syncthreads()
    out[thread] = sums[now, thread]


@right(1, 32, lambda: (ints(64, 9), zeros(64)), lambda values, out: {1: np.cumsum(values) - values})
def blelloch_scan(values, out):
    tree = cuda.shared.array(64, int32)
    thread = cuda.threadIdx.x
    tree[2 * thread] = values[2 * thread]
    tree[2 * thread + 1] = values[2 * thread + 1]
    offset, active = 1, 32
    while active > 0:
        cuda.syncthreads()
        if thread < active:
            tree[offset * (2 * thread + 2) - 1] += tree[offset * (2 * thread + 1) - 1]
        offset *= 2
        active //= 2
    if thread == 0:
        tree[63] = 0
    active = 1
    while active < 64:
        offset //= 2
        cuda.syncthreads()
        if thread < active:
            left, right_end = offset * (2 * thread + 1) - 1, offset * (2 * thread + 2) - 1
            former = tree[left]
            tree[left] = tree[right_end]
            tree[right_end] += former
        active *= 2
    cuda.syncthreads()
    out[2 * thread] = tree[2 * thread]
    out[2 * thread + 1] = tree[2 * thread + 1]


@right(1, 64, lambda: (ints(64, 999),), lambda values: {0: np.sort(values)})
def bitonic_sort(values):
    keys = cuda.shared.array(64, int32)
    thread = cuda.threadIdx.x
    keys[thread] = values[thread]
    size = 2
    while size <= 64:
        distance = size // 2
        while distance > 0:
            cuda.syncthreads()
            other = thread ^ distance
            if other > thread:
                upwards = (thread & size) == 0
                if (keys[thread] > keys[other]) == upwards:
                    keys[thread], keys[other] = keys[other], keys[thread]
            distance //= 2
        size *= 2
    cuda.syncthreads()
    values[thread] = keys[thread]


@right(1, 16, lambda: (ints(32, 99),), lambda values: {0: np.sort(values)})
def odd_even_sort_until_nothing_moves(values):
    thread = cuda.threadIdx.x
    moved = True
    while moved:
        any_moved = False
        for first in range(2):
            left = 2 * thread + first
            if left + 1 < values.shape[0] and values[left] > values[left + 1]:
                values[left], values[left + 1] = values[left + 1], values[left]
                any_moved = True
            cuda.syncthreads()
        moved = cuda.syncthreads_or(1 if any_moved else 0) != 0


@right(
    (2, 2),
    (8, 8),
    lambda: (floats((16, 16)), np.zeros((16, 16), np.float32)),
    lambda a, out: {1: a.T},
)
def transpose(source, out):
    tile = cuda.shared.array((8, 9), float32)
    x, y = cuda.grid(2)
    column, row = cuda.threadIdx.x, cuda.threadIdx.y
    tile[row, column] = source[y, x]
    cuda.syncthreads()
    out[cuda.blockIdx.x * 8 + row, cuda.blockIdx.y * 8 + column] = tile[column, row]


@right(
    (2, 2),
    (4, 4),
    lambda: (floats((8, 8)), floats((8, 8), 1), np.zeros((8, 8), np.float32)),
    lambda a, b, out: {2: a @ b},
)
def tiled_product(a, b, out):
    a_tile, b_tile = cuda.shared.array((4, 4), float32), cuda.shared.array((4, 4), float32)
    x, y = cuda.grid(2)
    column, row = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for first in range(0, 8, 4):
        a_tile[row, column] = a[y, first + column]
        b_tile[row, column] = b[first + row, x]
        cuda.syncthreads()
        for k in range(4):
            total += a_tile[row, k] * b_tile[k, column]
        cuda.syncthreads()
    out[y, x] = total


@right(
    2,
    32,
    lambda: (floats(64), np.zeros(64, np.float32)),
    lambda a, out: {1: np.pad(a, 1)[:-2] + a + np.pad(a, 1)[2:]},
)
def stencil_with_halo(values, out):
    tile = cuda.shared.array(34, float32)
    thread, i = cuda.threadIdx.x, cuda.grid(1)
    tile[thread + 1] = values[i]
    if thread == 0:
        tile[0] = values[i - 1] if i > 0 else float32(0)
    if thread == 31:
        tile[33] = values[i + 1] if i + 1 < values.shape[0] else float32(0)
    cuda.syncthreads()
    out[i] = tile[thread] + tile[thread + 1] + tile[thread + 2]


@right(
    1, 16, lambda: (ints((16, 16), 99) + 1, 16), lambda distance, n: {0: shortest_paths(distance)}
)
def floyd_warshall(distance, n):
    row = cuda.threadIdx.x
    for k in range(n):
        for column in range(n):
            through = distance[row, k] + distance[k, column]
            cuda.syncthreads()
            if through < distance[row, column]:
                distance[row, column] = through
            cuda.syncthreads()


def shortest_paths(distance):
    for k in range(len(distance)):
        distance = np.minimum(distance, distance[:, k : k + 1] + distance[k])
    return distance


@right(
    1,
    32,
    lambda: (floats(32), np.zeros(32, np.float32)),
    lambda a, out: {1: (a - a.mean()) / np.sqrt(a.var())},
)
def normalise(values, out):
    partial = cuda.shared.array(32, float32)
    thread = cuda.threadIdx.x
    mean, spread = float32(0), float32(0)
    for part in range(2):
        value = values[thread] - mean
        partial[thread] = value if part == 0 else value * value
        cuda.syncthreads()
        total = float32(0)
        for k in range(32):
            total += partial[k]
        if part == 0:
            mean = total / float32(32)
        else:
            spread = math.sqrt(total / float32(32))
        cuda.syncthreads()
    out[thread] = (values[thread] - mean) / spread


@right(
    1,
    8,
    lambda: (
        np.array(
            [[1, 2], [3, 9], [4, 5], [6, 9], [7, 9], [7, 9], [8, 9], [9, 9]] + [[9, 9]] * 2,
            np.int32,
        ),
        np.array([0] + [-1] * 9, np.int32),
    ),
    lambda following, level: {1: np.array([0, 1, 1, 2, 2, 2, 3, 3, 4, 2])},
)
def breadth_first_search(following, level):
    node = cuda.threadIdx.x
    depth, again = 0, True
    while again:
        mine, changed = level[node] == depth, False
        cuda.syncthreads()
        if mine:
            for k in range(2):
                if cuda.atomic.cas(level, following[node, k], -1, depth + 1) == -1:
                    changed = True
        again = cuda.syncthreads_or(1 if changed else 0) != 0
        depth += 1


@right(
    2, 32, lambda: (zeros(64), zeros(64)), lambda a, out: {1: np.full(64, 63)},
    schedule=["reverse", 1, 2],
)  # fmt: skip
def barrier_of_the_grid(values, out):
    i = cuda.grid(1)
    values[i] = i
    cuda.cg.this_grid().sync()
    out[i] = values[i] + values[63 - i]


# ---------------------------------------------------------------- warps


@right(
    2,
    64,
    lambda: (ints(128, 9), zeros(2)),
    lambda values, out: {1: values.reshape(2, 64).sum(axis=1)},
    schedule=["reverse", 3],
)
def shuffles_then_shared(values, out):
    sums = cuda.shared.array(2, int32)
    value = values[cuda.grid(1)]
    for step in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, step)
    if cuda.laneid == 0:
        sums[cuda.threadIdx.x // 32] = value
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] = sums[0] + sums[1]


@right(1, 32, lambda: (ints(32, 9), zeros(32)), lambda values, out: {1: np.cumsum(values)})
def shuffle_scan(values, out):
    lane = cuda.laneid
    value = values[lane]
    step = 1
    while step < 32:
        left = cuda.shfl_up_sync(0xFFFFFFFF, value, step)
        if lane >= step:
            value += left
        step *= 2
    out[lane] = value


@right(
    1,
    64,
    lambda: (ints(64, 9), zeros(2)),
    lambda values, out: {1: values.reshape(2, 32).sum(axis=1)},
)
def warp_synchronous_sum(values, out):
    partial = cuda.shared.array(64, int32)
    thread, lane = cuda.threadIdx.x, cuda.threadIdx.x % 32
    partial[thread] = values[thread]
    cuda.syncwarp()
    step = 16
    while step > 0:
        if lane < step:
            partial[thread] += partial[thread + step]
        cuda.syncwarp()
        step //= 2
    if lane == 0:
        out[thread // 32] = partial[thread]


@right(
    2,
    64,
    lambda: (ints(128, 2), zeros(1), np.full(128, -1, np.int32)),
    lambda values, count, out: {1: [values.sum()]},
)
def warp_aggregated_atomics(values, count, out):
    i = cuda.grid(1)
    wanted = values[i] > 0
    votes = cuda.ballot_sync(0xFFFFFFFF, wanted)
    before = cuda.popc(votes & cuda.lanemask_lt())
    first = int32(0)
    if cuda.laneid == 0:
        first = cuda.atomic.add(count, 0, cuda.popc(votes))
    first = cuda.shfl_sync(0xFFFFFFFF, first, 0)
    if wanted:
        out[first + before] = i


@right(
    2,
    64,
    lambda: (ints(20, 9), np.array([0, 3, 3, 10, 20], np.int32), zeros(4)),
    lambda values, begin, out: {
        2: np.add.reduceat(np.append(values, 0), begin[:-1]) * (np.diff(begin) > 0)
    },
)
def warp_per_row(values, begin, out):
    row, lane = cuda.grid(1) // 32, cuda.laneid
    total = 0
    j = begin[row] + lane
    while j < begin[row + 1]:
        total += values[j]
        j += 32
    for step in (16, 8, 4, 2, 1):
        total += cuda.shfl_down_sync(0xFFFFFFFF, total, step)
    if lane == 0:
        out[row] = total


# ---------------------------------------------------------------- atomics


@right(2, 64, lambda: (ints(128, 8), zeros(8)), lambda a, out: {1: np.bincount(a, minlength=8)})
def histogram(values, counts):
    cuda.atomic.add(counts, values[cuda.grid(1)], 1)


@right(2, 64, lambda: (ints(128, 8), zeros(8)), lambda a, out: {1: np.bincount(a, minlength=8)})
def shared_histogram(values, counts):
    own = cuda.shared.array(8, int32)
    thread = cuda.threadIdx.x
    if thread < 8:
        own[thread] = 0
    cuda.syncthreads()
    cuda.atomic.add(own, values[cuda.grid(1)], 1)
    cuda.syncthreads()
    if thread < 8:
        cuda.atomic.add(counts, thread, own[thread])


@right(
    2,
    32,
    lambda: (ints(64, 9), zeros(1), np.full(64, -1, np.int32)),
    lambda values, count, out: {1: [(values > 4).sum()]},
)
def compaction_by_counter(values, count, out):
    i = cuda.grid(1)
    if values[i] > 4:
        out[cuda.atomic.add(count, 0, 1)] = values[i]


@right(
    1,
    64,
    lambda: (ints(64, 9), np.full(64, -1, np.int32)),
    lambda values, out: {1: np.append(values[values > 4], np.full((values <= 4).sum(), -1))},
)
def compaction_by_scan(values, out):
    places = cuda.shared.array(64, int32)
    thread = cuda.threadIdx.x
    wanted = values[thread] > 4
    places[thread] = 1 if wanted else 0
    cuda.syncthreads()
    step = 1
    while step < 64:
        left = places[thread - step] if thread >= step else 0
        cuda.syncthreads()
        places[thread] += left
        cuda.syncthreads()
        step *= 2
    if wanted:
        out[places[thread] - 1] = values[thread]


@right(
    2, 32, lambda: (zeros(64), zeros(1), zeros(64)), lambda done, queue, out: {0: np.full(64, 1)}
)
def persistent_threads(done, queue, who):
    i = cuda.grid(1)
    while True:
        task = cuda.atomic.add(queue, 0, 1)
        if task >= done.shape[0]:
            break
        done[task] += 1
        who[task] = i


@right(1, 32, lambda: (ints(32, 1000, 3), np.full(64, -1, np.int32)), lambda keys, table: {})
def hash_table(keys, table):
    key = keys[cuda.grid(1)]
    slot = (key * 7) % table.shape[0]
    while True:
        former = cuda.atomic.cas(table, slot, -1, key)
        if former == -1 or former == key:
            break
        slot = (slot + 1) % table.shape[0]


@right(
    2, 32, lambda: (floats(64), np.full(1, -9, np.float32)), lambda values, out: {1: [values.max()]}
)
def maximum(values, out):
    cuda.atomic.max(out, 0, values[cuda.grid(1)])


@right(
    2,
    32,
    lambda: (ints(64, 9), np.ones(1, np.int64)),
    lambda values, out: {1: [1 + values.sum() * 1]},
)
def add_by_compare_and_swap(values, out):
    i = cuda.grid(1)
    done = False
    while not done:
        old = cuda.atomic.add(out, 0, 0)
        done = cuda.atomic.cas(out, 0, old, old + values[i]) == old


@right(2, 32, lambda: (ints(64, 9), zeros(1)), lambda values, out: {1: [1]})
def many_write_the_same(values, found):
    if values[cuda.grid(1)] == 3:
        found[0] = 1


# ---------------------------------------------------------------- fences


@right(
    4,
    32,
    lambda: (floats(128), np.zeros(4, np.float32), zeros(1), np.zeros(1, np.float32)),
    lambda values, partial, count, out: {3: [values.sum()], 2: [0]},
)
def last_block(values, partial, count, out):
    sums = cuda.shared.array(32, float32)
    is_last = cuda.shared.array(1, int32)
    thread, block = cuda.threadIdx.x, cuda.blockIdx.x
    sums[thread] = values[cuda.grid(1)]
    cuda.syncthreads()
    if thread == 0:
        total = float32(0)
        for k in range(32):
            total += sums[k]
        partial[block] = total
        cuda.threadfence()
        is_last[0] = cuda.atomic.add(count, 0, 1) == cuda.gridDim.x - 1
    cuda.syncthreads()
    if is_last[0] and thread == 0:
        total = float32(0)
        for k in range(cuda.gridDim.x):
            total += partial[k]
        out[0] = total
        count[0] = 0


@right(
    4,
    32,
    lambda: (floats(128), np.zeros(128, np.float32), zeros(1), np.zeros(32, np.float32)),
    lambda values, partial, count, out: {3: 2 * values.reshape(4, 32).sum(axis=0)},
)
def every_thread_of_the_last_block_reads(values, partial, count, out):
    is_last = cuda.shared.array(1, int32)
    thread = cuda.threadIdx.x
    partial[cuda.grid(1)] = values[cuda.grid(1)] * float32(2)
    cuda.threadfence()
    cuda.syncthreads()
    if thread == 0:
        is_last[0] = cuda.atomic.add(count, 0, 1) == cuda.gridDim.x - 1
    cuda.syncthreads()
    if is_last[0]:
        total = float32(0)
        for k in range(cuda.gridDim.x):
            total += partial[k * 32 + thread]
        out[thread] = total


@right(
    4,
    32,
    lambda: (ints(128, 9), zeros(128), np.zeros(1, np.uint32), zeros(1)),
    lambda values, doubled, count, out: {3: [2 * values.sum()]},
)
def one_fence_for_the_block(values, doubled, count, out):
    i = cuda.grid(1)
    doubled[i] = 2 * values[i]
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        cuda.threadfence()
        if cuda.atomic.inc(count, 0, 3) == 3:
            cuda.threadfence()
            total = 0
            for k in range(128):
                total += doubled[k]
            out[0] = total


@right(
    2,
    32,
    lambda: (ints(64, 9), zeros(64), zeros(1), zeros(1)),
    lambda values, doubled, count, out: {3: [2 * values.sum()]},
)
def last_thread_of_all(values, doubled, count, out):
    i = cuda.grid(1)
    doubled[i] = 2 * values[i]
    cuda.threadfence()
    if cuda.atomic.add(count, 0, 1) == cuda.gridsize(1) - 1:
        total = 0
        for k in range(64):
            total += doubled[k]
        out[0] = total


@right(2, 32, lambda: (zeros(1), zeros(1)), lambda lock, total: {1: [64]})
def lock_by_compare_and_swap(mutex, total):
    while cuda.atomic.cas(mutex, 0, 0, 1) != 0:
        pass
    cuda.threadfence()
    total[0] += 1
    cuda.threadfence()
    cuda.atomic.exch(mutex, 0, 0)


@right(2, 32, lambda: (zeros(1), zeros(1)), lambda lock, total: {1: [64]})
def lock_with_a_break_and_naps(mutex, total):
    nap = 8
    while True:
        if cuda.atomic.compare_and_swap(mutex, 0, 1) == 0:
            break
        cuda.nanosleep(nap)
        nap = min(256, nap * 2)
    cuda.threadfence()
    total[0] = total[0] + 1
    cuda.threadfence()
    cuda.atomic.exch(mutex, 0, 0)


@right(2, 32, lambda: (zeros(1), zeros(1)), lambda lock, total: {1: [64]})
def lock_that_is_tried(mutex, total):
    done = False
    while not done:
        if cuda.atomic.exch(mutex, 0, 1) == 0:
            cuda.threadfence()
            total[0] += 1
            cuda.threadfence()
            cuda.atomic.exch(mutex, 0, 0)
            done = True


@right(2, 16, lambda: (zeros(1), zeros(1), zeros(1)), lambda ticket, serving, total: {2: [32]})
def ticket_lock(ticket, serving, total):
    mine = cuda.atomic.add(ticket, 0, 1)
    while cuda.atomic.add(serving, 0, 0) != mine:
        cuda.nanosleep(50)
    cuda.threadfence()
    total[0] += 1
    cuda.threadfence()
    cuda.atomic.add(serving, 0, 1)


@right(1, 32, lambda: (zeros(4),), lambda out: {0: np.full(4, 8)})
def lock_per_element_in_shared_memory(out):
    locks, sums = cuda.shared.array(4, int32), cuda.shared.array(4, int32)
    thread = cuda.threadIdx.x
    if thread < 4:
        locks[thread] = 0
        sums[thread] = 0
    cuda.syncthreads()
    bin_of_thread = thread % 4
    while cuda.atomic.cas(locks, bin_of_thread, 0, 1) != 0:
        pass
    cuda.threadfence_block()
    sums[bin_of_thread] += 1
    cuda.threadfence_block()
    cuda.atomic.exch(locks, bin_of_thread, 0)
    cuda.syncthreads()
    if thread < 4:
        out[thread] = sums[thread]


@right(6, 8, lambda: (zeros(6), zeros(6)), lambda flags, data: {1: np.arange(1, 7)})
def hand_over_from_block_to_block(flags, data):
    block = cuda.blockIdx.x
    if cuda.threadIdx.x == 0:
        value = 0
        if block > 0:
            while cuda.atomic.add(flags, block - 1, 0) == 0:
                pass
            cuda.threadfence()
            value = data[block - 1]
        data[block] = value + 1
        cuda.threadfence()
        cuda.atomic.exch(flags, block, 1)


@right(
    4,
    16,
    lambda: (ints(64, 9), zeros(4, 2), zeros(4), zeros(64)),
    lambda values, sums, state, out: {3: np.cumsum(values)},
)
def decoupled_look_back(values, sums, state, out):
    scan, before = cuda.shared.array(16, int32), cuda.shared.array(1, int32)
    thread, block = cuda.threadIdx.x, cuda.blockIdx.x
    scan[thread] = values[cuda.grid(1)]
    cuda.syncthreads()
    step = 1
    while step < 16:
        left = scan[thread - step] if thread >= step else 0
        cuda.syncthreads()
        scan[thread] += left
        cuda.syncthreads()
        step *= 2
    if thread == 15:
        sums[block, 0] = scan[15]
        cuda.threadfence()
        cuda.atomic.max(state, block, 1)  # the sum of this block is there
        prefix, other = 0, block - 1
        while other >= 0:
            ready = cuda.atomic.add(state, other, 0)
            if ready == 2:
                prefix += sums[other, 1]
                break
            if ready == 1:
                prefix += sums[other, 0]
                other -= 1
        sums[block, 1] = prefix + scan[15]
        cuda.threadfence()
        cuda.atomic.max(state, block, 2)  # and the sum of all blocks up to it
        before[0] = prefix
    cuda.syncthreads()
    out[cuda.grid(1)] = before[0] + scan[thread]


@right(
    4,
    16,
    lambda: (zeros(1), zeros(64), zeros(64)),
    lambda count, values, out: {2: 63 - np.arange(64)},
)
def barrier_of_the_grid_from_a_counter(count, values, out):
    i = cuda.grid(1)
    values[i] = i
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        cuda.threadfence()
        cuda.atomic.add(count, 0, 1)
        while cuda.atomic.add(count, 0, 0) < cuda.gridDim.x:
            pass
        cuda.threadfence()
    cuda.syncthreads()
    out[i] = values[63 - i]


@right(2, 8, lambda: (zeros(8), zeros(1), zeros(8)), lambda data, flag, out: {2: np.arange(8) + 1})
def producer_and_consumer(data, flag, out):
    thread = cuda.threadIdx.x
    if cuda.blockIdx.x == 1:
        data[thread] = thread + 1
        cuda.threadfence()
        cuda.atomic.add(flag, 0, 1)
    else:
        while cuda.atomic.cas(flag, 0, 8, 8) != 8:
            pass
        out[thread] = data[thread]


@right(
    1,
    40,
    lambda: (zeros(1), zeros(40), zeros(40)),
    lambda count, a, out: {2: np.roll(np.arange(40), -1)},
)
def barrier_of_a_block_from_a_counter(count, values, out):
    thread = cuda.threadIdx.x
    values[thread] = thread
    cuda.threadfence_block()
    cuda.atomic.add(count, 0, 1)
    while cuda.atomic.add(count, 0, 0) < 40:
        pass
    out[thread] = values[(thread + 1) % 40]


@right(1, 64, lambda: (zeros(1), zeros(2)), lambda lock, total: {1: [128, 2]})
def a_lock_for_each_warp(mutex, total):
    lane = cuda.laneid
    value = int32(1)
    if lane == 0:
        while cuda.atomic.cas(mutex, 0, 0, 1) != 0:
            pass
        cuda.threadfence()
    cuda.syncwarp()
    for step in (16, 8, 4, 2, 1):
        value += cuda.shfl_xor_sync(0xFFFFFFFF, value, step)
    if lane == 0:
        total[0] += value * 2
        total[1] += 1
        cuda.threadfence()
        cuda.atomic.exch(mutex, 0, 0)


@right(2, 16, lambda: (np.full(1, -1, np.int32), np.full(32, -9, np.int32)), lambda head, links: {})
def push_onto_a_list(head, links):
    node = cuda.grid(1)
    pushed = False
    while not pushed:
        first = cuda.atomic.add(head, 0, 0)
        links[node] = first
        cuda.threadfence()
        pushed = cuda.atomic.cas(head, 0, first, node) == first


# ---------------------------------------------------------------- arrays and indices


@right(1, 32, lambda: (ints(32, 9), zeros(32)), lambda a, out: {1: a + a[-1] - a[-2]})
def the_last_elements(values, out):
    i = cuda.grid(1)
    out[i] = values[i] + values[-1] - values[-2]


@right(1, 32, lambda: (ints(32, 9), zeros(32)), lambda a, out: {1: a[::-1]})
def counted_from_the_end(values, out):
    i = cuda.grid(1)
    out[i] = values[-1 - i]


@right(
    1,
    16,
    lambda: (floats(16), zeros(16), np.zeros(16, np.float32)),
    lambda a, b, out: {2: a[::-1] + np.arange(16)[::-1]},
    dynamic_shared=128,
)
def dynamic_memory_in_two_parts(values, unused, out):
    first = cuda.shared.array(0, float32)[:16]
    second = cuda.shared.array(0, int32)[16:]
    i = cuda.grid(1)
    first[i] = values[i]
    second[i] = i
    cuda.syncthreads()
    out[i] = first[15 - i] + float32(second[15 - i])


@right(
    2,
    32,
    lambda: (zeros(64, dtype=np.uint32),),
    lambda out: {0: (np.arange(64, dtype=np.uint64) * 2654435761 % 2**32).astype(np.uint32)},
)
def a_hash_may_overflow(out):
    i = cuda.grid(1)
    out[i] = uint32(uint32(i) * uint32(2654435761))


@right(
    1, 32, lambda: (floats(20), np.zeros(20, np.float32), 3), lambda a, b, n: {0: a * 4, 1: a * 8}
)
def arrays_change_places_under_a_guard(a, b, rounds):
    i = cuda.grid(1)
    if i < a.shape[0]:
        for _ in range(rounds):
            b[i] = a[i] * float32(2)
            a, b = b, a


@right(
    1,
    32,
    lambda: (ints(20, 9), zeros(20), zeros(20)),
    lambda a, b, out: {2: np.where(np.arange(20) % 2, np.arange(20) % 3, a)},
)
def one_array_or_the_other(a, b, out):
    i = cuda.grid(1)
    if i >= a.shape[0]:
        return
    b[i] = i % 3
    source = a
    if i % 2 == 1:
        source = b
    out[i] = source[i]


@right(1, 32, lambda: (zeros(20), (3, 5, 8)), lambda out, p: {0: np.full(20, 16)})
def item_of_a_tuple_under_a_guard(out, p):
    i = cuda.grid(1)
    if i < out.shape[0]:
        k, total = 0, 0
        while k < 3:
            total += p[k]
            k += 1
        for j in range(3):
            total += 0 * p[j]
        out[i] = total


@right(1, 16, lambda: (floats(16), np.zeros(16, np.float32)), lambda a, out: {1: np.abs(a[::-1])})
def bits_of_shared_memory(values, out):
    tile = cuda.shared.array(16, float32)
    bits = tile.view(int32)
    i = cuda.threadIdx.x
    tile[i] = values[i]
    bits[i] = bits[i] & 0x7FFFFFFF
    cuda.syncthreads()
    out[i] = tile[15 - i]


@right(1, 16, lambda: (np.zeros(16, np.float32),), lambda out: {0: np.full(16, 1, np.float32)})
def written_through_a_view(out):
    tile = cuda.shared.array(16, float32)
    i = cuda.threadIdx.x
    tile.view(int32)[i] = 0x3F800000
    cuda.syncthreads()
    out[i] = tile[15 - i]


# ---------------------------------------------------------------- more waiting


@cuda.jit(device=True)
def acquire(mutex, number):
    while cuda.atomic.cas(mutex, number, 0, 1) != 0:
        cuda.nanosleep(10)
    cuda.threadfence()


@cuda.jit(device=True)
def release(mutex, number):
    cuda.threadfence()
    cuda.atomic.exch(mutex, number, 0)


@right(
    1,
    40,
    lambda: (zeros(1), zeros(40), zeros(2)),
    lambda m, a, out: {1: [32] * 32 + [8] * 8, 2: [32, 8]},
)
def lock_per_thread_then_warps(mutex, sizes, counts):
    written = cuda.shared.array(40, int32)
    thread, lane = cuda.threadIdx.x, cuda.threadIdx.x % 32
    acquire(mutex, 0)
    written[thread] = 1
    release(mutex, 0)
    cuda.syncwarp()
    members = 0xFFFFFFFF if thread < 32 else 0xFF
    if lane == 0:
        for k in range(thread, min(40, thread + 32)):
            counts[thread // 32] += written[k]
    sizes[thread] = cuda.popc(cuda.ballot_sync(members, True))


@right(1, 64, lambda: (zeros(1), zeros(64)), lambda m, out: {1: [32] * 64})
def lock_per_thread_then_shuffles(mutex, out):
    acquire(mutex, 0)
    release(mutex, 0)
    value = int32(1)
    for step in (16, 8, 4, 2, 1):
        value += cuda.shfl_xor_sync(0xFFFFFFFF, value, step)
    out[cuda.threadIdx.x] = value


@right(1, 40, lambda: (zeros(1), zeros(1)), lambda permits, total: {1: [40]})
def semaphore_with_two_permits(permits, total):
    while True:
        if cuda.atomic.add(permits, 0, 1) < 2:
            break
        cuda.atomic.sub(permits, 0, 1)
    cuda.atomic.add(total, 0, 1)
    cuda.atomic.sub(permits, 0, 1)


@right(3, 16, lambda: (zeros(1), zeros(1)), lambda mutex, total: {1: [3]})
def lock_of_a_block(mutex, total):
    if cuda.threadIdx.x == 0:
        acquire(mutex, 0)
    cuda.syncthreads()
    if cuda.threadIdx.x == 5:
        total[0] += 1
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        release(mutex, 0)


@right(2, 1, lambda: (zeros(4), zeros(2), zeros(20)), lambda ring, state, out: {2: np.arange(20)})
def ring_of_four(ring, state, out):
    for k in range(20):
        if cuda.blockIdx.x == 0:
            while k - cuda.atomic.add(state, 1, 0) >= 4:
                pass
            ring[k % 4] = k
            cuda.threadfence()
            cuda.atomic.add(state, 0, 1)
        else:
            while cuda.atomic.add(state, 0, 0) <= k:
                pass
            out[k] = ring[k % 4]
            cuda.threadfence()
            cuda.atomic.add(state, 1, 1)


@right(1, 16, lambda: (zeros(16), zeros(16)), lambda flags, out: {1: 15 - np.arange(16)})
def each_lane_waits_for_the_next(flags, out):
    lane = cuda.threadIdx.x
    if lane < 15:
        while cuda.atomic.add(flags, lane + 1, 0) == 0:
            pass
        cuda.threadfence()
        out[lane] = out[lane + 1] + 1
    cuda.threadfence()
    cuda.atomic.exch(flags, lane, 1)


@right(2, 32, lambda: (zeros(2), zeros(64)), lambda state, out: {1: [7] * 64})
def initialised_once(state, out):
    if cuda.atomic.add(state, 0, 0) != 2:
        if cuda.atomic.cas(state, 0, 0, 1) == 0:
            state[1] = 7
            cuda.threadfence()
            cuda.atomic.exch(state, 0, 2)
        else:
            while cuda.atomic.add(state, 0, 0) != 2:
                pass
    out[cuda.grid(1)] = state[1]


@right(2, 32, lambda: (ints(64, 64), np.arange(64, dtype=np.int32)), lambda edges, parents: {})
def union_of_sets(edges, parents):
    one, other = cuda.grid(1), edges[cuda.grid(1)]
    while True:
        parent = cuda.atomic.add(parents, one, 0)
        while parent != one:
            one = parent
            parent = cuda.atomic.add(parents, one, 0)
        parent = cuda.atomic.add(parents, other, 0)
        while parent != other:
            other = parent
            parent = cuda.atomic.add(parents, other, 0)
        if one < other:
            one, other = other, one
        if one == other or cuda.atomic.cas(parents, one, one, other) == one:
            break
