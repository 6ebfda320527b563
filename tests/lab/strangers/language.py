"""The ways that people write kernels: types, decorators, closures, generated text, libraries."""

import enum
import linecache
import math
from collections import namedtuple

import numba
import numba.cuda
import numpy as np
from numba import (
    cuda,
    float32,
    float64,
    int32,
    types,
    uint32,
    uint64,
    void,
)
from numba.cuda import libdevice

from lessons.lab import instead_of_gpu
from tests.lab.strangers.case import right, wrong

random = np.random.default_rng(17)

# --- records

PARTICLE = np.dtype(
    [("pos", np.float32, 3), ("vel", np.float32, 3), ("mass", np.float64), ("alive", np.bool_)],
    align=True,
)
TREE = np.dtype([("left", np.int32), ("right", np.int32), ("key", np.int64)])


@cuda.jit
def push_particles(p, dt, n_alive):
    i = cuda.grid(1)
    if i < p.shape[0]:
        if p[i].alive:
            for c in range(3):
                p[i]["pos"][c] += dt * p[i].vel[c]
            if abs(p[i].pos[0]) > 1:
                p[i]["alive"] = False
            else:
                cuda.atomic.add(n_alive, 0, 1)


@cuda.jit
def collide_particles(p):
    i = cuda.grid(1)
    if i < p.size:
        other = p[(i + 1) % p.size]
        mean = (p[i].mass + other.mass) / 2  # HERE
        p[i].mass = mean  # HERE


@cuda.jit
def tree_lookup(tree, keys, out):
    i = cuda.grid(1)
    if i >= keys.size:
        return
    node = 0
    depth = 0
    while node != -1:
        here = tree[node]
        if here.key == keys[i]:
            break
        node = here.left if keys[i] < here.key else here.right
        depth += 1
    out[i] = depth if node != -1 else -1


@cuda.jit
def tree_lookup_past_leaf(tree, keys, out):
    i = cuda.grid(1)
    if i < keys.size:
        node = 0
        while tree[node].key != keys[i]:  # HERE
            node = tree[node].left if keys[i] < tree[node].key else tree[node].right  # HERE
        out[i] = node


particles = np.zeros(40, PARTICLE)
particles["pos"] = random.uniform(-1, 1, (40, 3))
particles["vel"] = random.uniform(-1, 1, (40, 3))
particles["mass"] = random.random(40)
particles["alive"] = random.random(40) < 0.7


def pushed(p, dt, n_alive):
    was = particles["alive"]
    moved = particles["pos"] + np.float32(0.5) * particles["vel"]
    np.testing.assert_allclose(p["pos"], np.where(was[:, None], moved, particles["pos"]), 1e-5)
    alive = was & (np.abs(p["pos"][:, 0]) <= 1)
    assert (p["alive"] == alive).all() and n_alive[0] == alive.sum()


def build(keys):
    """A balanced tree of sorted keys, as an array of nodes; each leaf's children are -1."""
    nodes = []

    def add(lo, hi):
        if lo >= hi:
            return -1
        mid, me = (lo + hi) // 2, len(nodes)
        nodes.append([0, 0, keys[mid]])
        nodes[me][0], nodes[me][1] = add(lo, mid), add(mid + 1, hi)
        return me

    add(0, len(keys))
    return np.array([tuple(node) for node in nodes], TREE)


def depth_of(tree, key):
    node, depth = 0, 0
    while node != -1 and tree[node]["key"] != key:
        node = tree[node]["left"] if key < tree[node]["key"] else tree[node]["right"]
        depth += 1
    return depth if node != -1 else -1


tree = build(np.arange(0, 60, 2))
asked = np.arange(-3, 65)
right(push_particles, 2, 32, particles, np.float32(0.5), np.zeros(1, np.int32), checker=pushed)
wrong(collide_particles, 2, 32, particles, kind="race", never="syncthreads() between")
right(
    tree_lookup,
    3,
    32,
    tree,
    asked,
    np.zeros(68, np.int64),
    out=[depth_of(tree, key) for key in asked],
)
wrong(
    tree_lookup_past_leaf,
    1,
    32,
    tree,
    np.array([0, 2, 64]),
    np.zeros(3, np.int64),
    kind="out-of-bounds",
    says="-1",
    also="deadlock",
)


# --- explicit signatures

with instead_of_gpu():

    @cuda.jit("void(float32[:,::1], int32, uint8[:])", fastmath=True, max_registers=32)
    def row_flags(x, column, out):
        i = cuda.grid(1)
        if i < x.shape[0]:
            out[i] = 1 if x[i, column] > 0.5 else 0

    @cuda.jit([void(float32[:], float32), void(float64[:], float64)], opt=True, lineinfo=True)
    def scale_either(x, factor):
        i = cuda.grid(1)
        if i < len(x):
            x[i] *= factor

    @cuda.jit(types.float64(types.float64, types.int64), device=True)
    def horner(x, degree):
        total = 0.0
        for k in range(degree, -1, -1):
            total = total * x + 1.0 / math.gamma(k + 1.0)
        return total

    @cuda.jit(f"void({'float64[:], ' * 2}int64)")
    def exp_series(x, y, degree):
        i = cuda.grid(1)
        if i < x.size:
            y[i] = horner(x[i], degree)

    @cuda.jit("void(int32[:], int64)")
    def counts_past_end(x, n):
        i = cuda.grid(1)
        if i <= n:
            x[i] = i  # HERE


unit = random.random(50)
right(
    row_flags,
    2,
    32,
    random.random((50, 3)).astype(np.float32),
    1,
    np.zeros(50, np.uint8),
    checker=lambda x, column, out: np.testing.assert_array_equal(out, x[:, 1] > 0.5),
)
right(scale_either, 2, 32, unit, 3, x=3 * unit)
right(exp_series, 2, 32, unit, np.zeros(50), 18, y=np.exp(unit))
wrong(counts_past_end, 2, 32, np.zeros(40, np.int32), 40, kind="out-of-bounds", says="40")


# --- closures, factories, text


def make_reduction(op, start, threads):
    combine = cuda.jit(device=True)(op)

    @cuda.jit
    def reduction(x, out):
        s = cuda.shared.array(threads, numba.float64)
        t = cuda.threadIdx.x
        v = start
        for i in range(t, x.size, threads):
            v = combine(v, x[i])
        s[t] = v
        half = threads // 2
        while half > 0:
            cuda.syncthreads()
            if t < half:
                s[t] = combine(s[t], s[t + half])
            half //= 2
        if t == 0:
            out[0] = s[0]

    return reduction


def make_map(expression):
    text = f"def mapped(x, y):\n    i = cuda.grid(1)\n    if i < x.size:\n        y[i] = {expression}\n"
    names, file = {"cuda": cuda, "math": math}, f"<map of {expression}>"
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    exec(compile(text, file, "exec"), names)
    return cuda.jit(names["mapped"])


def make_polynomial(*coefficients):
    @cuda.jit
    def polynomial(x, y):
        i = cuda.grid(1)
        if i < x.shape[0]:
            total = 0.0
            for c in coefficients:
                total = total * x[i] + c
            y[i] = total

    return polynomial


right(
    make_reduction(lambda a, b: a * b, 1.0, 32),
    1,
    32,
    unit + 0.5,
    np.zeros(1),
    out=[(unit + 0.5).prod()],
)
right(make_map("math.sin(x[i]) ** 2"), 2, 32, unit, np.zeros(50), y=np.sin(unit) ** 2)
wrong(
    make_map("x[i + 1] - x[i]  # HERE"), 2, 32, unit, np.zeros(50), kind="out-of-bounds", says="50"
)
right(make_polynomial(2.0, -1.0, 0.25), 2, 32, unit, np.zeros(50), y=2 * unit**2 - unit + 0.25)


# --- device functions: recursion, tuples, functions as arguments, starred, njit


@cuda.jit("int64(int64, int64)", device=True) if False else cuda.jit(device=True)
def gcd(a, b):
    if b == 0:
        return a
    return gcd(b, a % b)


@cuda.jit
def gcds(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = gcd(a[i], b[i])


@numba.njit
def logistic(x):
    return 1 / (1 + math.exp(-x))


@cuda.jit
def with_njit(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = logistic(x[i])


@cuda.jit(device=True)
def cross(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@cuda.jit
def torques(r, f, total):
    i = cuda.grid(1)
    if i < len(r):
        t = cross(r[i], f[i])
        for c in range(3):
            cuda.atomic.add(total, c, t[c])


@cuda.jit
def torques_fourth(r, f, total):
    i = cuda.grid(1)
    if i < len(r):
        t = cross(r[i], f[i])
        for c in range(4):
            cuda.atomic.add(total, c, t[c])  # HERE


arms, forces = random.random((2, 40, 3))
big, small = random.integers(1, 999, (2, 50))
right(gcds, 2, 32, big, small, np.zeros(50, np.int64), out=np.gcd(big, small))
right(with_njit, 2, 32, unit, np.zeros(50), y=1 / (1 + np.exp(-unit)))
right(torques, 2, 32, arms, forces, np.zeros(3), total=np.cross(arms, forces).sum(0))
wrong(torques_fourth, 2, 32, arms, forces, np.zeros(3), kind="out-of-bounds", says="3")


# --- generators of numbers in integers: wrap-around is meant


@cuda.jit(device=True)
def wang_hash(seed):
    seed = (seed ^ uint32(61)) ^ (seed >> uint32(16))
    seed = uint32(seed * uint32(9))
    seed = seed ^ (seed >> uint32(4))
    seed = uint32(seed * uint32(0x27D4EB2D))
    return seed ^ (seed >> uint32(15))


@cuda.jit
def hashes(out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = wang_hash(np.uint32(i))


@cuda.jit
def linear_congruential(seed, out):
    i = cuda.grid(1)
    if i < out.size:
        state = uint64(seed + i)
        for _ in range(5):
            state = state * uint64(6364136223846793005) + uint64(1442695040888963407)
        out[i] = (state >> uint64(40)) * (1.0 / (1 << 24))


@cuda.jit
def fnv(words, out):
    i = cuda.grid(1)
    if i < words.shape[0]:
        h = int32(-2128831035)
        for k in range(words.shape[1]):
            h = int32((h ^ words[i, k]) * 16777619)
        out[i] = h


@cuda.jit
def flat_index_in_int32(x, width, out):
    row = cuda.blockIdx.x
    k = int32(row * width + cuda.threadIdx.x)  # HERE
    out[cuda.threadIdx.x] = x[k]  # HERE


def wang_reference(n):
    s = np.arange(n, dtype=np.uint64)
    m = np.uint64(0xFFFFFFFF)
    s = (s ^ np.uint64(61)) ^ (s >> np.uint64(16))
    s = s * np.uint64(9) & m
    s ^= s >> np.uint64(4)
    s = s * np.uint64(0x27D4EB2D) & m
    return s ^ (s >> np.uint64(15))


def lcg_reference(seed, n):
    out = []
    for i in range(n):
        state = seed + i
        for _ in range(5):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        out.append((state >> 40) / 2**24)
    return out


def fnv_reference(words):
    out = []
    for word in words.tolist():
        h = -2128831035
        for c in word:
            h = ((h ^ c) * 16777619 + 2**31) % 2**32 - 2**31
        out.append(h)
    return out


word_list = random.integers(97, 123, (30, 6)).astype(np.uint8)
right(hashes, 2, 32, np.zeros(50, np.uint32), out=wang_reference(50))
right(linear_congruential, 2, 32, 12345, np.zeros(50), out=lcg_reference(12345, 50))
right(fnv, 1, 32, word_list, np.zeros(30, np.int32), out=fnv_reference(word_list))
wrong(
    flat_index_in_int32,
    70000,
    32,
    np.broadcast_to(np.float32(1), (70000 * 32768,)),
    32768,
    np.zeros(32, np.float32),
    kind="overflow",
    also="out-of-bounds",
    options={"only_blocks": range(65536, 65537)},
)


# --- libraries of numbers


@cuda.jit
def with_libdevice(x, out):
    i = cuda.grid(1)
    if i < x.size:
        s, c = libdevice.sincosf(x[i])
        out[i] = libdevice.rsqrtf(x[i] + float32(1)) + s * c


@cuda.jit
def with_selp(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = cuda.selp(x[i] < 0.5, x[i] * 2, 2 - 2 * x[i])


@cuda.jit
def half_axpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = cuda.fp16.hfma(a, x[i], y[i])


@cuda.jit
def numpy_inside(x, y, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = np.hypot(np.sin(x[i]), np.maximum(y[i], np.float64(0.25))) + math.copysign(
            1.0, -x[i]
        )


@cuda.jit
def with_bits(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i, 0] = cuda.popc(x[i])
        out[i, 1] = cuda.clz(x[i])
        out[i, 2] = cuda.ffs(x[i])
        out[i, 3] = cuda.brev(x[i])


def bit_reference(x):
    rows = []
    for v in x.tolist():
        text = f"{v:032b}"
        rows.append(
            [text.count("1"), 32 - v.bit_length(), (v & -v).bit_length(), int(text[::-1], 2)]
        )
    return rows


f32 = unit.astype(np.float32)
f16 = unit.astype(np.float16)
bit_values = random.integers(1, 2**32, 40).astype(np.uint32)
right(
    with_libdevice,
    2,
    32,
    f32,
    np.zeros(50, np.float32),
    out=1 / np.sqrt(unit + 1) + np.sin(unit) * np.cos(unit),
)
right(with_selp, 2, 32, unit, np.zeros(50), out=np.where(unit < 0.5, 2 * unit, 2 - 2 * unit))
right(
    half_axpy,
    2,
    32,
    np.float16(1.5),
    f16,
    f16.copy(),
    y=(1.5 * f16.astype(float) + f16).astype(np.float16),
)
right(
    numpy_inside,
    2,
    32,
    unit,
    unit[::-1].copy(),
    np.zeros(50),
    out=np.hypot(np.sin(unit), np.maximum(unit[::-1], 0.25)) - 1,
)
right(with_bits, 2, 32, bit_values, np.zeros((40, 4), np.int64), out=bit_reference(bit_values))


# --- shapes and views


@cuda.jit
def broadcast_shapes(a, b, strides_a, strides_b, shape, out):
    """Any number of dimensions, by strides that are arrays."""
    i = cuda.grid(1)
    if i < out.size:
        rest = i
        index = cuda.local.array(3, int32)
        for d in range(2, -1, -1):
            index[d] = rest % shape[d]
            rest //= shape[d]
        fa = fb = 0
        for d in range(3):
            fa += index[d] * strides_a[d]
            fb += index[d] * strides_b[d]
        out[i] = a[fa] * b[fb]


@cuda.jit
def slices_of_rows(a, b, out):
    i = cuda.grid(1)
    if i < out.shape[0]:
        row = a[i, 1:-1]
        other = b[:, i]
        total = 0.0
        for k in range(len(row)):
            total += row[k] * other[k]
        out[i] = total


@cuda.jit
def tuple_by_thread(out):
    t = cuda.threadIdx.x
    dx, dy = ((0, 1), (1, 0), (0, -1), (-1, 0))[t % 4]
    step = (1, 10, 100, 1000)[t & 3]
    out[t] = dx * step + dy


@cuda.jit
def fortran_order(a, out):
    j, i = cuda.grid(2)
    if i < a.shape[0] and j < a.shape[1]:
        out[j, i] = a[i, j]


cube, vector = random.random(4 * 1 * 5), random.random(3 * 1)
right(
    broadcast_shapes,
    2,
    32,
    cube,
    vector,
    np.array([5, 0, 1]),
    np.array([0, 1, 0]),
    np.array([4, 3, 5]),
    np.zeros(60),
    out=(cube.reshape(4, 1, 5) * vector.reshape(1, 3, 1)).ravel(),
)
wide, tall = random.random((20, 12)), random.random((10, 20))
right(slices_of_rows, 1, 32, wide, tall, np.zeros(20), out=(wide[:, 1:-1] * tall.T).sum(1))
right(tuple_by_thread, 1, 16, np.zeros(16, np.int64), out=[1, 10, -1, -1000] * 4)
right(
    fortran_order,
    (2, 3),
    (16, 16),
    np.asfortranarray(random.random((40, 30))),
    np.zeros((30, 40)),
    checker=lambda a, out: np.testing.assert_array_equal(out, a.T),
)


# --- options, enums, named tuples, none

Params = namedtuple("Params", "alpha beta weights")


class Boundary(enum.IntEnum):
    CLAMP = 0
    WRAP = 1


@cuda.jit
def with_named_tuple(p, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = p.alpha * x[i] + p.beta * p.weights[i % p.weights.size]


@cuda.jit
def with_enum(x, mode, out):
    i = cuda.grid(1)
    n = x.size
    if i < n:
        k = i + 3
        if mode == Boundary.WRAP:
            k %= n
        elif mode == Boundary.CLAMP:
            k = min(k, n - 1)
        out[i] = x[k]


@cuda.jit
def optional_mask(x, mask, out):
    i = cuda.grid(1)
    if i < x.size:
        if mask is None:
            out[i] = x[i]
        else:
            out[i] = x[i] * mask[i]


@cuda.jit
def many_arrays(arrays, out):
    i = cuda.grid(1)
    if i < out.size:
        total = 0.0
        for k in range(len(arrays)):
            total += arrays[k][i]
        out[i] = total


@cuda.jit(debug=True, opt=False)
def debug_assert(x, out):
    i = cuda.grid(1)
    if i < x.size:
        assert x[i] >= 0  # HERE
        out[i] = math.sqrt(x[i])


right(
    with_named_tuple,
    2,
    32,
    Params(2.0, 3.0, unit[:7].copy()),
    unit,
    np.zeros(50),
    y=2 * unit + 3 * unit[np.arange(50) % 7],
)
right(with_enum, 2, 32, unit, Boundary.WRAP, np.zeros(50), out=np.roll(unit, -3))
right(optional_mask, 2, 32, unit, None, np.zeros(50), out=unit)
right(many_arrays, 2, 32, (unit, unit * 2, unit * 3), np.zeros(50), out=6 * unit)
wrong(debug_assert, 2, 32, unit - 0.5, np.zeros(50), kind="raised")


# --- outputs that nobody fills, arrays that hold garbage


@cuda.jit
def tiled_transpose(a, out):
    tile = cuda.shared.array((16, 17), float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    if y < a.shape[0] and x < a.shape[1]:
        tile[ty, tx] = a[y, x]
    cuda.syncthreads()
    x = cuda.blockIdx.y * 16 + tx
    y = cuda.blockIdx.x * 16 + ty
    if x < a.shape[0] and y < a.shape[1]:
        out[y, x] = tile[tx, ty]


sheet = random.random((37, 21)).astype(np.float32)
right(
    tiled_transpose,
    (2, 3),
    (16, 16),
    sheet,
    np.zeros((21, 37), np.float32),
    out=sheet.T,
    options={"expect_written": "out"},
)


# --- tiled products


@cuda.jit
def matmul_numba_docs(A, B, C):
    sA = cuda.shared.array(shape=(8, 8), dtype=float32)
    sB = cuda.shared.array(shape=(8, 8), dtype=float32)
    x, y = cuda.grid(2)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    bpg = cuda.gridDim.x
    tmp = float32(0.0)
    for i in range(bpg):
        sA[ty, tx] = 0
        sB[ty, tx] = 0
        if y < A.shape[0] and (tx + i * 8) < A.shape[1]:
            sA[ty, tx] = A[y, tx + i * 8]
        if x < B.shape[1] and (ty + i * 8) < B.shape[0]:
            sB[ty, tx] = B[ty + i * 8, x]
        cuda.syncthreads()
        for j in range(8):
            tmp += sA[ty, j] * sB[j, tx]
        cuda.syncthreads()
    if y < C.shape[0] and x < C.shape[1]:
        C[y, x] = tmp


@cuda.jit
def matmul_return_early(A, B, C):
    sA = cuda.shared.array(shape=(8, 8), dtype=float32)
    x, y = cuda.grid(2)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    if x >= C.shape[1] and y >= C.shape[0]:
        return  # HERE
    tmp = float32(0.0)
    for i in range(A.shape[1] // 8):
        sA[ty, tx] = A[y, tx + i * 8] if y < A.shape[0] else 0
        cuda.syncthreads()  # HERE
        for j in range(8):
            if x < B.shape[1]:
                tmp += sA[ty, j] * B[i * 8 + j, x]
        cuda.syncthreads()  # HERE
    if y < C.shape[0] and x < C.shape[1]:
        C[y, x] = tmp


A, Bm = random.random((19, 16)).astype(np.float32), random.random((16, 21)).astype(np.float32)
right(matmul_numba_docs, (3, 3), (8, 8), A, Bm, np.zeros((19, 21), np.float32), C=A @ Bm)
wrong(matmul_return_early, (3, 3), (8, 8), A, Bm, np.zeros((19, 21), np.float32), kind="barrier")
