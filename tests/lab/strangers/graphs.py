"""Sequences, games, finance, learning."""

import math

import numpy as np
from numba import cuda, float64, int32

from tests.lab.strangers.case import right, wrong

random = np.random.default_rng(3)

# --- sequences

MAXLEN = 32


@cuda.jit
def smith_waterman_reads_too_early(a, b, scores):
    prev = cuda.shared.array(MAXLEN, int32)
    t = cuda.threadIdx.x
    n, m = len(a), len(b)
    prev[t] = 0  # HERE
    for diag in range(n + m - 1):
        j = diag - t
        h = 0
        if t < n and 0 <= j < m:
            up = prev[t - 1] if t > 0 else 0  # HERE
            h = max(0, up - 1, (2 if a[t] == b[j] else -1))
            scores[t, j] = h
        cuda.syncthreads()
        prev[t] = h  # HERE


dna, other = random.integers(0, 4, 25).astype(np.uint8), random.integers(0, 4, 20).astype(np.uint8)
wrong(
    smith_waterman_reads_too_early,
    1,
    32,
    dna,
    other,
    np.zeros((25, 20), np.int32),
    kind="race",
    says="syncthreads",
)


# --- games


@cuda.jit
def life_edge(board, new):
    x, y = cuda.grid(2)
    n, m = board.shape
    if x < n and y < m:
        alive = 0
        for i in range(-1, 2):
            for j in range(-1, 2):
                alive += board[x + i, (y + j) % m]  # HERE
        new[x, y] = alive == 3


board = random.integers(0, 2, (18, 15)).astype(np.int8)
wrong(life_edge, (3, 2), (8, 8), board, np.zeros_like(board), kind="out-of-bounds", says="axis 0")


# --- finance


@cuda.jit(device=True, inline=True)
def cnd(d):
    return 0.5 * math.erfc(-d / math.sqrt(2.0))


@cuda.jit
def black_scholes(call, put, S, X, T, R, V):
    for i in range(cuda.grid(1), S.shape[0], cuda.gridsize(1)):
        sqrtT = math.sqrt(T[i])
        d1 = (math.log(S[i] / X[i]) + (R + 0.5 * V * V) * T[i]) / (V * sqrtT)
        d2 = d1 - V * sqrtT
        expRT = math.exp(-1.0 * R * T[i])
        call[i] = S[i] * cnd(d1) - X[i] * expRT * cnd(d2)
        put[i] = X[i] * expRT * (1.0 - cnd(d2)) - S[i] * (1.0 - cnd(d1))


@cuda.jit
def binomial_option(S0, strike, up, prob, disc, out):
    tree = cuda.shared.array(65, float64)
    t = cuda.threadIdx.x
    for k in range(t, 65, cuda.blockDim.x):
        tree[k] = max(S0[cuda.blockIdx.x] * up ** (2 * k - 64) - strike, 0.0)
    cuda.syncthreads()
    for level in range(64, 0, -1):
        v = 0.0
        if t < level:
            v = disc * (prob * tree[t + 1] + (1 - prob) * tree[t])
        cuda.syncthreads()
        if t < level:
            tree[t] = v
        cuda.syncthreads()
    if t == 0:
        out[cuda.blockIdx.x] = tree[0]


@cuda.jit
def binomial_option_in_one_line(S0, strike, up, prob, disc, out):
    tree = cuda.shared.array(65, float64)
    t = cuda.threadIdx.x
    for k in range(t, 65, cuda.blockDim.x):
        tree[k] = max(S0[cuda.blockIdx.x] * up ** (2 * k - 64) - strike, 0.0)
    cuda.syncthreads()
    for level in range(64, 0, -1):
        if t < level:
            tree[t] = disc * (prob * tree[t + 1] + (1 - prob) * tree[t])  # HERE
        cuda.syncthreads()
    if t == 0:
        out[cuda.blockIdx.x] = tree[0]


@cuda.jit
def rolling_mean(prices, window, out):
    t, asset = cuda.grid(2)
    if t < prices.shape[0] and asset < prices.shape[1]:
        if t < window - 1:
            out[t, asset] = math.nan
        else:
            out[t, asset] = prices[t - window + 1 : t + 1, asset].mean()


S, X, T = random.uniform(5, 30, 100), random.uniform(1, 100, 100), random.uniform(0.25, 10, 100)
d1 = (np.log(S / X) + (0.02 + 0.5 * 0.3**2) * T) / (0.3 * np.sqrt(T))
normal = np.vectorize(lambda d: 0.5 * math.erfc(-d / math.sqrt(2)))
call = S * normal(d1) - X * np.exp(-0.02 * T) * normal(d1 - 0.3 * np.sqrt(T))
put = call - S + X * np.exp(-0.02 * T)
spot = np.array([90.0, 100.0, 110.0])


def tree_reference():
    k = np.arange(65)
    v = np.maximum(spot[:, None] * 1.02 ** (2 * k - 64) - 100, 0)
    for _ in range(64):
        v = 0.999 * (0.52 * v[:, 1:] + 0.48 * v[:, :-1])
    return v[:, 0]


prices = random.random((40, 5))
means = np.full((40, 5), np.nan)
for t in range(6, 40):
    means[t] = prices[t - 6 : t + 1].mean(0)
right(black_scholes, 2, 32, np.zeros(100), np.zeros(100), S, X, T, 0.02, 0.3, call=call, put=put)
options = 3, 65, spot, 100.0, 1.02, 0.52, 0.999, np.zeros(3)
right(binomial_option, *options, out=tree_reference())
wrong(binomial_option_in_one_line, *options, kind="race", says="syncthreads", never="into the loop")
right(rolling_mean, (5, 1), (8, 8), prices, 7, np.zeros((40, 5)), out=means)


# --- machine learning


@cuda.jit
def kmeans_assign(points, centres, labels, sums, counts):
    i = cuda.grid(1)
    if i < points.shape[0]:
        best = math.inf
        for c in range(centres.shape[0]):
            d = 0.0
            for f in range(points.shape[1]):
                d += (points[i, f] - centres[c, f]) ** 2
            if d < best:
                best = d
                labels[i] = c
        for f in range(points.shape[1]):
            cuda.atomic.add(sums, (labels[i], f), points[i, f])
        cuda.atomic.add(counts, labels[i], 1)


@cuda.jit
def kmeans_assign_and_divide(points, labels, sums, counts, centres):
    i = cuda.grid(1)
    if i < points.shape[0]:
        cuda.atomic.add(counts, labels[i], 1)  # HERE
        cuda.atomic.add(sums, labels[i], points[i])  # HERE
    cuda.syncthreads()
    if i < centres.size:
        centres[i] = sums[i] / counts[i]  # HERE


clouds, means3 = random.random((90, 2)), random.random((3, 2))
near = ((clouds[:, None] - means3) ** 2).sum(-1).argmin(1)
right(
    kmeans_assign,
    3,
    32,
    clouds,
    means3,
    np.zeros(90, np.int32),
    np.zeros((3, 2)),
    np.zeros(3, np.int32),
    labels=near,
    counts=np.bincount(near, minlength=3),
    sums=[clouds[near == c].sum(0) for c in range(3)],
)
wrong(
    kmeans_assign_and_divide,
    3,
    32,
    clouds[:, 0].copy(),
    near,
    np.zeros(3),
    np.zeros(3, np.int32),
    np.zeros(3),
    kind="race",
    never="syncthreads() between",
)
