"""Physics, chemistry, Monte Carlo: kernels as people write them, right and with one mistake."""

import math

import numba
import numpy as np
from numba import cuda, float32, float64, int32
from numba.cuda.random import (
    create_xoroshiro128p_states,
    xoroshiro128p_dtype,
    xoroshiro128p_uniform_float32,
)

from lessons.lab import instead_of_gpu
from tests.lab.strangers.case import right, wrong

random = np.random.default_rng(42)

# --- n-body, with a tile of bodies in shared memory

TPB = 32
EPS2 = np.float32(1e-3)


@cuda.jit(fastmath=True)
def nbody_tiled(pos, acc):
    sh = cuda.shared.array((TPB, 4), numba.float32)
    i = cuda.grid(1)
    tx = cuda.threadIdx.x
    ax = ay = az = float32(0.0)
    px = py = pz = float32(0.0)
    if i < pos.shape[0]:
        px, py, pz = pos[i, 0], pos[i, 1], pos[i, 2]
    ntiles = (pos.shape[0] + TPB - 1) // TPB
    for tile in range(ntiles):
        j = tile * TPB + tx
        for c in range(4):
            sh[tx, c] = pos[j, c] if j < pos.shape[0] else float32(0)
        cuda.syncthreads()
        for k in range(TPB):
            dx = sh[k, 0] - px
            dy = sh[k, 1] - py
            dz = sh[k, 2] - pz
            r2 = dx * dx + dy * dy + dz * dz + EPS2
            inv = float32(1.0) / math.sqrt(r2)
            s = sh[k, 3] * inv * inv * inv
            ax += dx * s
            ay += dy * s
            az += dz * s
        cuda.syncthreads()
    if i < pos.shape[0]:
        acc[i, 0] = ax
        acc[i, 1] = ay
        acc[i, 2] = az


@cuda.jit
def nbody_one_barrier(pos, acc):
    sh = cuda.shared.array((TPB, 4), numba.float32)
    i = cuda.grid(1)
    tx = cuda.threadIdx.x
    ax = float32(0.0)
    px = pos[i, 0] if i < pos.shape[0] else float32(0)
    for tile in range((pos.shape[0] + TPB - 1) // TPB):
        j = tile * TPB + tx
        for c in range(4):
            sh[tx, c] = pos[j, c] if j < pos.shape[0] else float32(0)  # HERE
        cuda.syncthreads()
        for k in range(TPB):
            dx = sh[k, 0] - px  # HERE
            ax += dx * sh[k, 3]  # HERE
    if i < pos.shape[0]:
        acc[i, 0] = ax


def accelerations(pos):
    d = pos[None, :, :3].astype(float) - pos[:, None, :3]
    inv = 1 / np.sqrt((d**2).sum(-1) + EPS2)
    return ((pos[None, :, 3] * inv**3)[..., None] * d).sum(1)


bodies = random.random((70, 4)).astype(np.float32)
right(nbody_tiled, 3, TPB, bodies, np.zeros((70, 3), np.float32), acc=accelerations(bodies))
wrong(
    nbody_one_barrier,
    3,
    TPB,
    bodies,
    np.zeros((70, 3), np.float32),
    kind="race",
    says="syncthreads",
)


# --- Lennard-Jones, rows of arrays as vectors


@cuda.jit(device=True, inline="always")
def nearest_image(dx, box):
    if dx > box * 0.5:
        return dx - box
    elif dx < -box * 0.5:
        return dx + box
    else:
        return dx


with instead_of_gpu():  # explicit signatures compile at once

    @cuda.jit("(float64, float64, float64)", device=True)
    def lj(r2, eps, cutoff2):
        if r2 > cutoff2:
            return 0.0, 0.0
        ir2 = 1.0 / r2
        ir6 = ir2 * ir2 * ir2
        return 4 * eps * (ir6 * ir6 - ir6), 24 * eps * (2 * ir6 * ir6 - ir6) * ir2

    @cuda.jit("void(int32, float64[:,:], float64[:,:], float64[:], float64[:])")
    def lj_forces(npa, pos, force, energy, box):
        i = cuda.grid(1)
        if i < npa:
            pi = pos[i]
            fi = force[i]
            e = 0.0
            for j in range(npa):
                if j == i:
                    continue
                pj = pos[j]
                dx = nearest_image(pi[0] - pj[0], box[0])
                dy = nearest_image(pi[1] - pj[1], box[1])
                u, f = lj(dx * dx + dy * dy, 1.0, 9.0)
                e += 0.5 * u
                fi[0] += f * dx
                fi[1] += f * dy
            energy[i] = e


@cuda.jit
def lj_newton_three(pos, force):
    i = cuda.grid(1)
    if i >= pos.shape[0]:
        return
    for j in range(i + 1, pos.shape[0]):
        dx = pos[i, 0] - pos[j, 0]
        f = 1.0 / (dx * dx + 0.1)
        force[i, 0] += f * dx  # HERE
        force[j, 0] -= f * dx  # HERE


def lj_reference(pos, box):
    d = pos[:, None] - pos[None]
    d = np.where(d > box / 2, d - box, np.where(d < -box / 2, d + box, d))
    r2 = (d**2).sum(-1)
    np.fill_diagonal(r2, 100)
    near = r2 <= 9
    i2 = np.where(near, 1 / r2, 0)
    return (((24 * (2 * i2**6 - i2**3) * i2)[..., None] * d).sum(1), (2 * (i2**6 - i2**3)).sum(1))


atoms = np.stack(np.meshgrid(np.arange(7.0), np.arange(6.0)), -1).reshape(-1, 2) * 1.1
atoms += random.random(atoms.shape) * 0.1
box = np.array([7.7, 6.6])
right(
    lj_forces,
    2,
    32,
    42,
    atoms,
    np.zeros((42, 2)),
    np.zeros(42),
    box,
    force=lj_reference(atoms, box)[0],
    energy=lj_reference(atoms, box)[1],
)
wrong(
    lj_newton_three,
    2,
    32,
    atoms,
    np.zeros((42, 2)),
    kind="race",
    says="atomic",
    never="syncthreads",
)


# --- lattice Boltzmann, D2Q9

CX = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1], dtype=np.int32)
CY = np.array([0, 0, 1, 0, -1, 1, 1, -1, -1], dtype=np.int32)
W = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4, dtype=np.float64)


@cuda.jit
def lbm_step(fin, fout, omega):
    cx = cuda.const.array_like(CX)
    cy = cuda.const.array_like(CY)
    w = cuda.const.array_like(W)
    x, y = cuda.grid(2)
    nx, ny = fin.shape[1:]
    if x >= nx or y >= ny:
        return
    f = cuda.local.array(9, float64)
    rho = 0.0
    ux = 0.0
    uy = 0.0
    for q in range(9):
        f[q] = fin[q, (x - cx[q]) % nx, (y - cy[q] + ny) % ny]
        rho += f[q]
        ux += cx[q] * f[q]
        uy += cy[q] * f[q]
    ux /= rho
    uy /= rho
    usq = 1.5 * (ux**2 + uy**2)
    for q in range(9):
        cu = 3.0 * (cx[q] * ux + cy[q] * uy)
        feq = w[q] * rho * (1.0 + cu + 0.5 * cu * cu - usq)
        fout[q, x, y] = f[q] + omega * (feq - f[q])


@cuda.jit
def lbm_in_place(f, omega):
    x, y = cuda.grid(2)
    nx, ny = f.shape[1:]
    if x < nx and y < ny:
        for q in range(9):
            f[q, x, y] = f[q, (x - CX[q]) % nx, (y - CY[q]) % ny]  # HERE


def lbm_reference(fin, omega):
    f = np.stack([np.roll(fin[q], (CX[q], CY[q]), (0, 1)) for q in range(9)])
    rho = f.sum(0)
    ux = np.tensordot(CX, f, 1) / rho
    uy = np.tensordot(CY, f, 1) / rho
    cu = 3 * (CX[:, None, None] * ux + CY[:, None, None] * uy)
    feq = W[:, None, None] * rho * (1 + cu + cu * cu / 2 - 1.5 * (ux**2 + uy**2))
    return f + omega * (feq - f)


fluid = random.random((9, 13, 10)) + 1
right(lbm_step, (2, 2), (8, 8), fluid, np.zeros_like(fluid), 0.6, fout=lbm_reference(fluid, 0.6))
wrong(lbm_in_place, (2, 2), (8, 8), fluid, 0.6, kind="race", never="syncthreads")


# --- Ising


@cuda.jit
def ising_checkerboard(spins, uniforms, beta, parity):
    i, j = cuda.grid(2)
    n, m = spins.shape
    if i < n and j < m and (i + j) % 2 == parity:
        nb = (
            spins[(i + 1) % n, j]
            + spins[i - 1 if i > 0 else n - 1, j]
            + spins[i, (j + 1) % m]
            + spins[i, (j - 1 + m) % m]
        )
        dE = 2 * spins[i, j] * nb
        if dE <= 0 or uniforms[i, j] < math.exp(-dE * beta):
            spins[i, j] *= -1


@cuda.jit
def ising_all_at_once(spins, rng, beta):
    i, j = cuda.grid(2)
    n, m = spins.shape
    if i < n and j < m:
        nb = spins[(i + 1) % n, j] + spins[(i - 1) % n, j]  # HERE
        dE = 2 * spins[i, j] * nb
        if dE <= 0 or xoroshiro128p_uniform_float32(rng, i * m + j) < math.exp(-dE * beta):
            spins[i, j] = -spins[i, j]  # HERE


def ising_reference(spins, uniforms, beta, parity):
    total = sum(np.roll(spins, s, a) for s in (1, -1) for a in (0, 1)).astype(int)
    energy = 2 * spins * total
    chosen = np.indices(spins.shape).sum(0) % 2 == parity
    flips = chosen & ((energy <= 0) | (uniforms < np.exp(-energy * beta)))
    return np.where(flips, -spins, spins)


spins = random.choice(np.array([-1, 1], np.int8), (12, 14))
uniforms = random.random((12, 14)).astype(np.float32)
right(
    ising_checkerboard,
    (2, 2),
    (8, 8),
    spins,
    uniforms,
    0.44,
    1,
    spins=ising_reference(spins, uniforms, 0.44, 1),
)


def states(n, seed):
    """States of the generator, made without a GPU."""
    numbers = np.random.default_rng(seed).integers(1, 2**63, (n, 2), dtype=np.uint64)
    made = np.zeros(n, xoroshiro128p_dtype)
    made["s0"], made["s1"] = numbers.T
    return made


def rotate(x, k):
    return (x << np.uint64(k)) | (x >> np.uint64(64 - k))


def uniform_reference(made):
    """The next uniform of each state, which moves on."""
    with np.errstate(over="ignore"):
        s0, s1 = made["s0"].copy(), made["s1"].copy()
        result = s0 + s1
        s1 ^= s0
        made["s0"] = rotate(s0, 55) ^ s1 ^ (s1 << np.uint64(14))
        made["s1"] = rotate(s1, 36)
    return ((result >> np.uint64(11)) * (1 / 2**53)).astype(np.float32)


wrong(
    ising_all_at_once, (2, 2), (8, 8), spins, states(168, 3), 0.44, kind="race", never="syncthreads"
)


@cuda.jit
def pi_kernel(rng_states, iterations, out):
    """Find the maximum value in values and store in result[0]"""
    thread_id = cuda.grid(1)
    inside = 0
    for i in range(iterations):
        x = xoroshiro128p_uniform_float32(rng_states, thread_id)
        y = xoroshiro128p_uniform_float32(rng_states, thread_id)
        if x**2 + y**2 <= 1.0:
            inside += 1
    out[thread_id] = 4.0 * inside / iterations


def pi_reference(made, iterations):
    made = made.copy()
    inside = np.zeros(len(made), int)
    for _ in range(iterations):
        x, y = uniform_reference(made), uniform_reference(made)
        inside += x.astype(float) ** 2 + y.astype(float) ** 2 <= 1
    return 4 * inside / iterations


@cuda.jit
def pi_shared_states(rng_states, iterations, out):
    inside = 0
    for _ in range(iterations):
        x = xoroshiro128p_uniform_float32(rng_states, cuda.threadIdx.x)  # HERE
        y = xoroshiro128p_uniform_float32(rng_states, cuda.threadIdx.x)  # HERE
        inside += x * x + y * y < 1
    out[cuda.grid(1)] = inside


right(
    pi_kernel,
    2,
    64,
    states(128, 1),
    40,
    np.zeros(128, np.float32),
    out=pi_reference(states(128, 1), 40),
)
wrong(
    pi_shared_states,
    2,
    64,
    states(128, 1),
    40,
    np.zeros(128, np.float32),
    kind="race",
    never="syncthreads",
)


# --- heat in three dimensions


@cuda.jit
def heat3d(u, un, alpha):
    i, j, k = cuda.grid(3)
    if 0 < i < u.shape[0] - 1 and 0 < j < u.shape[1] - 1 and 0 < k < u.shape[2] - 1:
        un[i, j, k] = u[i, j, k] + alpha * (
            u[i + 1, j, k]
            + u[i - 1, j, k]
            + u[i, j + 1, k]
            + u[i, j - 1, k]
            + u[i, j, k + 1]
            + u[i, j, k - 1]
            - 6 * u[i, j, k]
        )


@cuda.jit
def heat3d_last_plane(u, un, alpha):
    i, j, k = cuda.grid(3)
    if 0 < i < u.shape[0] - 1 and 0 < j < u.shape[1] - 1 and 0 < k < u.shape[2]:
        new = u[i, j, k + 1] + u[i, j, k - 1] - 2 * u[i, j, k]  # HERE
        un[i, j, k] = u[i, j, k] + alpha * new


@cuda.jit
def heat3d_first_row(u, un, alpha):
    i, j, k = cuda.grid(3)
    if i < u.shape[0] - 1 and 0 < j < u.shape[1] - 1 and 0 < k < u.shape[2] - 1:
        un[i, j, k] = u[i, j, k] + alpha * (u[i + 1, j, k] + u[i - 1, j, k])  # HERE


def heat_reference(u, alpha):
    out = np.zeros_like(u)
    c = u[1:-1, 1:-1, 1:-1]
    out[1:-1, 1:-1, 1:-1] = c + alpha * (
        u[2:, 1:-1, 1:-1]
        + u[:-2, 1:-1, 1:-1]
        + u[1:-1, 2:, 1:-1]
        + u[1:-1, :-2, 1:-1]
        + u[1:-1, 1:-1, 2:]
        + u[1:-1, 1:-1, :-2]
        - 6 * c
    )
    return out


heat = random.random((9, 7, 6))
right(heat3d, (3, 2, 2), (4, 4, 4), heat, np.zeros_like(heat), 0.1, un=heat_reference(heat, 0.1))
wrong(
    heat3d_last_plane,
    (3, 2, 2),
    (4, 4, 4),
    heat,
    np.zeros_like(heat),
    0.1,
    kind="out-of-bounds",
    says="6",
)
wrong(
    heat3d_first_row,
    (3, 2, 2),
    (4, 4, 4),
    heat,
    np.zeros_like(heat),
    0.1,
    kind="out-of-bounds",
    says="-1",
)


# --- red-black relaxation within one block


@cuda.jit
def red_black(u, f, sweeps):
    i = cuda.threadIdx.y + 1
    j = cuda.threadIdx.x + 1
    for _ in range(sweeps):
        for colour in range(2):
            if (i + j) % 2 == colour:
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - f[i, j])
            cuda.syncthreads()


@cuda.jit
def red_black_barrier_outside(u, f, sweeps):
    i = cuda.threadIdx.y + 1
    j = cuda.threadIdx.x + 1
    for _ in range(sweeps):
        for colour in range(2):
            if (i + j) % 2 == colour:
                around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]  # HERE
                u[i, j] = 0.25 * (around - f[i, j])  # HERE
        cuda.syncthreads()


def red_black_reference(u, f, sweeps):
    u = u.copy()
    sums = np.indices(u.shape).sum(0)
    for _ in range(sweeps):
        for colour in range(2):
            new = u.copy()
            new[1:-1, 1:-1] = 0.25 * (
                u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - f[1:-1, 1:-1]
            )
            chosen = sums % 2 == colour
            chosen[0] = chosen[-1] = chosen[:, 0] = chosen[:, -1] = False
            u = np.where(chosen, new, u)
    return u


plate, sources = random.random((10, 12)), random.random((10, 12))
right(red_black, 1, (10, 8), plate, sources, 5, u=red_black_reference(plate, sources, 5))
wrong(red_black_barrier_outside, 1, (10, 8), plate, sources, 5, kind="race", says="syncthreads")


# --- one-dimensional FDTD, all steps in one launch


@cuda.jit
def fdtd(ez, hy, steps):
    g = cuda.cg.this_grid()
    k = cuda.grid(1)
    n = ez.size
    for t in range(steps):
        if k < n - 1:
            hy[k] += 0.5 * (ez[k + 1] - ez[k])
        g.sync()
        if 0 < k < n:
            ez[k] += 0.5 * (hy[k] - hy[k - 1])
        g.sync()


@cuda.jit
def fdtd_syncthreads(ez, hy, steps):
    k = cuda.grid(1)
    n = ez.size
    for t in range(steps):
        if k < n - 1:
            hy[k] += 0.5 * (ez[k + 1] - ez[k])  # HERE
        cuda.syncthreads()
        if 0 < k < n:
            ez[k] += 0.5 * (hy[k] - hy[k - 1])  # HERE
        cuda.syncthreads()


def fdtd_reference(ez, hy, steps):
    ez, hy = ez.copy(), hy.copy()
    for _ in range(steps):
        hy[:-1] += 0.5 * (ez[1:] - ez[:-1])
        ez[1:] += 0.5 * (hy[1:] - hy[:-1])
    return ez


field, magnetic = random.random(100), random.random(100)
right(fdtd, 4, 32, field, magnetic, 6, ez=fdtd_reference(field, magnetic, 6))
wrong(fdtd_syncthreads, 4, 32, field, magnetic, 6, kind="race", never="syncthreads() between")


# --- reaction and diffusion with a halo in shared memory

B = 8
HALO = B + 2


@cuda.jit
def gray_scott(u, v, u2, v2, F, k):
    su = cuda.shared.array((HALO, HALO), float32)
    sv = cuda.shared.array((HALO, HALO), float32)
    h, w = u.shape
    for dy in range(cuda.threadIdx.y, B + 2, B):
        for dx in range(cuda.threadIdx.x, B + 2, B):
            y = (cuda.blockIdx.y * B + dy - 1) % h
            x = (cuda.blockIdx.x * B + dx - 1) % w
            su[dy, dx] = u[y, x]
            sv[dy, dx] = v[y, x]
    cuda.syncthreads()
    x, y = cuda.grid(2)
    if y >= h or x >= w:
        return
    i, j = cuda.threadIdx.y + 1, cuda.threadIdx.x + 1
    # ragged edges wrap in memory, not in the tile
    yn = i + 1
    if y == h - 1:
        lu = u[0, x]
        lv = v[0, x]
    else:
        lu = su[yn, j]
        lv = sv[yn, j]
    if x == w - 1:
        ru = u[y, 0]
        rv = v[y, 0]
    else:
        ru = su[i, j + 1]
        rv = sv[i, j + 1]
    lapu = su[i - 1, j] + lu + su[i, j - 1] + ru - float32(4) * su[i, j]
    lapv = sv[i - 1, j] + lv + sv[i, j - 1] + rv - float32(4) * sv[i, j]
    uvv = su[i, j] * sv[i, j] * sv[i, j]
    u2[y, x] = su[i, j] + float32(0.16) * lapu - uvv + F * (1 - su[i, j])
    v2[y, x] = sv[i, j] + float32(0.08) * lapv + uvv - (F + k) * sv[i, j]


@cuda.jit
def halo_not_loaded(u, u2):
    s = cuda.shared.array((HALO, HALO), float32)
    x, y = cuda.grid(2)
    i, j = cuda.threadIdx.y + 1, cuda.threadIdx.x + 1
    h, w = u.shape
    if y < h and x < w:
        s[i, j] = u[y, x]
        if cuda.threadIdx.y == 0 and y > 0:
            s[0, j] = u[y - 1, x]
        if cuda.threadIdx.y == B - 1 and y < h - 1:
            s[B + 1, j] = u[y + 1, x]
    cuda.syncthreads()
    if 0 < y < h - 1 and 0 < x < w - 1:
        u2[y, x] = s[i - 1, j] + s[i + 1, j] + s[i, j - 1] + s[i, j + 1]  # HERE


def gray_scott_reference(u, v, F, k):
    def laplace(a):
        return sum(np.roll(a, s, axis) for s in (1, -1) for axis in (0, 1)) - 4 * a

    uvv = u * v * v
    return u + 0.16 * laplace(u) - uvv + F * (1 - u), v + 0.08 * laplace(v) + uvv - (F + k) * v


u0, v0 = random.random((2, 19, 21)).astype(np.float32)
gray = gray_scott_reference(u0.astype(float), v0.astype(float), 0.035, 0.06)
right(
    gray_scott,
    (3, 3),
    (B, B),
    u0,
    v0,
    np.zeros_like(u0),
    np.zeros_like(u0),
    np.float32(0.035),
    np.float32(0.06),
    u2=gray[0],
    v2=gray[1],
)
wrong(halo_not_loaded, (3, 3), (B, B), u0, np.zeros_like(u0), kind="uninitialised")


# --- particles into cells


@cuda.jit
def fill_cells(x, width, start, fill, members):
    p = cuda.grid(1)
    if p < x.shape[0]:
        c = int(x[p] / width)
        slot = cuda.atomic.add(fill, c, 1)
        members[start[c] + slot] = p


@cuda.jit
def fill_cells_plain_counter(x, width, start, fill, members):
    p = cuda.grid(1)
    if p < x.shape[0]:
        c = int(x[p] / width)
        slot = fill[c]  # HERE
        fill[c] = slot + 1  # HERE
        members[start[c] + slot] = p  # HERE


places = random.random(90)
cell_of = (places / 0.125).astype(int)
starts = np.concatenate([[0], np.cumsum(np.bincount(cell_of, minlength=8))]).astype(np.int32)


def members_are_right(x, width, start, fill, members):
    for c in range(8):
        assert sorted(members[start[c] : start[c + 1]]) == sorted(np.flatnonzero(cell_of == c))


right(
    fill_cells,
    3,
    32,
    places,
    0.125,
    starts,
    np.zeros(8, np.int32),
    np.full(90, -1, np.int32),
    checker=members_are_right,
)
wrong(
    fill_cells_plain_counter,
    3,
    32,
    places,
    0.125,
    starts,
    np.zeros(8, np.int32),
    np.full(90, -1, np.int32),
    kind="race",
    says="atomic.add",
    never="syncthreads",
)


# --- fractals, in complex numbers


@cuda.jit(device=True)
def mandel(x, y, max_iters):
    c = complex(x, y)
    z = 0.0j
    for i in range(max_iters):
        z = z * z + c
        if (z.real * z.real + z.imag * z.imag) >= 4:
            return i
    return max_iters


@cuda.jit
def mandel_kernel(min_x, max_x, min_y, max_y, image, iters):
    height = image.shape[0]
    width = image.shape[1]
    pixel_size_x = (max_x - min_x) / width
    pixel_size_y = (max_y - min_y) / height
    startX, startY = cuda.grid(2)
    gridX = cuda.gridDim.x * cuda.blockDim.x
    gridY = cuda.gridDim.y * cuda.blockDim.y
    for x in range(startX, width, gridX):
        real = min_x + x * pixel_size_x
        for y in range(startY, height, gridY):
            imag = min_y + y * pixel_size_y
            image[y, x] = mandel(real, imag, iters)


def mandel_reference(shape, iters):
    height, width = shape
    image = np.zeros(shape, np.uint8)
    for y in range(height):
        for x in range(width):
            c, z, i = complex(-2 + x * (3 / width), -1 + y * (2 / height)), 0j, 0
            while i < iters:
                z = z * z + c
                if z.real * z.real + z.imag * z.imag >= 4:
                    break
                i += 1
            image[y, x] = i
    return image


right(
    mandel_kernel,
    (2, 2),
    (8, 4),
    -2.0,
    1.0,
    -1.0,
    1.0,
    np.zeros((20, 31), np.uint8),
    50,
    image=mandel_reference((20, 31), 50),
)


# --- ordinary differential equations: a factory of kernels


def make_rk4(rhs, n):
    f = cuda.jit(device=True)(rhs)

    @cuda.jit
    def rk4_ensemble(y0, params, dt, steps, out):
        idx = cuda.grid(1)
        if idx < y0.shape[0]:
            y = cuda.local.array(n, numba.float64)
            k = cuda.local.array((4, n), numba.float64)
            tmp = cuda.local.array(n, numba.float64)
            for m in range(n):
                y[m] = y0[idx, m]
            for s in range(steps):
                f(y, params[idx], k[0])
                for stage in range(1, 4):
                    h = dt if stage == 3 else 0.5 * dt
                    for m in range(n):
                        tmp[m] = y[m] + h * k[stage - 1, m]
                    f(tmp, params[idx], k[stage])
                for m in range(n):
                    y[m] += dt / 6 * (k[0, m] + 2 * k[1, m] + 2 * k[2, m] + k[3, m])
            for m in range(n):
                out[idx, m] = y[m]

    return rk4_ensemble


def lorenz(y, p, dy):
    dy[0] = p[0] * (y[1] - y[0])
    dy[1] = y[0] * (p[1] - y[2]) - y[1]
    dy[2] = y[0] * y[1] - p[2] * y[2]


def rk4_reference(y, p, dt, steps):
    def rhs(y):
        return np.stack(
            [
                p[:, 0] * (y[:, 1] - y[:, 0]),
                y[:, 0] * (p[:, 1] - y[:, 2]) - y[:, 1],
                y[:, 0] * y[:, 1] - p[:, 2] * y[:, 2],
            ],
            1,
        )

    for _ in range(steps):
        k1 = rhs(y)
        k2 = rhs(y + dt / 2 * k1)
        k3 = rhs(y + dt / 2 * k2)
        k4 = rhs(y + dt * k3)
        y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


begin = random.random((40, 3))
constants = random.random((40, 3)) * [10, 28, 2.7]
right(
    make_rk4(lorenz, 3),
    2,
    32,
    begin,
    constants,
    0.01,
    20,
    np.zeros((40, 3)),
    out=rk4_reference(begin, constants, 0.01, 20),
)


# --- energy of a configuration, summed by one thread per block


@cuda.jit
def kinetic_energy(vel, mass, partial):
    cache = cuda.shared.array(64, float64)
    tid = cuda.threadIdx.x
    temp = 0.0
    for i in range(cuda.grid(1), vel.shape[0], cuda.gridsize(1)):
        v = vel[i]
        temp += 0.5 * mass[i] * (v[0] ** 2 + v[1] ** 2 + v[2] ** 2)
    cache[tid] = temp
    cuda.syncthreads()
    if tid == 0:
        total = 0.0
        for k in range(64):
            total += cache[k]
        partial[cuda.blockIdx.x] = total


@cuda.jit
def kinetic_energy_ragged_block(vel, mass, partial):
    cache = cuda.shared.array(64, float64)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < vel.shape[0]:
        cache[tid] = 0.5 * mass[i] * vel[i, 0] ** 2
    cuda.syncthreads()
    if tid == 0:
        total = 0.0
        for k in range(64):
            total += cache[k]  # HERE
        partial[cuda.blockIdx.x] = total


velocities, masses = random.random((300, 3)), random.random(300)


def energy_is_right(vel, mass, partial):
    np.testing.assert_allclose(partial.sum(), (0.5 * mass[:, None] * vel**2).sum())


right(kinetic_energy, 3, 64, velocities, masses, np.zeros(3), checker=energy_is_right)
wrong(kinetic_energy_ragged_block, 5, 64, velocities, masses, np.zeros(5), kind="uninitialised")


# --- a step of a wave, the old array as a parameter twice


@cuda.jit
def wave_step(u, u_prev, c2):
    i = cuda.grid(1)
    if i == 0 or i >= u.size - 1:
        return
    new = 2 * u[i] - u_prev[i] + c2 * (u[i + 1] - 2 * u[i] + u[i - 1])
    u_prev[i] = new


@cuda.jit
def wave_step_swapped(u, u_prev, steps, c2):
    i = cuda.grid(1)
    for t in range(steps):
        if 0 < i < u.size - 1:
            new = 2 * u[i] - u_prev[i] + c2 * (u[i + 1] - 2 * u[i] + u[i - 1])  # HERE
            u_prev[i] = new  # HERE
        cuda.syncthreads()
        u, u_prev = u_prev, u


def wave_reference(u, old):
    new = old.copy()
    new[1:-1] = 2 * u[1:-1] - old[1:-1] + 0.3 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return new


now, before = random.random(70), random.random(70)
right(wave_step, 3, 32, now, before, 0.3, u_prev=wave_reference(now, before))
wrong(wave_step_swapped, 3, 32, now, before, 3, 0.3, kind="race", never="syncthreads() between")


# --- gradient descent, and one thread that clears all gradients


@cuda.jit
def descent_one_thread_clears(weights, gradients):
    i = cuda.grid(1)
    if i < weights.size:
        weights[i] -= gradients[i]  # HERE
    cuda.syncthreads()
    if i == 0:
        for j in range(gradients.size):
            gradients[j] = 0.0  # HERE


wrong(
    descent_one_thread_clears,
    3,
    32,
    now,
    before,
    kind="race",
    says="let each thread set its own element, behind the line that reads it",
    never="change places",
)
