"""Graphs, sparse matrices, sequences, games, finance."""

import math

import numba as nb
import numpy as np
from numba import cuda, float32, float64, int8, int32, int64, uint32

from tests.lab.strangers.case import right, wrong

random = np.random.default_rng(3)

# --- sparse matrices

dense = random.random((45, 33)) * (random.random((45, 33)) < 0.2)
rows, columns = np.nonzero(dense)
vals = dense[rows, columns]
indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=45))]).astype(np.int32)
indices = columns.astype(np.int32)
x = random.random(33)


@cuda.jit
def spmv_csr(data, indices, indptr, x, y):
    row = cuda.grid(1)
    if row < indptr.shape[0] - 1:
        dot = 0.0
        for jj in range(indptr[row], indptr[row + 1]):
            dot += data[jj] * x[indices[jj]]
        y[row] = dot


@cuda.jit
def spmv_csr_last_row(data, indices, indptr, x, y):
    row = cuda.grid(1)
    if row < indptr.shape[0]:
        dot = 0.0
        for jj in range(indptr[row], indptr[row + 1]):  # HERE
            dot += data[jj] * x[indices[jj]]
        y[row] = dot  # HERE


@cuda.jit
def spmv_csr_warp(data, indices, indptr, x, y):
    warp = cuda.grid(1) // 32
    lane = cuda.threadIdx.x % 32
    if warp >= y.size:
        return
    v = 0.0
    for jj in range(indptr[warp] + lane, indptr[warp + 1], 32):
        v += data[jj] * x[indices[jj]]
    offset = 16
    while offset > 0:
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, offset)
        offset >>= 1
    if lane == 0:
        y[warp] = v


@cuda.jit
def spmv_coo(row, col, data, x, y):
    i = cuda.grid(1)
    if i < data.size:
        cuda.atomic.add(y, row[i], data[i] * x[col[i]])


@cuda.jit
def spmv_coo_plain(row, col, data, x, y):
    i = cuda.grid(1)
    if i < data.size:
        y[row[i]] += data[i] * x[col[i]]  # HERE


@cuda.jit
def spmm_block_per_row(data, indices, indptr, b, c):
    row = cuda.blockIdx.x
    for k in range(cuda.threadIdx.x, b.shape[1], cuda.blockDim.x):
        total = 0.0
        for jj in range(indptr[row], indptr[row + 1]):
            total += data[jj] * b[indices[jj], k]
        c[row, k] = total


rhs = random.random((33, 10))
right(spmv_csr, 2, 32, vals, indices, indptr, x, np.zeros(45), y=dense @ x)
wrong(
    spmv_csr_last_row,
    2,
    32,
    vals,
    indices,
    indptr,
    x,
    np.zeros(45),
    kind="out-of-bounds",
    says="46",
)
right(spmv_csr_warp, 12, 128, vals, indices, indptr, x, np.zeros(45), y=dense @ x)
right(spmv_coo, 12, 32, rows, columns, vals, x, np.zeros(45), y=dense @ x)
wrong(
    spmv_coo_plain,
    12,
    32,
    rows,
    columns,
    vals,
    x,
    np.zeros(45),
    kind="race",
    says="atomic.add",
    never="syncthreads",
)
right(spmm_block_per_row, 45, 8, vals, indices, indptr, rhs, np.zeros((45, 10)), c=dense @ rhs)


# --- breadth first, shortest paths, page rank, triangles

nodes = 50
edges = sorted({(int(a), int(b)) for a, b in random.integers(0, nodes, (140, 2)) if a != b})
starts = np.searchsorted([a for a, _ in edges], np.arange(nodes + 1)).astype(np.int32)
ends = np.array([b for _, b in edges], np.int32)
weights = random.integers(1, 20, len(edges)).astype(np.int32)


@cuda.jit
def bfs_level(start, end, level, depth, frontier, size, following, following_size):
    i = cuda.grid(1)
    if i < size:
        u = frontier[i]
        for e in range(start[u], start[u + 1]):
            v = end[e]
            if cuda.atomic.cas(level, v, -1, depth) == -1:
                following[cuda.atomic.add(following_size, 0, 1)] = v


@cuda.jit
def bfs_look_then_take(start, end, level, depth, frontier, size, following, following_size):
    i = cuda.grid(1)
    if i < size:
        u = frontier[i]
        for e in range(start[u], start[u + 1]):
            v = end[e]
            if level[v] == -1:  # HERE
                level[v] = depth + u  # HERE
                following[cuda.atomic.add(following_size, 0, 1)] = v


@cuda.jit
def bellman_ford(source, target, weight, dist, changed):
    e = cuda.grid(1)
    if e < weight.size:
        d = cuda.atomic.add(dist, source[e], 0) + weight[e]
        if d < cuda.atomic.min(dist, target[e], d):
            cuda.atomic.exch(changed, 0, 1)


@cuda.jit
def bellman_ford_plain(source, target, weight, dist, changed):
    e = cuda.grid(1)
    if e < weight.size:
        d = dist[source[e]] + weight[e]  # HERE
        if d < dist[target[e]]:  # HERE
            dist[target[e]] = d  # HERE
            changed[0] = 1


@cuda.jit
def page_rank(start, end, degree, rank, out, d):
    v = cuda.grid(1)
    if v >= out.size:
        return
    acc = 0.0
    for e in range(start[v], start[v + 1]):
        u = end[e]
        acc += rank[u] / degree[u]
    out[v] = (1 - d) / out.size + d * acc


@cuda.jit
def floyd_warshall_step(d, k):
    i, j = cuda.grid(2)
    if i < d.shape[0] and j < d.shape[1] and i != k and j != k:
        d[i, j] = min(d[i, j], d[i, k] + d[k, j])


@cuda.jit
def floyd_warshall_whole(d):
    i, j = cuda.grid(2)
    n = d.shape[0]
    for k in range(n):
        if i < n and j < n:
            through = d[i, k] + d[k, j]  # HERE
            if through < d[i, j]:  # HERE
                d[i, j] = through  # HERE
        cuda.syncthreads()


frontier = np.array([0, 1, 2, 3, 4, 5, 6, 7], np.int32)
level = np.full(nodes, -1, np.int32)
level[:8] = 0


def levels_are_right(start, end, level, depth, frontier, size, following, following_size):
    wanted = {int(v) for u in frontier for v in end[start[u] : start[u + 1]]} - set(range(8))
    assert set(following[: following_size[0]].tolist()) == wanted
    assert set(np.flatnonzero(level == 1).tolist()) == wanted
    assert following_size[0] == len(wanted)


far = np.full(nodes, 10**6, np.int32)
far[0] = 0
tails = np.repeat(np.arange(nodes), np.diff(starts)).astype(np.int32)


def not_too_near(source, target, weight, dist, changed):
    assert changed[0] == 1 and dist[0] == 0
    for v in ends[starts[0] : starts[1]]:
        assert dist[v] <= weights[starts[0] : starts[1]].max()


degree = np.maximum(np.bincount(ends, minlength=nodes), 1)
rank = random.random(nodes)
pulled = np.array(
    [sum(rank[u] / degree[u] for u in ends[starts[v] : starts[v + 1]]) for v in range(nodes)]
)
distances = random.random((20, 20))
through = np.minimum(distances, distances[:, 7:8] + distances[7:8])
through[7], through[:, 7] = distances[7], distances[:, 7]
bfs = starts, ends, level, 1, frontier, 8, np.zeros(nodes, np.int32), np.zeros(1, np.int32)
right(bfs_level, 1, 32, *bfs, checker=levels_are_right)
wrong(bfs_look_then_take, 1, 32, *bfs, kind="race", says="cas")
right(bellman_ford, 5, 32, tails, ends, weights, far, np.zeros(1, np.int32), checker=not_too_near)
wrong(
    bellman_ford_plain,
    5,
    32,
    tails,
    ends,
    weights,
    np.arange(nodes, 0, -1).astype(np.int32),
    np.zeros(1, np.int32),
    kind="race",
    says="atomic.min",
)
right(
    page_rank,
    2,
    32,
    starts,
    ends,
    degree,
    rank,
    np.zeros(nodes),
    0.85,
    out=0.15 / nodes + 0.85 * pulled,
)
right(floyd_warshall_step, (3, 3), (8, 8), distances, 7, d=through)
wrong(floyd_warshall_whole, (3, 3), (8, 8), distances, kind="race", never="syncthreads() between")


# --- sequences

MAXLEN = 32


@cuda.jit
def smith_waterman(a, b, scores, match, mismatch, gap):
    """One block; one thread per row of an anti-diagonal."""
    prev2 = cuda.shared.array(MAXLEN, int32)
    prev = cuda.shared.array(MAXLEN, int32)
    cur = cuda.shared.array(MAXLEN, int32)
    t = cuda.threadIdx.x
    n, m = len(a), len(b)
    prev2[t] = 0
    prev[t] = 0
    cuda.syncthreads()
    for diag in range(n + m - 1):
        j = diag - t
        h = 0
        if t < n and 0 <= j < m:
            d = prev2[t - 1] if t > 0 else 0
            up = prev[t - 1] if t > 0 else 0
            left = prev[t]
            if j == 0:
                left = 0
                d = 0
            h = max(0, d + (match if a[t] == b[j] else mismatch), up + gap, left + gap)
            scores[t, j] = h
        cur[t] = h
        cuda.syncthreads()
        prev2[t] = prev[t]
        prev[t] = cur[t]
        cuda.syncthreads()


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


@cuda.jit
def kmer_count(sequence, k, counts):
    i = cuda.grid(1)
    if i + k <= sequence.size:
        code = 0
        for p in range(k):
            code = code * 4 + sequence[i + p]
        cuda.atomic.add(counts, code, 1)


@cuda.jit
def kmer_count_runs_over(sequence, k, counts):
    i = cuda.grid(1)
    if i < sequence.size:
        code = 0
        for p in range(k):
            code = code * 4 + sequence[i + p]  # HERE
        cuda.atomic.add(counts, code, 1)


@cuda.jit
def levenshtein(words, lengths, target, out):
    i = cuda.grid(1)
    if i < words.shape[0]:
        row = cuda.local.array(17, int32)
        n = target.size
        for j in range(n + 1):
            row[j] = j
        for k in range(lengths[i]):
            corner = row[0]
            row[0] = k + 1
            for j in range(1, n + 1):
                old = row[j]
                row[j] = min(old + 1, row[j - 1] + 1, corner + (words[i, k] != target[j - 1]))
                corner = old
        out[i] = row[n]


def smith_reference(a, b):
    h = np.zeros((len(a) + 1, len(b) + 1), int)
    for i in range(len(a)):
        for j in range(len(b)):
            h[i + 1, j + 1] = max(
                0,
                h[i, j] + (2 if a[i] == b[j] else -1) if j and i else (2 if a[i] == b[j] else -1),
                h[i, j + 1] - 1,
                h[i + 1, j] - 1 if j else -1,
            )
    return h[1:, 1:]


def edit_distance(a, b):
    row = list(range(len(b) + 1))
    for i, ca in enumerate(a):
        corner, row[0] = row[0], i + 1
        for j, cb in enumerate(b):
            corner, row[j + 1] = row[j + 1], min(row[j + 1] + 1, row[j] + 1, corner + (ca != cb))
    return row[-1]


dna, other = random.integers(0, 4, 25).astype(np.uint8), random.integers(0, 4, 20).astype(np.uint8)
codes = [int("".join(map(str, dna[i : i + 3])), 4) for i in range(23)]
words = random.integers(97, 100, (30, 12)).astype(np.uint8)
lengths = random.integers(0, 13, 30)
right(
    smith_waterman,
    1,
    32,
    dna,
    other,
    np.zeros((25, 20), np.int32),
    2,
    -1,
    -1,
    scores=smith_reference(dna, other),
)
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
right(kmer_count, 1, 32, dna, 3, np.zeros(64, np.int32), counts=np.bincount(codes, minlength=64))
wrong(kmer_count_runs_over, 1, 32, dna, 3, np.zeros(64, np.int32), kind="out-of-bounds", says="25")
right(
    levenshtein,
    1,
    32,
    words,
    lengths,
    words[3, :9].copy(),
    np.zeros(30, np.int32),
    out=[edit_distance(w[:n], words[3, :9]) for w, n in zip(words, lengths)],
)


# --- games, automata, dynamic programming


@cuda.jit
def life(board, new):
    x, y = cuda.grid(2)
    n, m = board.shape
    if x < n and y < m:
        alive = 0
        for i in (-1, 0, 1):
            for j in (-1, 0, 1):
                if i or j:
                    alive += board[(x + i) % n, (y + j) % m]
        new[x, y] = alive == 3 or (alive == 2 and board[x, y])


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


@cuda.jit
def knapsack(weights, worth, best):
    c = cuda.threadIdx.x
    for item in range(weights.size):
        take = best[c]
        if c >= weights[item]:
            take = max(take, best[c - weights[item]] + worth[item])
        cuda.syncthreads()
        best[c] = take
        cuda.syncthreads()


@cuda.jit
def knapsack_without_barriers(weights, worth, best):
    c = cuda.threadIdx.x
    for item in range(weights.size):
        if c >= weights[item]:
            best[c] = max(best[c], best[c - weights[item]] + worth[item])  # HERE
        cuda.syncthreads()


@cuda.jit
def rule_110(cells, rounds):
    s = cuda.shared.array(66, int8)
    t = cuda.threadIdx.x
    s[t + 1] = cells[t]
    if t == 0:
        s[0] = s[65] = 0
    cuda.syncthreads()
    for _ in range(rounds):
        pattern = s[t] * 4 + s[t + 1] * 2 + s[t + 2]
        cuda.syncthreads()
        s[t + 1] = (110 >> pattern) & 1
        cuda.syncthreads()
    cells[t] = s[t + 1]


board = random.integers(0, 2, (18, 15)).astype(np.int8)
around = sum(np.roll(board, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) - board
item_weights, worth = random.integers(1, 12, 10), random.integers(1, 30, 10)
sack = [0] * 60
for w, v in zip(item_weights, worth):
    sack = [max(sack[c], sack[c - w] + v if c >= w else 0) for c in range(60)]
cells = random.integers(0, 2, 64).astype(np.int8)
after = cells.astype(int)
for _ in range(9):
    p = np.pad(after, 1)
    after = 110 >> (p[:-2] * 4 + p[1:-1] * 2 + p[2:]) & 1
right(
    life,
    (3, 2),
    (8, 8),
    board,
    np.zeros_like(board),
    new=(around == 3) | ((around == 2) & (board == 1)),
)
wrong(life_edge, (3, 2), (8, 8), board, np.zeros_like(board), kind="out-of-bounds", says="axis 0")
right(knapsack, 1, 60, item_weights, worth, np.zeros(60, np.int64), best=sack)
wrong(
    knapsack_without_barriers,
    1,
    60,
    item_weights,
    worth,
    np.zeros(60, np.int64),
    kind="race",
    says="syncthreads",
)
right(rule_110, 1, 64, cells, 9, cells=after)


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


@cuda.jit
def portfolio_paths(S0, mu, chol, normals, out):
    p = cuda.grid(1)
    paths, steps, assets = normals.shape
    if p >= paths:
        return
    s = cuda.local.array(4, float64)
    for a in range(assets):
        s[a] = S0[a]
    for t in range(steps):
        for a in range(assets - 1, -1, -1):
            z = 0.0
            for b in range(a + 1):
                z += chol[a, b] * normals[p, t, b]
            s[a] *= math.exp(mu[a] + z)
    total = 0.0
    for a in range(assets):
        total += s[a]
    out[p] = total


@cuda.jit
def portfolio_local_too_small(S0, out):
    p = cuda.grid(1)
    if p < out.size:
        s = cuda.local.array(3, float64)
        for a in range(S0.size):
            s[a] = S0[a] * p  # HERE
        out[p] = s[0]


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
S4, mu = random.random(4) + 1, random.random(4) * 0.01
cholesky = np.tril(random.random((4, 4))) * 0.1
normals = random.standard_normal((50, 8, 4))
final = (S4 * np.exp((mu + normals @ cholesky.T).sum(1))).sum(1)
right(black_scholes, 2, 32, np.zeros(100), np.zeros(100), S, X, T, 0.02, 0.3, call=call, put=put)
right(binomial_option, 3, 65, spot, 100.0, 1.02, 0.52, 0.999, np.zeros(3), out=tree_reference())
wrong(
    binomial_option_in_one_line,
    3,
    65,
    spot,
    100.0,
    1.02,
    0.52,
    0.999,
    np.zeros(3),
    kind="race",
    says="syncthreads",
    never="into the loop",
)
right(rolling_mean, (5, 1), (8, 8), prices, 7, np.zeros((40, 5)), out=means)
right(portfolio_paths, 2, 32, S4, mu, cholesky, normals, np.zeros(50), out=final)
wrong(portfolio_local_too_small, 2, 32, S4, np.zeros(50), kind="out-of-bounds", says="s[3]")


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


@cuda.jit
def softmax_rows(x, out):
    s = cuda.shared.array(0, float32)
    row = cuda.blockIdx.x
    t = cuda.threadIdx.x
    n = x.shape[1]
    m = float32(-3e38)
    for j in range(t, n, cuda.blockDim.x):
        m = max(m, x[row, j])
    s[t] = m
    cuda.syncthreads()
    stride = cuda.blockDim.x // 2
    while stride:
        if t < stride:
            s[t] = max(s[t], s[t + stride])
        cuda.syncthreads()
        stride //= 2
    m = s[0]
    cuda.syncthreads()
    total = float32(0)
    for j in range(t, n, cuda.blockDim.x):
        total += math.exp(x[row, j] - m)
    s[t] = total
    cuda.syncthreads()
    stride = cuda.blockDim.x // 2
    while stride:
        if t < stride:
            s[t] += s[t + stride]
        cuda.syncthreads()
        stride //= 2
    for j in range(t, n, cuda.blockDim.x):
        out[row, j] = math.exp(x[row, j] - m) / s[0]


@cuda.jit
def softmax_reuses_too_early(x, out):
    s = cuda.shared.array(32, float32)
    row = cuda.blockIdx.x
    t = cuda.threadIdx.x
    s[t] = x[row, t]
    cuda.syncthreads()
    m = float32(-3e38)
    for j in range(32):
        m = max(m, s[j])  # HERE
    s[t] = math.exp(x[row, t] - m)  # HERE
    cuda.syncthreads()
    total = float32(0)
    for j in range(32):
        total += s[j]
    out[row, t] = s[t] / total


clouds, means3 = random.random((90, 2)), random.random((3, 2))
near = ((clouds[:, None] - means3) ** 2).sum(-1).argmin(1)
logits = random.standard_normal((5, 50)).astype(np.float32)
probabilities = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
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
right(softmax_rows, 5, 32, logits, np.zeros_like(logits), shared_bytes=128, out=probabilities)
wrong(
    softmax_reuses_too_early,
    5,
    32,
    logits[:, :32].copy(),
    np.zeros((5, 32), np.float32),
    kind="race",
    says="syncthreads",
)
