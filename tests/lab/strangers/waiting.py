"""Locks, queues, flags, fences, grids that wait, warps that work together."""

import numpy as np
from numba import cuda, float32, float64, int32, int64

from tests.lab.strangers.case import right, wrong

random = np.random.default_rng(11)


@cuda.jit(device=True)
def lock(mutex):
    while cuda.atomic.compare_and_swap(mutex, 0, 1) != 0:
        pass
    cuda.threadfence()


@cuda.jit(device=True)
def unlock(mutex):
    cuda.threadfence()
    cuda.atomic.exch(mutex, 0, 0)


@cuda.jit
def pareto_front(points, mutex, best):
    """One thread per block takes the lock."""
    s = cuda.shared.array(1, float64)
    i = cuda.grid(1)
    if cuda.threadIdx.x == 0:
        s[0] = -1.0
    cuda.syncthreads()
    if i < points.size:
        cuda.atomic.max(s, 0, points[i])
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        lock(mutex)
        if s[0] > best[0]:
            best[0] = s[0]
            best[1] = cuda.blockIdx.x
        unlock(mutex)


@cuda.jit
def lock_let_go_plainly(value, mutex, best):
    if cuda.threadIdx.x == 0:
        while cuda.atomic.cas(mutex, 0, 0, 1) != 0:  # HERE
            pass
        cuda.threadfence()
        best[0] += value[cuda.blockIdx.x]  # HERE
        cuda.threadfence()
        mutex[0] = 0  # HERE


points = random.random(100)
right(
    pareto_front,
    4,
    32,
    points,
    np.zeros(1, np.int32),
    np.zeros(2),
    best=[points.max(), points.argmax() // 32],
)
locked = points, np.zeros(1, np.int32), np.zeros(1)
wrong(lock_let_go_plainly, 4, 32, *locked, kind="race", says="atomic", never="syncthreads")


@cuda.jit
def lock_without_atomics(value, mutex, total):
    if cuda.threadIdx.x == 0:
        while mutex[0] == 1:  # HERE
            pass
        mutex[0] = 1  # HERE
        total[0] += value[cuda.blockIdx.x]  # HERE
        mutex[0] = 0  # HERE


@cuda.jit
def lock_taken_under_if(value, mutex, total):
    i = cuda.grid(1)
    if mutex[0] == 0:  # HERE
        mutex[0] = 1  # HERE
        total[0] += value[i]  # HERE
        mutex[0] = 0  # HERE


@cuda.jit
def second_phase_too_early(x, tmp, out):
    i = cuda.grid(1)
    if i < x.size:
        tmp[i] = x[i] * 2  # HERE
    cuda.syncthreads()
    if i < x.size:
        out[i] = tmp[x.size - 1 - i]  # HERE


@cuda.jit
def step_of_one_block(x, out):
    for k in range(cuda.grid(1), x.size, cuda.blockDim.x):
        out[k] = out[k] + x[k]  # HERE


wrong(
    lock_without_atomics, 3, 32, *locked, kind="race", says="while cuda.atomic.cas(mutex, 0, 0, 1)"
)
wrong(
    lock_taken_under_if,
    3,
    32,
    *locked,
    kind="race",
    says=("cuda.atomic.cas(mutex, 0, 0, 1)", "cuda.atomic.exch(mutex, 0, 0)"),
)
wrong(
    second_phase_too_early,
    4,
    32,
    points,
    np.zeros(100),
    np.zeros(100),
    kind="race",
    says="second one",
    never=("syncthreads() between", "change places"),
)
wrong(
    step_of_one_block,
    4,
    32,
    points,
    np.zeros(100),
    kind="race",
    says=("gridsize", "goes on by the threads of one block"),
)


# --- decoupled look-back: each block waits for the one before


@cuda.jit
def look_back_plain_flag(data, flags, sums):
    b = cuda.blockIdx.x
    if cuda.threadIdx.x == 0:
        before = 0
        if b > 0:
            while flags[b - 1] == 0:  # HERE
                pass
            cuda.threadfence()
            before = sums[b - 1]  # HERE
        sums[b] = before + data[b]  # HERE
        cuda.threadfence()
        flags[b] = 1  # HERE


amounts = random.integers(0, 50, 150)
wrong(
    look_back_plain_flag,
    5,
    32,
    amounts,
    np.zeros(5, np.int32),
    np.zeros(5, np.int64),
    kind="race",
    says="cuda.atomic.exch(flags, b, 1)",
    never="syncthreads",
)


# --- persistent threads that take work from a queue


@cuda.jit
def queue_plain_head(numbers, head, steps):
    while head[0] < numbers.size:  # HERE
        w = head[0]  # HERE
        head[0] += 1  # HERE
        if w < numbers.size:
            steps[w] = numbers[w]  # HERE


wrong(
    queue_plain_head,
    2,
    32,
    np.arange(150),
    np.zeros(1, np.int64),
    np.zeros(150, np.int64),
    kind="race",
    says="atomic",
    never="syncthreads",
)


# --- a ring buffer between two warps of a block


@cuda.jit
def ring_buffer(data, out):
    ring = cuda.shared.array(4, int64)
    full = cuda.shared.array(4, int32)
    t = cuda.threadIdx.x
    if t < 4:
        full[t] = 0
    cuda.syncthreads()
    n = data.size
    if t == 0:
        for k in range(n):
            slot = k % 4
            while cuda.atomic.add(full, slot, 0) != 0:
                pass
            ring[slot] = data[k] * 10
            cuda.threadfence_block()
            cuda.atomic.exch(full, slot, 1)
    elif t == 32:
        for k in range(n):
            slot = k % 4
            while cuda.atomic.add(full, slot, 0) != 1:
                pass
            cuda.threadfence_block()
            out[k] = ring[slot]
            cuda.threadfence_block()
            cuda.atomic.exch(full, slot, 0)


@cuda.jit
def ring_buffer_no_fence(data, out):
    ring = cuda.shared.array(4, int64)
    full = cuda.shared.array(4, int32)
    t = cuda.threadIdx.x
    if t < 4:
        full[t] = 0
    cuda.syncthreads()
    if t == 0:
        for k in range(data.size):
            while cuda.atomic.add(full, k % 4, 0) != 0:
                pass
            ring[k % 4] = data[k] * 10  # HERE
            cuda.atomic.exch(full, k % 4, 1)
    elif t == 32:
        for k in range(data.size):
            while cuda.atomic.add(full, k % 4, 0) != 1:
                pass
            out[k] = ring[k % 4]  # HERE
            cuda.atomic.exch(full, k % 4, 0)


items = random.integers(0, 99, 21)
right(ring_buffer, 1, 64, items, np.zeros(21, np.int64), out=items * 10, native=False)
wrong(ring_buffer_no_fence, 1, 64, items, np.zeros(21, np.int64), kind="race", says="threadfence")


# --- barriers over the grid


@cuda.jit
def power_iteration_one_sync(a, x, y, norm, rounds):
    grid = cuda.cg.this_grid()
    i = cuda.grid(1)
    n = a.shape[0]
    for r in range(rounds):
        if i < n:
            acc = 0.0
            for j in range(n):
                acc += a[i, j] * x[j]  # HERE
            y[i] = acc
            cuda.atomic.max(norm, r, abs(acc))
        grid.sync()
        if i < n:
            x[i] = y[i] / norm[r]  # HERE


@cuda.jit
def grid_sync_after_return(x):
    g = cuda.cg.this_grid()
    i = cuda.grid(1)
    if i >= x.size:
        return  # HERE
    x[i] += 1
    g.sync()  # HERE
    x[i] *= 2


symmetric = random.random((40, 40))
symmetric += symmetric.T


wrong(
    power_iteration_one_sync,
    2,
    32,
    symmetric,
    np.ones(40),
    np.zeros(40),
    np.zeros(5),
    5,
    kind="race",
    says="sync",
    never="syncthreads",
)
wrong(grid_sync_after_return, 2, 32, np.ones(40), kind="deadlock")


# --- aggregated within a warp


@cuda.jit
def aggregated_counter(data, counts):
    i = cuda.grid(1)
    if i < data.size:
        key = data[i]
        mask = cuda.activemask()
        peers = cuda.match_any_sync(mask, key)
        leader = cuda.ffs(peers) - 1
        if cuda.laneid == leader:
            cuda.atomic.add(counts, key, cuda.popc(peers))


@cuda.jit
def within_warp_transposed(data, out):
    tile = cuda.shared.array((2, 32, 33), float32)
    w = cuda.threadIdx.y
    lane = cuda.threadIdx.x
    base = (cuda.blockIdx.x * 2 + w) * 32
    for r in range(32):
        tile[w, r, lane] = data[base + r, lane]
    cuda.syncwarp()
    for r in range(32):
        out[base + r, lane] = tile[w, lane, r]


kinds = random.integers(0, 5, 90)
squares = random.random((128, 32)).astype(np.float32)
right(aggregated_counter, 3, 32, kinds, np.zeros(5, np.int32), counts=np.bincount(kinds))
right(
    within_warp_transposed,
    2,
    (32, 2),
    squares,
    np.zeros_like(squares),
    out=squares.reshape(4, 32, 32).transpose(0, 2, 1).reshape(128, 32),
)


# --- barriers that count


@cuda.jit
def any_change(labels, neighbours, rounds):
    """Labels spread along a path until nothing changes."""
    t = cuda.threadIdx.x
    rounds_done = 0
    changed = True
    while changed:
        new = min(labels[t], labels[neighbours[t]])
        mine = new != labels[t]
        changed = cuda.syncthreads_or(1 if mine else 0) != 0
        if mine:
            labels[t] = new
        cuda.syncthreads()
        rounds_done += 1
    if t == 0:
        rounds[0] = rounds_done


@cuda.jit
def any_change_unshared_decision(labels, neighbours):
    t = cuda.threadIdx.x
    changed = True
    while changed:  # HERE
        new = min(labels[t], labels[neighbours[t]])
        cuda.syncthreads()  # HERE
        changed = new != labels[t]
        labels[t] = new
        cuda.syncthreads()  # HERE


@cuda.jit
def barrier_in_both_branches(data, out):
    t = cuda.threadIdx.x
    s = cuda.shared.array(64, float64)
    if t < 32:
        s[t] = data[t]
        cuda.syncthreads()  # HERE
    else:
        s[t] = -data[t]
        cuda.syncthreads()  # HERE
    out[t] = s[63 - t]


path = np.arange(40, 0, -1), np.minimum(np.arange(40) + 1, 39)
right(any_change, 1, 40, *path, np.zeros(1, np.int64), labels=np.ones(40))
wrong(any_change_unshared_decision, 1, 40, *path, kind="barrier")
wrong(barrier_in_both_branches, 1, 64, points[:64], np.zeros(64), kind="barrier")
