"""Sorts, scans, reductions, compaction."""

import math

import numba as nb
import numpy as np
from numba import cuda, float32, int32

from tests.lab.strangers.case import right, wrong

random = np.random.default_rng(7)


# --- bitonic sort of one block


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
wrong(bitonic_barrier_once_per_k, 1, 128, numbers, kind="race", says="syncthreads")


# --- one step of a sort over many blocks, and odd-even transposition


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
wrong(odd_even_return_before_barrier, 1, 24, shuffled, kind="barrier")


# --- scans


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


values = random.integers(0, 9, 256).astype(np.float32)


right(
    warp_scan,
    2,
    64,
    values[:128],
    np.zeros(128, np.float32),
    out=values[:128].reshape(4, 32).cumsum(1).ravel(),
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


many = random.random(1000).astype(np.float32)


right(reduce_last_warp, 4, 128, many, np.zeros(1, np.float32), out=[many.sum(dtype=float)])
wrong(reduce_warp_synchronous, 1, 64, many, np.zeros(1, np.float32), kind="race", says="syncwarp")
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


needles = random.integers(-5, 505, 70)


# --- compaction


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


# --- a local array


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
wrong(local_never_filled, 2, 32, table, np.zeros((37, 4)), kind="uninitialised")
