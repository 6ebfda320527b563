"""The tile of a begins at row 0 in every round; only that of b has two halves that take turns."""
# caught by: double_buffered
# diagnosis: a second barrier would be one too many

from numba import cuda, float32

from kernels.products.double_buffered import TWO_ROUNDS
from kernels.products.tiles import (
    DEPTH,
    LOADS,
    PER_THREAD,
    PITCH,
    SIDE,
    WIDTH,
    clear,
    keep,
    keep_turned,
    load,
    load_turned,
    store,
)


@cuda.jit
def product_double_buffered(a, b, c):
    """c (m, n) = a (m, k) @ b (k, n), all float32; blocks of SIDE x SIDE threads; any sizes."""
    a_tile = cuda.shared.array((TWO_ROUNDS, PITCH), float32)
    b_tile = cuda.shared.array((TWO_ROUNDS, PITCH), float32)
    acc = cuda.local.array((PER_THREAD, PER_THREAD), float32)
    left = cuda.local.array(PER_THREAD, float32)
    right = cuda.local.array(PER_THREAD, float32)
    a_next = cuda.local.array(LOADS, float32)
    b_next = cuda.local.array(LOADS, float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    row0, column0 = cuda.blockIdx.y * WIDTH, cuda.blockIdx.x * WIDTH

    clear(acc)
    load_turned(a, row0, 0, a_next)
    load(b, 0, column0, b_next)
    half = 0
    for k in range(0, a.shape[1], DEPTH):
        keep_turned(a_next, a_tile, 0)
        keep(b_next, b_tile, half)
        cuda.syncthreads()
        load_turned(a, row0, k + DEPTH, a_next)
        load(b, k + DEPTH, column0, b_next)
        for depth in range(DEPTH):
            for n in range(PER_THREAD):
                left[n] = a_tile[depth, y + n * SIDE]
                right[n] = b_tile[half + depth, x + n * SIDE]
            for n in range(PER_THREAD):
                for m in range(PER_THREAD):
                    acc[n, m] += left[n] * right[m]
        half = DEPTH - half
    store(acc, row0, column0, c)
