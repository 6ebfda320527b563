"""Right kernels of many kinds: nothing is found, and both engines compute what NumPy does."""

import cmath
import math

import numpy as np
from numba import complex64, cuda, float32, float64, int8, int32, int64, uint32, uint64
from numba.cuda.random import xoroshiro128p_uniform_float32

from tests.lab.ordering.cases import decorators, floats, ints, zeros

RIGHT = {}
right, _ = decorators(RIGHT)


def empty(*shape):
    return np.zeros(shape, np.float32)


def picture(height, width, seed=0):
    return floats(height * width, seed).reshape(height, width)


# ---------------------------------------------------------------- pictures


def sobel_of(image):
    p = np.pad(image.astype(np.float64), 1, mode="edge")
    gx = (p[:-2, 2:] + 2 * p[1:-1, 2:] + p[2:, 2:]) - (p[:-2, :-2] + 2 * p[1:-1, :-2] + p[2:, :-2])
    gy = (p[2:, :-2] + 2 * p[2:, 1:-1] + p[2:, 2:]) - (p[:-2, :-2] + 2 * p[:-2, 1:-1] + p[:-2, 2:])
    return np.hypot(gx, gy)


@cuda.jit(device=True)
def pixel(image, y, x):
    return image[min(max(y, 0), image.shape[0] - 1), min(max(x, 0), image.shape[1] - 1)]


@right((2, 2), (8, 8), lambda: (picture(11, 13), empty(11, 13)), lambda i, o: {1: sobel_of(i)})
def sobel(image, out):
    x, y = cuda.grid(2)
    if y >= image.shape[0] or x >= image.shape[1]:
        return
    right_side = (
        pixel(image, y - 1, x + 1) + 2 * pixel(image, y, x + 1) + pixel(image, y + 1, x + 1)
    )
    left = pixel(image, y - 1, x - 1) + 2 * pixel(image, y, x - 1) + pixel(image, y + 1, x - 1)
    below = pixel(image, y + 1, x - 1) + 2 * pixel(image, y + 1, x) + pixel(image, y + 1, x + 1)
    above = pixel(image, y - 1, x - 1) + 2 * pixel(image, y - 1, x) + pixel(image, y - 1, x + 1)
    out[y, x] = math.hypot(right_side - left, below - above)


def medians(image):
    p = np.pad(image, 1, mode="edge")
    windows = np.stack([p[dy : dy + image.shape[0], dx : dx + image.shape[1]]
                        for dy in range(3) for dx in range(3)])  # fmt: skip
    return np.median(windows, axis=0)


@right((2, 2), (8, 8), lambda: (picture(9, 14), empty(9, 14)), lambda i, o: {1: medians(i)})
def median_filter(image, out):
    """Sorts nine values in local memory."""
    x, y = cuda.grid(2)
    if y >= image.shape[0] or x >= image.shape[1]:
        return
    window = cuda.local.array(9, float32)
    count = 0
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            window[count] = pixel(image, y + dy, x + dx)
            count += 1
    for i in range(1, 9):
        value = window[i]
        j = i - 1
        while j >= 0 and window[j] > value:
            window[j + 1] = window[j]
            j -= 1
        window[j + 1] = value
    out[y, x] = window[4]


def rotated(rgb):
    hue = rgb.astype(np.int64)
    return np.stack([hue[..., 2], hue[..., 0], 255 - hue[..., 1]], -1).astype(np.uint8)


@right(
    (2, 2, 3), (4, 4, 1),
    lambda: (ints((7, 6, 3), 256).astype(np.uint8), zeros(7, 6, 3, dtype=np.uint8)),
    lambda i, o: {1: rotated(i)},
)  # fmt: skip
def colours_in_three_dimensions(image, out):
    x, y, channel = cuda.grid(3)
    if x < image.shape[1] and y < image.shape[0] and channel < image.shape[2]:
        value = image[y, x, (channel + 2) % 3]
        out[y, x, channel] = 255 - value if channel == 2 else value


def summed(image):
    return image.astype(np.float64).cumsum(0).cumsum(1)


@right(1, 16, lambda: (picture(12, 9), empty(12, 9)), lambda i, o: {1: summed(i)})
def summed_area_table(image, out):
    """Rows, a barrier, then columns."""
    i = cuda.threadIdx.x
    if i < image.shape[0]:
        total = float32(0)
        for x in range(image.shape[1]):
            total += image[i, x]
            out[i, x] = total
    cuda.syncthreads()
    if i < image.shape[1]:
        total = float32(0)
        for y in range(image.shape[0]):
            total += out[y, i]
            out[y, i] = total


def equalised(values):
    levels = np.bincount(values, minlength=16).cumsum()
    return levels[values] * 15 // values.size


@right(1, 64, lambda: (ints(64, 16), zeros(64)), lambda v, o: {1: equalised(v)})
def histogram_equalisation(values, out):
    counts = cuda.shared.array(16, int32)
    i = cuda.threadIdx.x
    if i < 16:
        counts[i] = 0
    cuda.syncthreads()
    cuda.atomic.add(counts, values[i], 1)
    cuda.syncthreads()
    offset = 1
    while offset < 16:
        before = 0
        if offset <= i < 16:
            before = counts[i - offset]
        cuda.syncthreads()
        if i < 16:
            counts[i] += before
        cuda.syncthreads()
        offset *= 2
    out[i] = counts[values[i]] * 15 // cuda.blockDim.x


def dithered(image):
    out = np.zeros(image.shape, np.int32)
    for y, row in enumerate(image.astype(np.float64)):
        error = 0.0
        for x, value in enumerate(row):
            out[y, x] = int(value + error > 0)
            error = value + error - (1.0 if out[y, x] else -1.0)
    return out


@right(1, 8, lambda: (picture(6, 10), zeros(6, 10)), lambda i, o: {1: dithered(i)})
def error_diffusion_per_row(image, out):
    y = cuda.grid(1)
    if y < image.shape[0]:
        error = 0.0
        for x in range(image.shape[1]):
            value = image[y, x] + error
            out[y, x] = value > 0
            error = value - 1.0 if value > 0 else value + 1.0


# ---------------------------------------------------------------- scans and sorts


def by_keys(keys, values):
    out = np.zeros(len(values))
    total = 0.0
    for i, (key, value) in enumerate(zip(keys, values, strict=True)):
        total = value if i == 0 or key != keys[i - 1] else total + value
        out[i] = total
    return out


@right(
    1, 64, lambda: (np.sort(ints(64, 9)), floats(64), empty(64)),
    lambda k, v, o: {2: by_keys(k, v)},
)  # fmt: skip
def segmented_scan(keys, values, out):
    sums = cuda.shared.array(64, float32)
    starts = cuda.shared.array(64, int32)
    i = cuda.threadIdx.x
    sums[i] = values[i]
    starts[i] = i == 0 or keys[i] != keys[i - 1]
    cuda.syncthreads()
    offset = 1
    while offset < 64:
        add, start = float32(0), 0
        if i >= offset:
            if not starts[i]:
                add = sums[i - offset]
            start = starts[i - offset]
        cuda.syncthreads()
        sums[i] += add
        starts[i] = starts[i] or start
        cuda.syncthreads()
        offset <<= 1
    out[i] = sums[i]


@right(1, 32, lambda: (ints(32, 64), zeros(32)), lambda k, o: {1: np.sort(k)})
def radix_sort_by_ballots(keys, out):
    shared = cuda.shared.array(32, int32)
    lane = cuda.threadIdx.x
    key = keys[lane]
    for bit in range(6):
        one = (key >> bit) & 1
        ones = cuda.ballot_sync(0xFFFFFFFF, one)
        below = cuda.popc(uint32(ones) & cuda.lanemask_lt())
        zeros_of_all = 32 - cuda.popc(uint32(ones))
        place = zeros_of_all + below if one else lane - below
        shared[place] = key
        cuda.syncwarp()
        key = shared[lane]
        cuda.syncwarp()
    out[lane] = key


@right(1, 64, lambda: (floats(64), empty(64)), lambda v, o: {1: np.sort(v)})
def rank_sort(values, out):
    i = cuda.grid(1)
    rank = 0
    for j in range(values.size):
        if values[j] < values[i] or (values[j] == values[i] and j < i):
            rank += 1
    out[rank] = values[i]


def merged(a, b):
    return np.sort(np.concatenate([a, b]))


@right(
    1, 64, lambda: (np.sort(floats(30)), np.sort(floats(34, 1)), empty(64)),
    lambda a, b, o: {2: merged(a, b)},
)  # fmt: skip
def merge_by_binary_search(a, b, out):
    i = cuda.grid(1)
    of_a = i < a.size
    value = a[i] if of_a else b[i - a.size]
    low, high = 0, b.size if of_a else a.size
    while low < high:
        middle = (low + high) >> 1
        other = b[middle] if of_a else a[middle]
        if other < value or (other == value and not of_a):
            low = middle + 1
        else:
            high = middle
    out[(i if of_a else i - a.size) + low] = value


def kth(values, k):
    return np.sort(values)[k : k + 1]


@right(1, 32, lambda: (ints(32, 1000), 11, zeros(1)), lambda v, k, o: {2: kth(v, k)})
def select_the_kth_by_bits(values, k, out):
    alive = cuda.shared.array(32, int8)
    i = cuda.threadIdx.x
    alive[i] = 1
    result, left = 0, k
    for bit in range(9, -1, -1):
        cuda.syncthreads()
        zero = alive[i] == 1 and (values[i] >> bit) & 1 == 0
        count = cuda.syncthreads_count(int32(zero))
        take_ones = left >= count
        if take_ones:
            left -= count
            result |= 1 << bit
        if zero == take_ones:
            alive[i] = 0
    if i == 0:
        out[0] = result


# ---------------------------------------------------------------- physics and automata


def accelerations(positions, masses):
    d = positions[None].astype(np.float64) - positions[:, None]
    r2 = (d**2).sum(-1) + 0.01
    return (d * (masses[None] / r2**1.5)[..., None]).sum(1)


@right(
    2, 16, lambda: (floats(96).reshape(32, 3), abs(floats(32, 1)), empty(32, 3)),
    lambda p, m, o: {2: accelerations(p, m)},
)  # fmt: skip
def n_body_in_tiles(positions, masses, out):
    tile = cuda.shared.array((16, 4), float32)
    i, thread = cuda.grid(1), cuda.threadIdx.x
    x, y, z = positions[i, 0], positions[i, 1], positions[i, 2]
    ax = ay = az = float32(0)
    for first in range(0, positions.shape[0], 16):
        for axis in range(3):
            tile[thread, axis] = positions[first + thread, axis]
        tile[thread, 3] = masses[first + thread]
        cuda.syncthreads()
        for j in range(16):
            dx, dy, dz = tile[j, 0] - x, tile[j, 1] - y, tile[j, 2] - z
            r2 = dx * dx + dy * dy + dz * dz + float32(0.01)
            f = tile[j, 3] / (r2 * math.sqrt(r2))
            ax += dx * f
            ay += dy * f
            az += dz * f
        cuda.syncthreads()
    out[i, 0], out[i, 1], out[i, 2] = ax, ay, az


def lives(board, steps):
    for _ in range(steps):
        around = sum(np.roll(board, (dy, dx), (0, 1)) for dy in (-1, 0, 1) for dx in (-1, 0, 1))
        board = ((around == 3) | ((around == 4) & (board == 1))).astype(np.int8)
    return board


@right(1, (8, 8), lambda: (ints((8, 8), 2).astype(np.int8), 5), lambda b, n: {0: lives(b, n)})
def game_of_life_on_a_torus(board, steps):
    boards = cuda.shared.array((2, 8, 8), int8)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    boards[0, y, x] = board[y, x]
    for step in range(steps):
        cuda.syncthreads()
        now = step % 2
        around = 0
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                around += boards[now, (y + dy) % 8, (x + dx) % 8]
        boards[1 - now, y, x] = around == 3 or (around == 4 and boards[now, y, x] == 1)
    board[y, x] = boards[steps % 2, y, x]


def rule_110(cells, steps):
    for _ in range(steps):
        code = 4 * np.roll(cells, 1) + 2 * cells + np.roll(cells, -1)
        cells = (110 >> code) & 1
    return cells


@right(1, 32, lambda: (ints(32, 2), 9), lambda c, n: {0: rule_110(c, n)})
def rule_110_by_shuffles(cells, steps):
    lane = cuda.laneid
    cell = cells[lane]
    for _ in range(steps):
        left = cuda.shfl_sync(0xFFFFFFFF, cell, (lane + 31) % 32)
        right_side = cuda.shfl_sync(0xFFFFFFFF, cell, (lane + 1) % 32)
        cell = (110 >> (4 * left + 2 * cell + right_side)) & 1
    cells[lane] = cell


def heat(field, steps):
    field = field.astype(np.float64)
    for _ in range(steps):
        middle = field[1:-1]
        field = np.concatenate(
            [field[:1], middle + 0.25 * (field[:-2] - 2 * middle + field[2:]), field[-1:]]
        )
    return field


@right(2, 16, lambda: (floats(32), empty(32), 6), lambda a, b, n: {0: heat(a, n)})
def heat_with_a_barrier_of_the_grid(a, b, steps):
    grid = cuda.cg.this_grid()
    i = cuda.grid(1)
    for _ in range(steps):
        b[i] = a[i]
        if 0 < i < a.size - 1:
            b[i] += float32(0.25) * (a[i - 1] - float32(2) * a[i] + a[i + 1])
        grid.sync()
        a[i] = b[i]
        grid.sync()


def red_black(u, steps):
    u = u.astype(np.float64)
    for _ in range(steps):
        for colour in (0, 1):
            for i in range(1, len(u) - 1):
                if i % 2 == colour:
                    u[i] = 0.5 * (u[i - 1] + u[i + 1])
    return u


@right(1, 33, lambda: (floats(33), 4), lambda u, n: {0: red_black(u, n)})
def gauss_seidel_in_two_colours(u, steps):
    i = cuda.threadIdx.x
    for step in range(2 * steps):
        if 0 < i < u.size - 1 and i % 2 == step % 2:
            u[i] = float32(0.5) * (u[i - 1] + u[i + 1])
        cuda.syncthreads()


# ---------------------------------------------------------------- strings and bytes


TEXT = np.frombuffer(b"a rose is a rose is a rose, and rosemary is not a rose", np.uint8)
WORD = np.frombuffer(b"rose", np.uint8)


def places_of_word(text, word):
    found = [bytes(text[i : i + 4]) == bytes(word) for i in range(len(text) - 3)]
    return np.flatnonzero(found)


@right(
    1, 64, lambda: (TEXT.copy(), WORD.copy(), zeros(8), zeros(1)),
    lambda t, w, o, c: {3: np.array([len(places_of_word(t, w))])},
)  # fmt: skip
def string_search(text, word, out, count):
    i = cuda.grid(1)
    if i + word.size > text.size:
        return
    for k in range(word.size):
        if text[i + k] != word[k]:
            break
    else:
        out[cuda.atomic.add(count, 0, 1)] = i


def upper(text):
    return np.frombuffer(bytes(text).upper(), np.uint8)


@right(1, 64, lambda: (TEXT.copy(),), lambda t: {0: upper(t)})
def upper_case(text):
    i = cuda.grid(1)
    if i < text.size and ord("a") <= text[i] <= ord("z"):
        text[i] -= 32


def edit_distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return np.array([row[-1]])


@right(
    1, 16, lambda: (TEXT[2:14].copy(), TEXT[20:36].copy(), zeros(1)),
    lambda a, b, o: {2: edit_distance(a, b)},
)  # fmt: skip
def edit_distance_by_diagonals(a, b, out):
    table = cuda.shared.array((17, 17), int32)
    j = cuda.threadIdx.x
    table[0, j + 1] = j + 1
    if j <= a.size:
        table[j, 0] = j
    for diagonal in range(a.size + b.size - 1):
        cuda.syncthreads()
        i = diagonal - j
        if 0 <= i < a.size and j < b.size:
            change = table[i, j] + (1 if a[i] != b[j] else 0)
            table[i + 1, j + 1] = min(change, table[i, j + 1] + 1, table[i + 1, j] + 1)
    cuda.syncthreads()
    if j == 0:
        out[0] = table[a.size, b.size]


def fnv(words):
    out = np.zeros(len(words), np.uint32)
    for n, word in enumerate(words):
        value = 2166136261
        for byte in word:
            value = ((value ^ int(byte)) * 16777619) & 0xFFFFFFFF
        out[n] = value
    return out


@right(
    1, 8, lambda: (ints((8, 6), 256).astype(np.uint8), zeros(8, dtype=np.uint32)),
    lambda w, o: {1: fnv(w)},
)  # fmt: skip
def hash_of_bytes(words, out):
    i = cuda.grid(1)
    value = uint64(2166136261)
    for byte in words[i]:
        value = ((value ^ uint64(byte)) * uint64(16777619)) & uint64(0xFFFFFFFF)
    out[i] = uint32(value)


def run_lengths(values):
    starts = np.flatnonzero(np.r_[True, values[1:] != values[:-1]])
    out = np.zeros(32, np.int32)
    out[: len(starts)] = np.diff(np.r_[starts, len(values)])
    return out


@right(1, 32, lambda: (np.sort(ints(32, 7)), zeros(32)), lambda v, o: {1: run_lengths(v)})
def run_length_encoding(values, out):
    lane = cuda.threadIdx.x
    is_start = lane == 0 or values[lane] != values[max(lane - 1, 0)]
    starts = uint32(cuda.ballot_sync(0xFFFFFFFF, is_start))
    if is_start:
        place = cuda.popc(starts & cuda.lanemask_lt())
        later = uint32(starts) & ~(cuda.lanemask_lt() | uint32(1) << uint32(lane))
        end = cuda.ffs(later) - 1 if later else 32
        out[place] = end - lane


# ---------------------------------------------------------------- matrices


def sparse():
    random = np.random.default_rng(4)
    dense = (random.random((12, 20)) < 0.3) * random.normal(size=(12, 20))
    rows, columns = np.nonzero(dense)
    starts = np.searchsorted(rows, np.arange(13)).astype(np.int32)
    return starts, columns.astype(np.int32), dense[rows, columns], random.normal(size=20)


def sparse_product(starts, columns, values, x, out):
    parts = [slice(*starts[i : i + 2]) for i in range(12)]
    return np.array([values[part] @ x[columns[part]] for part in parts])


@right(2, 8, lambda: (*sparse(), np.zeros(12)), lambda *a: {4: sparse_product(*a)})
def sparse_rows(starts, columns, values, x, out):
    row = cuda.grid(1)
    if row < out.size:
        total = 0.0
        for k in range(starts[row], starts[row + 1]):
            total += values[k] * x[columns[k]]
        out[row] = total


def positive(n):
    a = np.random.default_rng(2).normal(size=(n, n))
    return a @ a.T + n * np.eye(n)


@right(1, 8, lambda: (positive(8),), lambda a: {0: np.linalg.cholesky(a) + np.triu(a, 1)})
def cholesky(a):
    i, n = cuda.threadIdx.x, a.shape[0]
    for k in range(n):
        if i == k:
            a[k, k] = math.sqrt(a[k, k])
        cuda.syncthreads()
        if i > k:
            a[i, k] /= a[k, k]
        cuda.syncthreads()
        if i > k:
            for j in range(k + 1, i + 1):
                a[i, j] -= a[i, k] * a[j, k]
        cuda.syncthreads()


def solved(lower, diagonal, upper_, right_side):
    n = len(diagonal)
    matrix = np.diag(diagonal) + np.diag(lower[1:], -1) + np.diag(upper_[: n - 1], 1)
    return np.linalg.solve(matrix, right_side)


def tridiagonal():
    random = np.random.default_rng(5)
    return random.random(16), random.random(16) + 4, random.random(16), random.random(16)


@right(1, 16, lambda: (*tridiagonal(), np.zeros(16)), lambda *a: {4: solved(*a[:4])})
def cyclic_reduction_in_parallel(lower, diagonal, upper_, right_side, out):
    rows = cuda.shared.array((4, 16), float64)
    i = cuda.threadIdx.x
    a, b, c, d = lower[i] if i else 0.0, diagonal[i], upper_[i] if i < 15 else 0.0, right_side[i]
    stride = 1
    while stride < 16:
        rows[0, i], rows[1, i], rows[2, i], rows[3, i] = a, b, c, d
        cuda.syncthreads()
        if i >= stride:
            k = -a / rows[1, i - stride]
            a = k * rows[0, i - stride]
            b += k * rows[2, i - stride]
            d += k * rows[3, i - stride]
        else:
            a = 0.0
        if i + stride < 16:
            k = -c / rows[1, i + stride]
            c = k * rows[2, i + stride]
            b += k * rows[0, i + stride]
            d += k * rows[3, i + stride]
        else:
            c = 0.0
        cuda.syncthreads()
        stride *= 2
    out[i] = d / b


# ---------------------------------------------------------------- atomics


def extremes(values, out):
    return np.array([values.min(), values.max(), np.argmax(values)])


@right(
    2, 32, lambda: (np.random.default_rng(3).permutation(64), np.array([999, -1, -1])),
    lambda v, o: {1: extremes(v, o)},
)  # fmt: skip
def smallest_and_largest(values, out):
    i = cuda.grid(1)
    cuda.atomic.min(out, 0, values[i])
    cuda.atomic.max(out, 1, values[i])
    if values[i] == values.size - 1:
        cuda.atomic.exch(out, 2, i)


def all_bits(values, out):
    return np.array([np.bitwise_and.reduce(values), np.bitwise_or.reduce(values),
                     np.bitwise_xor.reduce(values), values.size % 10])  # fmt: skip


@right(
    1,
    64,
    lambda: (ints(64, 1 << 20).astype(np.uint32) | 16, np.array([0xFFFFFFFF, 0, 0, 0], np.uint32)),
    lambda v, o: {1: all_bits(v, o)},
)
def bits_of_all(values, out):
    i = cuda.grid(1)
    cuda.atomic.and_(out, 0, values[i])
    cuda.atomic.or_(out, 1, values[i])
    cuda.atomic.xor(out, 2, values[i])
    cuda.atomic.inc(out, 3, 9)


def graph():
    random = np.random.default_rng(1)
    return random.integers(0, 40, 30).astype(np.int32), random.integers(0, 40, 30).astype(np.int32)


def components(a, b, labels):
    labels = np.arange(40)
    for _ in range(40):
        for x, y in zip(a, b, strict=True):
            labels[x] = labels[y] = min(labels[x], labels[y])
    return labels


@right(1, 64, lambda: (*graph(), np.arange(40, dtype=np.int32)), lambda *a: {2: components(*a)})
def connected_components_by_minima(a, b, labels):
    changed = cuda.shared.array(1, int32)
    i = cuda.threadIdx.x
    while True:
        cuda.syncthreads()
        if i == 0:
            changed[0] = 0
        cuda.syncthreads()
        if i < a.size:
            x = cuda.atomic.min(labels, a[i], 1 << 30)
            y = cuda.atomic.min(labels, b[i], 1 << 30)
            if x != y:
                cuda.atomic.min(labels, a[i], y)
                cuda.atomic.min(labels, b[i], x)
                cuda.atomic.exch(changed, 0, 1)
        cuda.syncthreads()
        if changed[0] == 0:
            break


# ---------------------------------------------------------------- kinds of values


PARTICLE = np.dtype(
    [("position", np.float32, (2,)), ("velocity", np.float32, (2,)), ("id", np.int32)]
)


def particles():
    made = np.zeros(16, PARTICLE)
    made["position"] = floats(32).reshape(16, 2)
    made["velocity"] = floats(32, 1).reshape(16, 2)
    made["id"] = np.arange(16)[::-1]
    return made


def bounced(made, dt):
    made = made.copy()
    made["position"] += np.float32(dt) * made["velocity"]
    outside = abs(made["position"]) > 1
    made["velocity"][outside] *= -1
    return made["velocity"], made["position"]


@right(
    1, 16, lambda: (particles(), 0.5, empty(16, 2), empty(16, 2)),
    lambda p, dt, v, x: dict(zip((2, 3), bounced(p, dt), strict=True)),
)  # fmt: skip
def structs_of_particles(made, dt, velocities, positions):
    i = cuda.grid(1)
    particle = made[i]
    for axis in range(2):
        particle.position[axis] += float32(dt) * particle.velocity[axis]
        if abs(particle.position[axis]) > 1:
            made[i]["velocity"][axis] *= -1
        velocities[i, axis] = made[i].velocity[axis]
        positions[i, axis] = particle["position"][axis]


def signal():
    random = np.random.default_rng(6)
    return (random.normal(size=16) + 1j * random.normal(size=16)).astype(np.complex64)


@right(1, 16, lambda: (signal(), zeros(16, dtype=np.complex64)), lambda x, o: {1: np.fft.fft(x)})
def fourier_transform(x, out):
    """Radix 2, in shared memory."""
    data = cuda.shared.array(16, complex64)
    i = cuda.threadIdx.x
    data[cuda.brev(uint32(i)) >> uint32(28)] = x[i]
    half = 1
    while half < 16:
        cuda.syncthreads()
        value = data[i]
        place = i % (2 * half)
        partner = data[i + half] if place < half else data[i - half]
        angle = -math.pi * (place % half) / half
        turn = complex(math.cos(angle), math.sin(angle))
        cuda.syncthreads()
        data[i] = value + turn * partner if place < half else partner - turn * value
        half *= 2
    cuda.syncthreads()
    out[i] = data[i]


def roots(c, out):
    return np.sqrt(c.astype(complex))


@right(1, 16, lambda: (signal(), zeros(16, dtype=complex)), lambda c, o: {1: roots(c, o)})
def newton_in_the_plane(c, out):
    i = cuda.grid(1)
    z = cmath.sqrt(c[i]) * 1.1
    for _ in range(30):
        change = (z * z - c[i]) / (2 * z)
        z -= change
        if abs(change) < 1e-12:
            break
    out[i] = z


@right(
    1,
    32,
    lambda: (
        floats(32).astype(np.float16),
        floats(32, 1).astype(np.float16),
        zeros(32, dtype=np.float16),
    ),
    lambda a, b, o: {2: (a * b + a).astype(np.float16)},
)
def half_precision(a, b, out):
    i = cuda.grid(1)
    out[i] = a[i] * b[i] + a[i]


@right(
    1, 8,
    lambda: (xoroshiro_states(), empty(8)), lambda s, o: {1: draws(s)},
)  # fmt: skip
def random_walks(states, out):
    i = cuda.grid(1)
    place = float32(0)
    for _ in range(10):
        place += xoroshiro128p_uniform_float32(states, i) - float32(0.5)
    out[i] = place


def xoroshiro_states():
    from numba.cuda.random import init_xoroshiro128p_states_cpu, xoroshiro128p_dtype

    states = np.empty(8, xoroshiro128p_dtype)
    init_xoroshiro128p_states_cpu(states, 7, 0)
    return states


def draws(states):
    out = np.zeros(8)
    mask = (1 << 64) - 1

    def turn(x, k):
        return ((x << k) | (x >> (64 - k))) & mask

    for i, state in enumerate(states):
        s0, s1 = int(state["s0"]), int(state["s1"])
        for _ in range(10):
            result = (s0 + s1) & mask
            s1 ^= s0
            s0, s1 = (turn(s0, 55) ^ s1 ^ (s1 << 14)) & mask, turn(s1, 36)
            out[i] += (result >> 11) * 2.0**-53 - 0.5
    return out


@right(
    1,
    32,
    lambda: (ints(32, 1 << 30).astype(np.int64) * 12345, zeros(32, dtype=np.int64)),
    lambda x, o: {1: np.array([pow(int(v), 65, 1000003) for v in x])},
)
def power_modulo_a_prime(x, out):
    i = cuda.grid(1)
    base, exponent, result = x[i] % 1000003, 65, int64(1)
    while exponent:
        if exponent & 1:
            result = result * base % 1000003
        base = base * base % 1000003
        exponent >>= 1
    out[i] = result


# ---------------------------------------------------------------- control flow


def primes(n):
    return np.array(
        [int(i > 1 and all(i % k for k in range(2, int(i**0.5) + 1))) for i in range(n)]
    )


@right(2, 32, lambda: (zeros(64),), lambda o: {0: primes(64)})
def primes_with_for_else(out):
    i = cuda.grid(1)
    if i < 2:
        return
    for k in range(2, i):
        if k * k > i:
            out[i] = 1
            break
        if i % k == 0:
            break
    else:
        out[i] = 1


def tree_of(values):
    """A search tree in arrays: left and right children, -1 for none."""
    left, right_side = np.full((2, len(values)), -1, np.int32)
    for i in range(1, len(values)):
        node = 0
        while True:
            side = left if values[i] < values[node] else right_side
            if side[node] < 0:
                side[node] = i
                break
            node = side[node]
    return values, left, right_side


def tree_arguments():
    values = np.random.default_rng(8).permutation(40).astype(np.int32)
    return *tree_of(values), zeros(40)


@right(2, 32, tree_arguments, lambda v, a, b, o: {3: np.cumsum(np.arange(40))})
def sums_over_a_tree_with_a_stack(values, left, right_side, out):
    """For each i, the sum of all values of the tree that are not larger: no recursion."""
    i = cuda.grid(1)
    if i >= out.size:
        return
    stack = cuda.local.array(40, int32)
    stack[0], height, total = 0, 1, 0
    while height > 0:
        height -= 1
        node = stack[height]
        if values[node] <= i:
            total += values[node]
            if right_side[node] >= 0:
                stack[height] = right_side[node]
                height += 1
        if left[node] >= 0:
            stack[height] = left[node]
            height += 1
    out[i] = total


def collected(items):
    return np.array([sum(int(v) for v in items if v % 3 == 1), 0])


@right(1, 8, lambda: (ints(50, 100), zeros(2)), lambda v, o: {1: collected(v)})
def queue_of_work(items, out):
    """Each thread takes the next item until there are none; continue and break."""
    while True:
        i = cuda.atomic.add(out, 1, 1)
        if i >= items.size:
            cuda.atomic.sub(out, 1, 1)
            break
        if items[i] % 3 != 1:
            continue
        cuda.atomic.add(out, 0, items[i])
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        out[1] = 0


@right(1, 64, lambda: (zeros(2), floats(64), empty(64)), lambda f, v, o: {2: np.roll(v, 32)})
def two_warps_hand_over_by_polling(flags, values, out):
    shared = cuda.shared.array(64, float32)
    thread = cuda.threadIdx.x
    warp = thread // 32
    shared[thread] = values[thread]
    cuda.syncwarp()
    cuda.threadfence_block()
    if thread % 32 == 0:
        cuda.atomic.exch(flags, warp, 1)
    while cuda.atomic.add(flags, 1 - warp, 0) == 0:
        pass
    cuda.threadfence_block()
    out[thread] = shared[(thread + 32) % 64]


def as_digits(n):
    return np.array([sum(map(int, str(i))) for i in range(n)])


@cuda.jit(device=True)
def digit_sum(n):
    total = 0
    while n:
        n, digit = divmod(n, 10)
        total += digit
    return total


@right(4, 32, lambda: (zeros(128),), lambda o: {0: as_digits(128)})
def sums_of_digits(out):
    i = cuda.grid(1)
    out[i] = digit_sum(i)


# ---------------------------------------------------------------- warps


def warp_sums(values):
    return values.astype(np.float64).reshape(-1, 32).sum(1)


@right(1, 96, lambda: (floats(96), empty(3)), lambda v, o: {1: warp_sums(v)})
def butterfly_sum(values, out):
    thread = cuda.threadIdx.x
    total = values[thread]
    for bit in (1, 2, 4, 8, 16):
        total += cuda.shfl_xor_sync(0xFFFFFFFF, total, bit)
    if cuda.laneid == 0:
        out[thread >> 5] = total


@right(1, 32, lambda: (ints(32, 5), zeros(32)), lambda v, o: {1: (v[:, None] == v).sum(1)})
def how_many_hold_the_same(values, out):
    lane = cuda.threadIdx.x
    same = cuda.match_any_sync(0xFFFFFFFF, values[lane])
    out[lane] = cuda.popc(uint32(same))


@right(
    1, 64, lambda: (floats(64), np.zeros(1), zeros(1)),
    lambda v, o, c: {1: v[v > 0].astype(np.float64).sum(keepdims=True), 2: [(v > 0).sum()]},
)  # fmt: skip
def leaders_add_for_their_warp(values, out, count):
    i = cuda.grid(1)
    positive_ones = cuda.ballot_sync(0xFFFFFFFF, values[i] > 0)
    value = values[i] if values[i] > 0 else float32(0)
    for step in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, step)
    if cuda.laneid == 0:
        cuda.atomic.add(out, 0, value)
        cuda.atomic.add(count, 0, cuda.popc(uint32(positive_ones)))


def mixed(volume):
    return np.flip(volume, (0, 2)).transpose(1, 0, 2).copy()


@right(
    (2, 2, 2), (2, 3, 2), lambda: (floats(4 * 5 * 3).reshape(4, 5, 3), empty(5, 4, 3)),
    lambda v, o: {1: mixed(v)},
)  # fmt: skip
def volume_turned(volume, out):
    z, y, x = cuda.grid(3)
    depth, height, width = volume.shape
    if z < depth and y < height and x < width:
        out[y, depth - 1 - z, width - 1 - x] = volume[z, y, x]


# ---------------------------------------------------------------- threads that work together


TILE_WITH_HALO = (4, 6, 6)


def seven_points(volume):
    p = np.pad(volume.astype(np.float64), 1)
    inner = p[1:-1, 1:-1]
    return (
        p[:-2, 1:-1, 1:-1] + p[2:, 1:-1, 1:-1] + p[1:-1, :-2, 1:-1] + p[1:-1, 2:, 1:-1]
        + inner[..., :-2] + inner[..., 2:] - 6 * inner[..., 1:-1]
    )  # fmt: skip


@cuda.jit(device=True)
def voxel(volume, z, y, x):
    inside = 0 <= z < volume.shape[0] and 0 <= y < volume.shape[1] and 0 <= x < volume.shape[2]
    return volume[z, y, x] if inside else float32(0)


@right(
    (2, 2, 3), (4, 4, 2),
    lambda: (floats(210).reshape(5, 7, 6), empty(5, 7, 6)), lambda v, o: {1: seven_points(v)},
)  # fmt: skip
def laplacian_in_a_tile_with_halo(volume, out):
    tile = cuda.shared.array(TILE_WITH_HALO, float32)
    x, y, z = cuda.grid(3)
    i, j, k = cuda.threadIdx.x + 1, cuda.threadIdx.y + 1, cuda.threadIdx.z + 1
    tile[k, j, i] = voxel(volume, z, y, x)
    if i == 1:
        tile[k, j, 0] = voxel(volume, z, y, x - 1)
    if i == 4:
        tile[k, j, 5] = voxel(volume, z, y, x + 1)
    if j == 1:
        tile[k, 0, i] = voxel(volume, z, y - 1, x)
    if j == 4:
        tile[k, 5, i] = voxel(volume, z, y + 1, x)
    if k == 1:
        tile[0, j, i] = voxel(volume, z - 1, y, x)
    if k == 2:
        tile[3, j, i] = voxel(volume, z + 1, y, x)
    cuda.syncthreads()
    if x < volume.shape[2] and y < volume.shape[1] and z < volume.shape[0]:
        out[z, y, x] = (
            tile[k - 1, j, i] + tile[k + 1, j, i] + tile[k, j - 1, i] + tile[k, j + 1, i]
            + tile[k, j, i - 1] + tile[k, j, i + 1] - float32(6) * tile[k, j, i]
        )  # fmt: skip


@right(
    2, 64, lambda: (floats(128), empty(128)),
    lambda x, o: {1: np.cumsum(x.reshape(2, 64).astype(np.float64), axis=1).ravel()},
    dynamic_shared=512,
)  # fmt: skip
def scan_in_dynamic_memory_carved_in_two(values, out):
    both = cuda.shared.array(0, float32)
    n, t = cuda.blockDim.x, cuda.threadIdx.x
    a, b = both[:n], both[n : 2 * n]
    a[t] = values[cuda.grid(1)]
    cuda.syncthreads()
    step = 1
    while step < n:
        b[t] = a[t] + a[t - step] if t >= step else a[t]
        cuda.syncthreads()
        a, b = b, a
        step *= 2
    out[cuda.grid(1)] = a[t]


@cuda.jit(device=True)
def larger(a, b):
    return max(a, b)


@cuda.jit(device=True)
def added(a, b):
    return a + b


@cuda.jit(device=True)
def reduced(shared, t, combine):
    active = 32
    while active:
        cuda.syncthreads()
        if t < active:
            shared[t] = combine(shared[t], shared[t + active])
        active //= 2
    cuda.syncthreads()
    return shared[0]


def softmax(rows):
    e = np.exp(rows.astype(np.float64) - rows.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@right(5, 64, lambda: (3 * picture(5, 64), empty(5, 64)), lambda x, o: {1: softmax(x)})
def softmax_by_a_function_that_is_passed_on(rows, out):
    shared = cuda.shared.array(64, float32)
    t, row = cuda.threadIdx.x, cuda.blockIdx.x
    shared[t] = rows[row, t]
    largest = reduced(shared, t, larger)
    cuda.syncthreads()
    e = math.exp(rows[row, t] - largest)
    shared[t] = e
    out[row, t] = e / reduced(shared, t, added)


def nearest(pixels, depths, colours, words):
    result = words.copy()
    for pixel_, depth, colour in zip(pixels, depths, colours, strict=True):
        result[pixel_] = min(int(result[pixel_]), int(depth) << 32 | int(colour))
    return result


@right(
    3, 64,
    lambda: (ints(150, 16), ints(150, 999, 1), ints(150, 255, 2), np.full(16, 2**63, np.uint64)),
    lambda *arguments: {3: nearest(*arguments)}, schedule=["reverse", 1],
)  # fmt: skip
def depth_and_colour_in_one_word(pixels, depths, colours, words):
    i = cuda.grid(1)
    if i < pixels.size:
        word = (uint64(depths[i]) << uint64(32)) | uint64(colours[i])
        cuda.atomic.min(words, pixels[i], word)


@right(
    3, 32, lambda: (picture(20, 32), empty(20, 32), zeros(1)), lambda x, o, n: {1: 2 * x},
    schedule=["reverse", 1],
)  # fmt: skip
def one_thread_takes_jobs_for_its_block(values, out, taken):
    job = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    while True:
        if t == 0:
            job[0] = cuda.atomic.add(taken, 0, 1)
        cuda.syncthreads()
        row = job[0]
        cuda.syncthreads()
        if row >= values.shape[0]:
            break
        out[row, t] = float32(2) * values[row, t]


# ---------------------------------------------------------------- in other orders of threads


def overlapping_halves():
    values = floats(65)
    return values[:-1], values[1:]


@right(
    1, 64, overlapping_halves, lambda left, right: {0: right}, schedule=["reverse", 1]
)  # fmt: skip
def shifted_in_place_by_two_names(left, right):
    i = cuda.grid(1)
    value = right[i]
    cuda.syncthreads()
    left[i] = value


@right(
    2, 32, lambda: (floats(64) + 1j * floats(64, 1), np.zeros(1, np.complex64)),
    lambda x, total: {1: [x.sum()]}, schedule=["reverse", 1],
)  # fmt: skip
def complex_sum_by_atomics_of_its_parts(values, total):
    i = cuda.grid(1)
    cuda.atomic.add(total.real, 0, values[i].real)
    cuda.atomic.add(total.imag, 0, values[i].imag)


ACCOUNT = np.dtype([("balance", "f4"), ("payments", "i4")])


@right(
    4, 32, lambda: (np.zeros(1, ACCOUNT), floats(128)),
    lambda a, x: {}, schedule=["reverse", 1],
)  # fmt: skip
def account_of_floats_and_counts(accounts, amounts):
    i = cuda.grid(1)
    cuda.atomic.add(accounts["balance"], 0, amounts[i])
    cuda.atomic.add(accounts["payments"], 0, 1)


@right(1, 32, lambda: (floats(32), empty(32)), lambda x, o: {1: np.append(0, x[:-1])})
def unsigned_index_below_zero_is_not_used(values, out):
    i = uint32(cuda.grid(1))
    before = uint32(i - uint32(1))
    out[i] = values[before] if before < values.size else float32(0)
