"""Physics, chemistry, Monte Carlo: kernels as people write them, right and with one mistake."""

import numba
import numpy as np
from numba import cuda, float64
from numba.cuda.random import (
    xoroshiro128p_dtype,
    xoroshiro128p_uniform_float32,
)

from lessons.lab import instead_of_gpu
from tests.lab.strangers.case import right, wrong

random = np.random.default_rng(42)

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


# --- Monte Carlo


def states(n, seed):
    """States of the generator, made without a GPU."""
    numbers = np.random.default_rng(seed).integers(1, 2**63, (n, 2), dtype=np.uint64)
    made = np.zeros(n, xoroshiro128p_dtype)
    made["s0"], made["s1"] = numbers.T
    return made


@cuda.jit
def pi_shared_states(rng_states, iterations, out):
    inside = 0
    for _ in range(iterations):
        x = xoroshiro128p_uniform_float32(rng_states, cuda.threadIdx.x)  # HERE
        y = xoroshiro128p_uniform_float32(rng_states, cuda.threadIdx.x)  # HERE
        inside += x * x + y * y < 1
    out[cuda.grid(1)] = inside


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


# --- waves, all steps in one launch


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


field, magnetic = random.random(100), random.random(100)
wrong(fdtd_syncthreads, 4, 32, field, magnetic, 6, kind="race", never="syncthreads() between")


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


# --- a step of a wave, the old array as a parameter twice


@cuda.jit
def wave_step_swapped(u, u_prev, steps, c2):
    i = cuda.grid(1)
    for t in range(steps):
        if 0 < i < u.size - 1:
            new = 2 * u[i] - u_prev[i] + c2 * (u[i + 1] - 2 * u[i] + u[i - 1])  # HERE
            u_prev[i] = new  # HERE
        cuda.syncthreads()
        u, u_prev = u_prev, u


now, before = random.random(70), random.random(70)
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
