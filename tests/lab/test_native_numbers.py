"""The native engine: functions of single numbers, half precision, vector types, libdevice."""

import math

import numba
import numpy as np
import pytest
from numba import cuda, float32, int32
from numba.types import float16

from lessons.lab import checked, native


@cuda.jit
def bits(x, wide, out):
    out[0] = cuda.popc(x[0])
    out[1] = cuda.clz(x[0])
    out[2] = cuda.ffs(x[0])
    out[3] = cuda.brev(x[0])
    out[4] = cuda.fma(float32(2), float32(3), float32(4))
    out[5] = cuda.cbrt(27.0)
    out[6] = cuda.selp(x[0] > 1, 3, 4)
    out[7] = cuda.cbrt(-8.0)
    out[8] = cuda.ffs(int32(0))
    out[9] = cuda.clz(wide[0])
    out[10] = cuda.popc(wide[0])
    out[11] = numba.cuda.lanemask_lt()
    point = cuda.float32x4(cuda.float2(x[0], 2), 3.5, cuda.ldcg(x, 0))
    out[12] = point.x + 10 * point.y + 100 * point.z + 1000 * point.w
    cuda.stcs(out, 13, point.w)
    out[14] = round(float32(0.3425), 3) + round(1234.5, -2)


@pytest.mark.slow
def test_bits_and_vectors():
    out = np.zeros(15)
    native(bits)[1, 1](np.array([12], np.int32), np.array([-1]), out)
    right = [2, 28, 3, 0b1100 << 26, 10, 3, 3, -2, 0, 0, 64, 0, 12 + 20 + 350 + 12_000, 12]
    np.testing.assert_array_equal(out[:14], right)
    np.testing.assert_allclose(out[14], 1200.343, rtol=1e-9)


@cuda.jit
def halves(a, b, one, wide, out, less):
    tile = cuda.shared.array(32, float16)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        tile[cuda.threadIdx.x] = a[i]
        out[0, i] = tile[cuda.threadIdx.x] + b[i]
        out[1, i] = a[i] * b[i] - b[i]
        out[2, i] = a[i] / b[i]
        out[3, i] = abs(-a[i])
        out[4, i] = float32(a[i]) * float32(3)
        out[5, i] = wide[i]
        less[i] = a[i] < b[i] * one


@pytest.mark.slow
def test_half_precision_is_rounded_as_numpy_does():
    random = np.random.default_rng(1)
    scales = 10.0 ** random.integers(-8, 5, 3000)
    wide = random.standard_normal(3000) * scales
    with np.errstate(all="ignore"):
        a, b = wide.astype(np.float16), random.permutation(wide).astype(np.float16)
        a[:4] = [0, np.inf, np.nan, 65504]
        right = [a + b, a * b - b, a / b, abs(a), a.astype(np.float32) * np.float32(3), wide]
        right = [values.astype(np.float16) for values in right]
    out, less = np.zeros((6, 3000), np.float16), np.zeros(3000, np.int32)
    native(halves)[2, 32](a, b, np.float16(1), wide, out, less)
    for found, expected in zip(out, right, strict=True):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(less, a < b)


@pytest.mark.slow
def test_functions_of_half_precision_and_of_libdevice():
    fp16 = pytest.importorskip("numba.cuda.fp16", reason="numba-cuda has them")
    libdevice = pytest.importorskip("numba.cuda.libdevice")

    @cuda.jit
    def functions(x, halves, out):
        out[0] = libdevice.sinf(x[0])
        out[1] = libdevice.rsqrt(x[1])
        out[2] = libdevice.erfinv(0.3)
        out[3], out[4] = libdevice.frexp(8.0)
        out[5] = libdevice.mulhi(1 << 30, 16)
        out[6] = libdevice.float2int_ru(1.2)
        halves[0] = fp16.hadd(halves[1], halves[2])
        halves[3] = fp16.hmax(halves[1], halves[2])
        halves[4] = fp16.hsqrt(fp16.hmin(halves[2], halves[2]))
        out[7] = fp16.hle(halves[1], halves[2])

    out, values = np.zeros(8), np.array([0, 0.1, 4, 0, 0], np.float16)
    native(functions)[1, 1](np.array([1.0, 4.0]), values, out)
    np.testing.assert_allclose(
        out, [math.sin(1), 0.5, 0.27246271472675, 0.5, 4, 4, 2, 1], rtol=1e-7
    )
    np.testing.assert_array_equal(values, np.array([4.1, 0.1, 4, 4, 2], np.float16))


@pytest.mark.slow
@pytest.mark.parametrize("launch", [native, checked])
def test_half_precision_at_its_edges_is_that_of_a_gpu(launch):
    fp16 = pytest.importorskip("numba.cuda.fp16", reason="numba-cuda has them")

    @cuda.jit
    def edges(x, zeros, different):
        zeros[0], zeros[1] = fp16.hmax(x[0], x[1]), fp16.hmax(x[1], x[0])
        zeros[2], zeros[3] = fp16.hmin(x[0], x[1]), fp16.hmin(x[1], x[0])
        different[0], different[1] = fp16.hne(x[2], x[0]), fp16.hne(x[2], x[2])
        different[2] = fp16.hne(x[0], x[1])

    zeros, different = np.zeros(4, np.float16), np.ones(3, np.int32)
    launch(edges)[1, 1](np.array([0, -0.0, np.nan], np.float16), zeros, different)
    assert np.signbit(zeros).tolist() == [False, False, True, True]
    assert different.tolist() == [0, 0, 0]  # what is no number does not count as different


@cuda.jit
def remainders(x, y, out):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = math.fmod(x[i], y[i])
        out[1, i], out[2, i] = math.modf(x[i])
        out[3, i] = math.remainder(x[i], y[i])


@pytest.mark.slow
def test_remainders_are_those_of_the_host_to_the_last_bit():
    numbers = np.array([0.0, -0.0, 1.0, -1.5, 2.5, 5.0, 0.1, 1e-310, 1.7e308, np.inf, np.nan])
    x, y = (axis.ravel() for axis in np.meshgrid(numbers, numbers))
    out = np.zeros((4, x.size))
    native(remainders)[1, x.size](x, y, out)
    with np.errstate(all="ignore"):
        rows = [np.fmod(x, y), *np.modf(x), np.array(list(map(nearest, x, y)))]
    for found, right in zip(out, rows, strict=True):
        np.testing.assert_array_equal(found, right)
        is_number = ~np.isnan(right)
        assert (np.signbit(found) == np.signbit(right))[is_number].all()


def nearest(x, y):
    try:
        return math.remainder(x, y)
    except ValueError:
        return math.nan


@cuda.jit
def of_halves(a, small, out):
    i = cuda.grid(1)
    x = a[i]
    out[0, i], out[1, i] = math.sin(x), math.floor(x)
    out[2, i], out[3, i] = x + small[i], x * x - x / (x + x)
    out[4, i], out[5, i] = math.log2(abs(x)), x < small[i]


@pytest.mark.slow
def test_half_precision_stays_half_precision_in_both_engines_whichever_is_first():
    a = np.array([0.1, -2.7, 3.3, 60000, np.inf, 1e-7, -0.0, 1], np.float16)
    small = np.arange(8, dtype=np.int8)
    x, y = a, small.astype(np.float16)
    with np.errstate(all="ignore"):
        right = [np.sin(x), np.floor(x), x + y, x * x - x / (x + x), np.log2(abs(x)), x < y]
    for run in (checked, native, checked):
        out = np.zeros((6, 8), np.float32)
        run(of_halves)[1, 8](a, small, out)
        np.testing.assert_array_equal(out, np.array(right, np.float16))
