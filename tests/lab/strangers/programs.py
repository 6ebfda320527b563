"""Whole programs: arrays on the device, streams, events, pinned and mapped memory, ufuncs."""

import math

import numpy as np
from numba import config, cuda, float32, vectorize

from lessons.lab import instead_of_gpu
from tests.lab.strangers.case import program

rng = np.random.default_rng(23)

with instead_of_gpu():

    @cuda.jit
    def saxpy(a, x, y):
        i = cuda.grid(1)
        if i < x.size:
            y[i] += a * x[i]

    @cuda.jit("void(float32[:], float32[:])")
    def square(x, y):
        for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
            y[i] = x[i] * x[i]

    @cuda.jit
    def unguarded(x):
        x[cuda.grid(1)] *= 2  # HERE

    @cuda.jit
    def life(a, b):
        i, j = cuda.grid(2)
        n, m = a.shape
        if i < n and j < m:
            s = 0
            for di in range(-1, 2):
                for dj in range(-1, 2):
                    if di != 0 or dj != 0:
                        s += a[(i + di) % n, (j + dj) % m]
            b[i, j] = 1 if s == 3 or (s == 2 and a[i, j]) else 0

    @cuda.reduce
    def largest(a, b):
        return a if a > b else b

    def hypotenuse(a, b):
        return math.sqrt(a * a + b * b)

    if not config.ENABLE_CUDASIM:  # Numba's own simulator has no ufuncs
        hypotenuse = vectorize(["float32(float32, float32)"], target="cuda")(hypotenuse)


@program()
def copies_and_events():
    x, y = rng.random(1000, dtype=np.float32), np.zeros(1000, np.float32)
    d_x, d_y = cuda.to_device(x), cuda.device_array_like(x)
    start, end = cuda.event(), cuda.event()
    start.record()
    square[8, 64](d_x, d_y)
    end.record()
    end.synchronize()
    assert cuda.event_elapsed_time(start, end) >= 0
    d_y.copy_to_host(y)
    np.testing.assert_allclose(y, x * x)


@program()
def double_buffered_game():
    board = rng.integers(0, 2, (20, 17)).astype(np.int32)
    a, b = cuda.to_device(board), cuda.device_array(board.shape, np.int32)
    for _ in range(4):
        life[(3, 3), (8, 8)](a, b)
        a, b = b, a
    wanted = board
    for _ in range(4):
        s = sum(np.roll(wanted, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) - wanted
        wanted = ((s == 3) | ((s == 2) & (wanted == 1))).astype(np.int32)
    np.testing.assert_array_equal(a.copy_to_host(), wanted)


@program()
def chunks_in_streams():
    x = cuda.pinned_array(4000, np.float32)
    x[:] = rng.random(4000)
    out = cuda.pinned_array(4000, np.float32)
    streams = [cuda.stream() for _ in range(4)]
    for k, stream in enumerate(streams):
        part = slice(1000 * k, 1000 * (k + 1))
        d_x = cuda.to_device(x[part], stream=stream)
        d_y = cuda.device_array(1000, np.float32, stream=stream)
        square[8, 64, stream](d_x, d_y)
        d_y.copy_to_host(out[part], stream=stream)
    for stream in streams:
        stream.synchronize()
    np.testing.assert_allclose(out, x * x)


@program(kind="unsynchronised", says="synchronize")
def stream_read_too_early():
    x = rng.random(1000, dtype=np.float32)
    out = cuda.pinned_array(1000, np.float32)
    stream = cuda.stream()
    d_x = cuda.to_device(x, stream=stream)
    d_y = cuda.device_array(1000, np.float32, stream=stream)
    square[8, 64, stream](d_x, d_y)
    d_y.copy_to_host(out, stream=stream)
    total = out.sum()  # HERE
    stream.synchronize()
    return total


@program(kind="unsynchronised", says="stream")
def two_streams_one_array():
    d_x = cuda.to_device(np.ones(500, np.float32))
    d_y = cuda.to_device(np.zeros(500, np.float32))
    first, second = cuda.stream(), cuda.stream()
    saxpy[8, 64, first](float32(2), d_x, d_y)
    saxpy[8, 64, second](float32(3), d_x, d_y)  # HERE
    cuda.synchronize()
    return d_y.copy_to_host()


@program()
def two_streams_with_an_event():
    d_x = cuda.to_device(np.ones(500, np.float32))
    d_y = cuda.to_device(np.zeros(500, np.float32))
    first, second = cuda.stream(), cuda.stream()
    saxpy[8, 64, first](float32(2), d_x, d_y)
    done = cuda.event()
    done.record(first)
    done.wait(second)
    saxpy[8, 64, second](float32(3), d_x, d_y)
    second.synchronize()
    np.testing.assert_array_equal(d_y.copy_to_host(), np.full(500, 5))


@program()
def mapped_memory():
    x = cuda.mapped_array(300, np.float32)
    x[:] = 2
    y = cuda.mapped_array(300, np.float32)
    square[4, 64](x, y)
    cuda.synchronize()
    assert (y == 4).all()


@program(kind="unsynchronised", says="synchronize")
def mapped_memory_too_early():
    x = cuda.mapped_array(300, np.float32)
    x[:] = 2
    y = cuda.mapped_array(300, np.float32)
    square[4, 64](x, y)
    print(y[0], file=open("/dev/null", "w"))  # HERE
    cuda.synchronize()


@program(kind="uninitialised", says="device_array")
def garbage_added_to():
    d_x = cuda.to_device(np.ones(500, np.float32))
    d_y = cuda.device_array(500, np.float32)
    saxpy[8, 64](float32(2), d_x, d_y)
    return d_y.copy_to_host()


@program(kind="out-of-bounds", says="500")
def rounded_up_grid():
    d_x = cuda.to_device(np.ones(500, np.float32))
    unguarded[(500 + 63) // 64, 64](d_x)
    return d_x.copy_to_host()


@program()
def for_all_elements():
    x = rng.random(777, dtype=np.float32)
    y = np.zeros_like(x)
    d_y = cuda.to_device(y)
    saxpy.forall(x.size)(float32(2), cuda.to_device(x), d_y)
    np.testing.assert_allclose(d_y.copy_to_host(), 2 * x)


@program()
def reductions_and_ufuncs():
    x = rng.random(777, dtype=np.float32)
    assert largest(cuda.to_device(x), init=-1) == x.max()
    np.testing.assert_allclose(hypotenuse(x, 2 * x), np.sqrt(5) * x, 1e-5)


@program()
def host_arrays_given_directly():
    x, y = rng.random(100, dtype=np.float32), np.zeros(100, np.float32)
    saxpy[2, 64](float32(3), x, y)
    np.testing.assert_allclose(y, 3 * x)
    with cuda.pinned(x):
        d = cuda.to_device(x)
        saxpy[2, 64](float32(1), d, y)
    np.testing.assert_allclose(y, 4 * x, 1e-6)


@program()
def views_of_device_arrays():
    d = cuda.to_device(np.arange(60, dtype=np.float32))
    first, rest = d[:20], d[20:]
    saxpy[1, 32](float32(10), rest[:20], first)
    grid = d.reshape(6, 10)
    np.testing.assert_array_equal(grid[0].copy_to_host(), np.arange(10) + 10 * np.arange(20, 30))


@program(kind="compile", says="host")
def device_code_that_copies():
    @cuda.jit
    def copies(x):
        y = cuda.to_device(x)  # HERE
        y[0] = 1

    copies[1, 1](np.zeros(3))
