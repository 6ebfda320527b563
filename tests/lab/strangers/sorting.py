"""Sorts, scans, reductions, histograms, searches."""

import math

import numba as nb
import numpy as np
from numba import cuda, float32, int32, uint32

from tests.lab.strangers.case import right, wrong

random = np.random.default_rng(7)


# --- bitonic sort of one block


@cuda.jit
def bitonic_block(arr):
    sh = cuda.shared.array(128, dtype=nb.float32)
    t = cuda.threadIdx.x
    sh[t] = arr[t]
    cuda.syncthreads()
    k = 2
    while k <= 128:
        j = k >> 1
        while j > 0:
            ixj = t ^ j
            if ixj > t:
                up = (t & k) == 0
                if (sh[t] > sh[ixj]) == up:
                    sh[t], sh[ixj] = sh[ixj], sh[t]
            cuda.syncthreads()
            j >>= 1
        k <<= 1
    arr[t] = sh[t]


@cuda.jit
def bitonic_barrier_once_per_k(arr):
    sh = cuda.shared.array(128, dtype=nb.float32)
    t = cuda.threadIdx.x
    sh[t] = arr[t]
    cuda.syncthreads()
    k = 2
    while k <= 128:
        j = k // 2
        while j > 0:
            ixj = t ^ j
            if ixj > t:
                if (sh[t] > sh[ixj]) == ((t & k) == 0):  # HERE
                    tmp = sh[t]  # HERE
                    sh[t] = sh[ixj]  # HERE
                    sh[ixj] = tmp  # HERE
            j //= 2
        cuda.syncthreads()
        k *= 2
    arr[t] = sh[t]


numbers = random.permutation(128).astype(np.float32)
right(bitonic_block, 1, 128, numbers, arr=np.sort(numbers))
wrong(bitonic_barrier_once_per_k, 1, 128, numbers, kind="race", says="syncthreads")


# --- one step of a bitonic sort over many blocks, and odd-even transposition


@cuda.jit
def bitonic_step(values, j, k):
    i = cuda.grid(1)
    partner = i ^ j
    if partner > i and partner < values.size:
        a, b = values[i], values[partner]
        ascending = not (i & k)
        if (ascending and a > b) or (not ascending and a < b):
            values[i] = b
            values[partner] = a


@cuda.jit
def odd_even(values):
    n = values.shape[0]
    for phase in range(n):
        for i in range(cuda.threadIdx.x * 2 + phase % 2, n - 1, cuda.blockDim.x * 2):
            if values[i] > values[i + 1]:
                values[i], values[i + 1] = values[i + 1], values[i]
        cuda.syncthreads()


@cuda.jit
def odd_even_last_pair(values):
    n = values.shape[0]
    for phase in range(n):
        for i in range(cuda.threadIdx.x * 2 + phase % 2, n, cuda.blockDim.x * 2):
            if values[i] > values[i + 1]:  # HERE
                values[i], values[i + 1] = values[i + 1], values[i]  # HERE
        cuda.syncthreads()


@cuda.jit
def odd_even_return_before_barrier(values):
    i = cuda.threadIdx.x * 2
    n = values.shape[0]
    for phase in range(n):
        k = i + phase % 2
        if k >= n - 1:
            return  # HERE
        if values[k] > values[k + 1]:
            values[k], values[k + 1] = values[k + 1], values[k]
        cuda.syncthreads()  # HERE


def step_reference(values, j, k):
    values = values.copy()
    for i in range(len(values)):
        p = i ^ j
        if p > i and p < len(values) and (values[i] > values[p]) == (not i & k):
            values[i], values[p] = values[p], values[i]
    return values


shuffled = random.permutation(41)
right(bitonic_step, 4, 32, numbers, 4, 16, values=step_reference(numbers, 4, 16))
right(odd_even, 1, 16, shuffled, values=np.arange(41))
wrong(odd_even_last_pair, 1, 16, shuffled, kind="out-of-bounds", says="41")
wrong(odd_even_return_before_barrier, 1, 24, shuffled, kind="barrier")


# --- radix sort, a digit per launch


@cuda.jit
def radix_histogram(keys, shift, hist):
    h = cuda.shared.array(16, uint32)
    t = cuda.threadIdx.x
    if t < 16:
        h[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), keys.size, cuda.gridsize(1)):
        cuda.atomic.inc(h, (keys[i] >> shift) & 15, 0xFFFFFFFF)
    cuda.syncthreads()
    if t < 16:
        hist[t, cuda.blockIdx.x] = h[t]


@cuda.jit
def radix_histogram_not_cleared(keys, shift, hist):
    h = cuda.shared.array(16, int32)
    t = cuda.threadIdx.x
    cuda.syncthreads()
    for i in range(cuda.grid(1), keys.size, cuda.gridsize(1)):
        cuda.atomic.add(h, (keys[i] >> shift) & 15, 1)  # HERE
    cuda.syncthreads()
    if t < 16:
        hist[t, cuda.blockIdx.x] = h[t]


@cuda.jit
def radix_split(keys, bit, out):
    """One block: stable split by one bit, with the scan of its complement."""
    scan = cuda.shared.array(256, int32)
    t = cuda.threadIdx.x
    n = cuda.blockDim.x
    b = (keys[t] >> bit) & 1
    scan[t] = 1 - b
    cuda.syncthreads()
    d = 1
    while d < n:
        v = scan[t - d] if t >= d else 0
        cuda.syncthreads()
        scan[t] += v
        cuda.syncthreads()
        d *= 2
    zeros = scan[n - 1]
    before = scan[t] - (1 - b)
    if b == 0:
        out[before] = keys[t]
    else:
        out[zeros + t - before] = keys[t]


keys = random.integers(0, 2**16, 1000).astype(np.uint32)


def digits(shift):
    wanted = np.zeros((16, 3), int)
    for i, key in enumerate(keys):
        wanted[(key >> shift) & 15, i % 192 // 64] += 1
    return wanted


right(radix_histogram, 3, 64, keys, np.uint32(4), np.zeros((16, 3), np.uint32), hist=digits(4))
wrong(
    radix_histogram_not_cleared,
    3,
    64,
    keys,
    np.uint32(4),
    np.zeros((16, 3), np.int32),
    kind="uninitialised",
)
right(
    radix_split,
    1,
    256,
    keys[:256],
    3,
    np.zeros(256, np.uint32),
    out=np.concatenate([keys[:256][keys[:256] >> 3 & 1 == b] for b in (0, 1)]),
)


# --- scans


@cuda.jit
def blelloch(data, sums):
    temp = cuda.shared.array(0, dtype=float32)
    thid = cuda.threadIdx.x
    n = 2 * cuda.blockDim.x
    base = cuda.blockIdx.x * n
    temp[2 * thid] = data[base + 2 * thid]
    temp[2 * thid + 1] = data[base + 2 * thid + 1]
    offset = 1
    d = n >> 1
    while d > 0:
        cuda.syncthreads()
        if thid < d:
            ai = offset * (2 * thid + 1) - 1
            bi = offset * (2 * thid + 2) - 1
            temp[bi] += temp[ai]
        offset *= 2
        d >>= 1
    if thid == 0:
        sums[cuda.blockIdx.x] = temp[n - 1]
        temp[n - 1] = 0
    d = 1
    while d < n:
        offset >>= 1
        cuda.syncthreads()
        if thid < d:
            ai = offset * (2 * thid + 1) - 1
            bi = offset * (2 * thid + 2) - 1
            t = temp[ai]
            temp[ai] = temp[bi]
            temp[bi] += t
        d *= 2
    cuda.syncthreads()
    data[base + 2 * thid] = temp[2 * thid]
    data[base + 2 * thid + 1] = temp[2 * thid + 1]


@cuda.jit
def blelloch_too_little_memory(data, sums):
    temp = cuda.shared.array(0, dtype=float32)
    thid = cuda.threadIdx.x
    n = 2 * cuda.blockDim.x
    temp[2 * thid] = data[2 * thid]  # HERE
    temp[2 * thid + 1] = data[2 * thid + 1]  # HERE
    cuda.syncthreads()
    if thid == 0:
        sums[0] = temp[n - 1]  # HERE


@cuda.jit
def hillis_steele_in_place(data, out):
    tmp = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    tmp[t] = data[t]
    cuda.syncthreads()
    step = 1
    while step < 64:
        if t >= step:
            tmp[t] += tmp[t - step]  # HERE
        cuda.syncthreads()
        step *= 2
    out[t] = tmp[t]


@cuda.jit
def hillis_steele_two_buffers(data, out):
    tmp = cuda.shared.array((2, 64), float32)
    t = cuda.threadIdx.x
    pout, pin = 0, 1
    tmp[pout, t] = data[t - 1] if t > 0 else float32(0)
    cuda.syncthreads()
    step = 1
    while step < 64:
        pout = 1 - pout
        pin = 1 - pout
        if t >= step:
            tmp[pout, t] = tmp[pin, t] + tmp[pin, t - step]
        else:
            tmp[pout, t] = tmp[pin, t]
        cuda.syncthreads()
        step <<= 1
    out[t] = tmp[pout, t]


@cuda.jit
def warp_scan(data, out):
    i = cuda.grid(1)
    lane = i & 31
    v = data[i]
    for k in range(5):
        o = cuda.shfl_up_sync(0xFFFFFFFF, v, 1 << k)
        if lane >= 1 << k:
            v += o
    out[i] = v


@cuda.jit
def warp_scan_in_branch(data, out):
    i = cuda.grid(1)
    lane = i & 31
    v = data[i]
    for k in range(5):
        if lane >= 1 << k:
            v += cuda.shfl_up_sync(0xFFFFFFFF, v, 1 << k)  # HERE
    out[i] = v


values = random.integers(0, 9, 256).astype(np.float32)


def exclusive(blocks):
    parts = values.reshape(blocks, -1)
    return (parts.cumsum(1) - parts).ravel()


right(
    blelloch,
    4,
    32,
    values,
    np.zeros(4, np.float32),
    shared_bytes=256,
    data=exclusive(4),
    sums=values.reshape(4, -1).sum(1),
)
wrong(
    blelloch_too_little_memory,
    1,
    32,
    values,
    np.zeros(4, np.float32),
    shared_bytes=128,
    kind="out-of-bounds",
    says="dynamic",
)
wrong(
    hillis_steele_in_place, 1, 64, values, np.zeros(64, np.float32), kind="race", says="syncthreads"
)
right(
    hillis_steele_two_buffers,
    1,
    64,
    values,
    np.zeros(64, np.float32),
    out=values[:64].cumsum() - values[:64],
)
right(
    warp_scan,
    2,
    64,
    values[:128],
    np.zeros(128, np.float32),
    out=values[:128].reshape(4, 32).cumsum(1).ravel(),
)
wrong(
    warp_scan_in_branch,
    2,
    64,
    values[:128],
    np.zeros(128, np.float32),
    kind="barrier",
    says="before the branch",
)


# --- reductions


@cuda.jit
def reduce_last_warp(data, out):
    s = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    i = cuda.blockIdx.x * 256 + t
    acc = float32(0)
    if i < data.size:
        acc = data[i]
    if i + 128 < data.size:
        acc += data[i + 128]
    s[t] = acc
    cuda.syncthreads()
    if t < 64:
        s[t] += s[t + 64]
    cuda.syncthreads()
    if t < 32:
        v = s[t] + s[t + 32]
        for delta in (16, 8, 4, 2, 1):
            v += cuda.shfl_down_sync(0xFFFFFFFF, v, delta)
        if t == 0:
            cuda.atomic.add(out, 0, v)


@cuda.jit
def reduce_warp_synchronous(data, out):
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    s[t] = data[t]
    cuda.syncthreads()
    if t < 32:
        s[t] += s[t + 32]  # HERE
        s[t] += s[t + 16]  # HERE
        s[t] += s[t + 8]  # HERE
        s[t] += s[t + 4]  # HERE
        s[t] += s[t + 2]  # HERE
        s[t] += s[t + 1]  # HERE
    if t == 0:
        out[0] = s[0]  # HERE


@cuda.jit
def reduce_halves_mask(data, out):
    t = cuda.threadIdx.x
    v = data[t]
    if t < 16:
        v += cuda.shfl_xor_sync(0xFFFFFFFF, v, 8)  # HERE
    out[t] = v


@cuda.jit
def argmax_block(data, best, where):
    sv = cuda.shared.array(64, float32)
    si = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    v = float32(-math.inf)
    at = -1
    for i in range(t, data.shape[0], 64):
        if data[i] > v:
            v = data[i]
            at = i
    sv[t] = v
    si[t] = at
    s = 32
    while s:
        cuda.syncthreads()
        if t < s and sv[t + s] > sv[t]:
            sv[t] = sv[t + s]
            si[t] = si[t + s]
        s //= 2
    if t == 0:
        best[0] = sv[0]
        where[0] = si[0]


@cuda.jit
def max_compare_then_store(data, best):
    i = cuda.grid(1)
    if i < data.size:
        if data[i] > best[0]:  # HERE
            best[0] = data[i]  # HERE


@cuda.jit
def mean_and_variance(data, out):
    s = cuda.shared.array(shape=(2,), dtype=nb.float64)
    if cuda.threadIdx.x == 0:
        s[:] = 0
    cuda.syncthreads()
    for k in range(cuda.threadIdx.x, len(data), cuda.blockDim.x):
        cuda.atomic.add(s, 0, data[k])
        cuda.atomic.add(s, 1, data[k] ** 2)
    cuda.syncthreads()
    if not cuda.threadIdx.x:
        out[0] = s[0] / len(data)
        out[1] = s[1] / len(data) - out[0] * out[0]


@cuda.jit
def mean_zeroed_late(data, out):
    s = cuda.shared.array(1, nb.float64)
    if cuda.threadIdx.x == 0:
        s[0] = 0  # HERE
    for k in range(cuda.threadIdx.x, len(data), cuda.blockDim.x):
        cuda.atomic.add(s, 0, data[k])  # HERE
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        out[0] = s[0] / len(data)


many = random.random(1000).astype(np.float32)


right(reduce_last_warp, 4, 128, many, np.zeros(1, np.float32), out=[many.sum(dtype=float)])
wrong(reduce_warp_synchronous, 1, 64, many, np.zeros(1, np.float32), kind="race", says="syncwarp")
wrong(reduce_halves_mask, 1, 32, many, np.zeros(32, np.float32), kind="barrier", says="mask")
right(
    argmax_block,
    1,
    64,
    many,
    np.zeros(1, np.float32),
    np.zeros(1, np.int64),
    best=[many.max()],
    where=[many.argmax()],
)
wrong(
    max_compare_then_store,
    8,
    128,
    many,
    np.zeros(1, np.float32),
    kind="race",
    says="atomic.max",
    never="syncthreads",
)
right(
    mean_and_variance,
    1,
    96,
    many.astype(float),
    np.zeros(2),
    out=[many.astype(float).mean(), many.astype(float).var()],
)
wrong(mean_zeroed_late, 1, 96, many.astype(float), np.zeros(1), kind="race", says="syncthreads")


# --- searches


@cuda.jit
def binary_search(haystack, needles, out):
    i = cuda.grid(1)
    if i < needles.size:
        lo = 0
        hi = haystack.size
        while lo < hi:
            mid = (lo + hi) // 2
            if haystack[mid] < needles[i]:
                lo = mid + 1
            else:
                hi = mid
        out[i] = lo


@cuda.jit
def binary_search_endless(haystack, needles, out):
    i = cuda.grid(1)
    if i < needles.size:
        lo = 0
        hi = haystack.size
        while lo < hi:  # HERE
            mid = (lo + hi) // 2
            if haystack[mid] < needles[i]:
                lo = mid
            else:
                hi = mid
        out[i] = lo


@cuda.jit
def merge_path(a, b, out):
    k = cuda.grid(1)
    if k >= out.size:
        return
    lo = max(0, k - b.size)
    hi = min(k, a.size)
    while lo < hi:
        m = (lo + hi) >> 1
        if a[m] <= b[k - 1 - m]:
            lo = m + 1
        else:
            hi = m
    i, j = lo, k - lo
    if j >= b.size or (i < a.size and a[i] <= b[j]):
        out[k] = a[i]
    else:
        out[k] = b[j]


@cuda.jit
def merge_path_no_end_check(a, b, out):
    k = cuda.grid(1)
    if k >= out.size:
        return
    lo = max(0, k - b.size)
    hi = min(k, a.size)
    while lo < hi:
        m = (lo + hi) >> 1
        if a[m] <= b[k - 1 - m]:
            lo = m + 1
        else:
            hi = m
    i, j = lo, k - lo
    out[k] = a[i] if a[i] <= b[j] else b[j]  # HERE


hay = np.sort(random.integers(0, 500, 100)).astype(np.int64)
needles = random.integers(-5, 505, 70)
left, above = hay[::2].copy(), hay[1::2].copy() + 1
right(binary_search, 3, 32, hay, needles, np.zeros(70, np.int64), out=np.searchsorted(hay, needles))
wrong(binary_search_endless, 3, 32, hay, needles, np.zeros(70, np.int64), kind="endless")
right(
    merge_path,
    4,
    32,
    left,
    above,
    np.zeros(100, np.int64),
    out=np.sort(np.concatenate([left, above])),
)
wrong(merge_path_no_end_check, 4, 32, left, above, np.zeros(100, np.int64), kind="out-of-bounds")


# --- compaction, run-length encoding, unique


@cuda.jit
def compact_ballot(data, out, count):
    i = cuda.grid(1)
    keep = i < data.size and data[i] % 3 == 0
    mask = cuda.ballot_sync(0xFFFFFFFF, keep)
    lane = cuda.laneid
    base = 0
    if lane == 0:
        base = cuda.atomic.add(count, 0, cuda.popc(mask))
    base = cuda.shfl_sync(0xFFFFFFFF, base, 0)
    if keep:
        out[base + cuda.popc(mask & ((1 << lane) - 1))] = data[i]


@cuda.jit
def compact_after_return(data, out, count):
    i = cuda.grid(1)
    if i >= data.size:
        return  # HERE
    keep = data[i] % 3 == 0
    mask = cuda.ballot_sync(0xFFFFFFFF, keep)  # HERE
    lane = cuda.laneid
    base = 0
    if lane == 0:
        base = cuda.atomic.add(count, 0, cuda.popc(mask))
    base = cuda.shfl_sync(0xFFFFFFFF, base, 0)  # HERE
    if keep:
        out[base + cuda.popc(mask & ((1 << lane) - 1))] = data[i]


@cuda.jit
def run_heads(data, heads):
    i = cuda.grid(1)
    if i < data.size:
        heads[i] = 1 if i == 0 else data[i] != data[i - 1]


@cuda.jit
def run_heads_wraps(data, heads):
    i = cuda.grid(1)
    if i < data.size:
        heads[i] = data[i] != data[i - 1]  # HERE


def compacted(data, out, count):
    assert sorted(out[: count[0]]) == sorted(data[data % 3 == 0])


right(
    compact_ballot, 4, 32, needles, np.zeros(70, np.int64), np.zeros(1, np.int32), checker=compacted
)
wrong(
    compact_after_return,
    3,
    32,
    needles,
    np.zeros(70, np.int64),
    np.zeros(1, np.int32),
    kind="barrier",
    says="mask",
)
right(
    run_heads, 4, 32, hay, np.zeros(100, np.int8), heads=np.concatenate([[1], hay[1:] != hay[:-1]])
)
wrong(run_heads_wraps, 4, 32, hay, np.zeros(100, np.int8), kind="out-of-bounds", says="-1")


# --- top-k in registers of a thread, in a local array


@cuda.jit
def top_k(data, out):
    row = cuda.grid(1)
    K = 4
    if row < data.shape[0]:
        best = cuda.local.array(4, nb.float64)
        for k in range(K):
            best[k] = -np.inf
        for j in range(data.shape[1]):
            v = data[row, j]
            p = K - 1
            if v > best[p]:
                while p > 0 and best[p - 1] < v:
                    best[p] = best[p - 1]
                    p -= 1
                best[p] = v
        for k in range(K):
            out[row, k] = best[k]


@cuda.jit
def top_k_one_past(data, out):
    row = cuda.grid(1)
    if row < data.shape[0]:
        best = cuda.local.array(4, nb.float64)
        for k in range(4):
            best[k] = -1e30
        for j in range(data.shape[1]):
            v = data[row, j]
            for p in range(4):
                if v > best[p]:
                    for q in range(4, p, -1):
                        best[q] = best[q - 1]  # HERE
                    best[p] = v
                    break
        for k in range(4):
            out[row, k] = best[k]


@cuda.jit
def local_never_filled(data, out):
    row = cuda.grid(1)
    if row < data.shape[0]:
        best = cuda.local.array(2, nb.float64)
        for j in range(data.shape[1]):
            if data[row, j] > best[0]:  # HERE
                best[0] = data[row, j]
        out[row, 0] = best[0]


table = random.random((37, 20))
right(top_k, 2, 32, table, np.zeros((37, 4)), out=-np.sort(-table, 1)[:, :4])
wrong(top_k_one_past, 2, 32, table, np.zeros((37, 4)), kind="out-of-bounds", says="best[4]")
wrong(local_never_filled, 2, 32, table, np.zeros((37, 4)), kind="uninitialised")
