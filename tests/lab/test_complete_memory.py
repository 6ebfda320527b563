"""Records, complex numbers, slices, shapes, functions of cuda: their values, and their bugs."""

import math

import numpy as np
import pytest
from numba import cuda, float32, from_dtype, int32, uint32
from numba.cuda import libdevice
from numba.cuda.random import (
    xoroshiro128p_dtype,
    xoroshiro128p_normal_float32,
    xoroshiro128p_uniform_float64,
)

from lessons.lab.simulator.run import checked_run
from tests.lab.helpers import clean, floats, problems

PARTICLE = np.dtype(
    [("x", np.float32), ("id", np.int16), ("corner", np.float64, (2, 3)), ("on", np.bool_)],
    align=True,
)
PACKED = np.dtype([("flag", np.int8), ("value", np.float64)])  # 9 bytes: nothing is aligned
PAIR = np.dtype([("first", PACKED), ("weight", np.complex64)])
Particle = from_dtype(PARTICLE)
THREADS = 24


def run(kernel, *arguments, threads=THREADS, blocks=1, ask_numba=False):
    """ask_numba: of few kernels only, because it takes a while."""
    options = dict(without=["slow"], ask_numba=ask_numba)
    report = checked_run(kernel, blocks, threads, *arguments, **options)
    clean(report)
    return report


def kinds(report):
    return {finding.kind for finding in problems(report)} - {"slow"}


def records(count, dtype=PARTICLE):
    array = np.zeros(count, dtype)
    random = np.random.default_rng(3)
    for name in dtype.names:
        field = array[name]
        if field.dtype.fields is None:
            field[...] = random.integers(0, 2 if name == "on" else 50, field.shape)
    return array


# ---------------------------------------------------------------- records


@cuda.jit
def moves(particles, out):
    i = cuda.grid(1)
    if i < particles.shape[0]:
        p = particles[i]
        p.x += float32(1)
        particles[i].id = p.id * 2
        particles[i]["on"] = p.id > 50
        p.corner[1, i % 3] = p.x
        out[i] = particles.x[i] + particles[i].corner[0, 2] + p["id"]


def test_fields_of_records():
    particles, out = records(20), np.zeros(20)
    expected = particles.copy()
    expected["x"] += 1
    expected["id"] *= 2
    expected["on"] = expected["id"] > 50
    expected["corner"][np.arange(20), 1, np.arange(20) % 3] = expected["x"]
    run(moves, particles, out)
    assert (particles == expected).all()
    np.testing.assert_allclose(
        out, expected["x"] + expected["corner"][:, 0, 2] + expected["id"], rtol=1e-6
    )


@cuda.jit
def copies_records(source, target):
    i = cuda.grid(1)
    if i < source.shape[0]:
        target[source.shape[0] - 1 - i] = source[i]


@pytest.mark.parametrize("dtype", [PARTICLE, PACKED, PAIR])
def test_whole_records(dtype):
    source = records(20, dtype) if dtype is not PAIR else np.zeros(20, PAIR)
    if dtype is PAIR:
        source["first"] = records(20, PACKED)
        source["weight"] = np.arange(20) * 1j
    target = np.zeros(20, dtype)
    run(copies_records, source, target)
    assert (target == source[::-1]).all()


@cuda.jit
def nested(pairs, out):
    i = cuda.grid(1)
    if i < out.shape[0]:
        pairs[i].first.value += 2
        out[i] = pairs[i].first.flag + pairs[i]["weight"].imag


def test_records_in_records():
    pairs, out = np.zeros(9, PAIR), np.zeros(9)
    pairs["first"]["flag"], pairs["weight"] = np.arange(9), 3j
    run(nested, pairs, out, ask_numba=False)
    np.testing.assert_array_equal(pairs["first"]["value"], 2)
    np.testing.assert_array_equal(out, np.arange(9) + 3)


@cuda.jit
def shared_records(values, out):
    tile = cuda.shared.array(32, Particle)
    own = cuda.local.array(2, Particle)
    i = cuda.threadIdx.x
    tile[i].x = values[i]
    tile[i].id = i
    own[1].x = float32(2)
    cuda.syncthreads()
    other = tile[31 - i]
    out[i] = other.x * own[1].x + other.id


def test_records_in_shared_and_local_memory():
    values, out = floats(32), np.zeros(32, np.float32)
    run(shared_records, values, out, threads=32)
    np.testing.assert_allclose(out, values[::-1] * 2 + np.arange(32)[::-1], rtol=1e-6)


@cuda.jit
def one_record(record, out):
    i = cuda.grid(1)
    if i == 0:
        record.x = float32(5)
        out[0] = record.corner[1, 1]


def test_a_record_as_an_argument():
    particles, out = records(3), np.zeros(1)
    run(one_record, particles[1], out)
    assert particles["x"][1] == 5 and out[0] == particles["corner"][1, 1, 1]


@cuda.jit
def races_on_a_field(particles, out):
    i = cuda.grid(1)
    particles[i].x = float32(i)
    out[i] = particles[(i + 1) % particles.shape[0]].x  # here


@cuda.jit
def neighbouring_fields(particles):
    i = cuda.grid(1)
    if i % 2 == 0:
        particles[i // 2].x = float32(i)
    else:
        particles[i // 2].id = i


@cuda.jit
def field_outside(particles):
    particles[cuda.grid(1)].corner[0, cuda.grid(1)] = 1.0


def test_checks_of_records():
    report = checked_run(races_on_a_field, 1, 8, records(8), np.zeros(8))
    assert kinds(report) == {"race"}
    assert "particles[" in report.findings[0].message and "].x" in report.findings[0].message
    run(neighbouring_fields, records(12))
    report = checked_run(field_outside, 1, 8, records(8))
    assert kinds(report) == {"out-of-bounds"}


# ---------------------------------------------------------------- complex numbers


@cuda.jit
def rotates(z, w, real):
    i = cuda.grid(1)
    if i < z.shape[0]:
        w[i] = z[i] * z[i].conjugate() + 2j * z[i]
        real[i] = z.real[i] - z.imag[i] + abs(z[i])
        cuda.atomic.add(w.imag, 0, 1)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_arrays(dtype):
    z = (floats(20) + 1j * floats(20, seed=1)).astype(dtype)
    w, real = np.zeros(20, dtype), np.zeros(20, np.float64)
    report = checked_run(rotates, 1, 20, z, w, real, without=["slow"])
    assert kinds(report) == {"race"}  # an atomic protects only against other atomics
    np.testing.assert_allclose(w[1:], (z * z.conj() + 2j * z)[1:], rtol=1e-5)
    np.testing.assert_allclose(real, z.real - z.imag + abs(z), rtol=1e-5, atol=1e-6)


# ---------------------------------------------------------------- slices and shapes


@cuda.jit
def fills(table, out):
    i = cuda.threadIdx.x
    table[i, :] = 7
    table[i, 1::3] = out[:3]
    row = table[i][::-1]
    out[i] = row[0] * 10 + row[row.shape[0] - 2]


def test_rows_and_steps():
    table, out = np.zeros((4, 9), np.int32), np.zeros(4, np.int32)
    report = checked_run(fills, 1, 1, table, out, ask_numba=False)
    assert kinds(report) == set(), report
    np.testing.assert_array_equal(table[0], [7, 0, 7, 7, 0, 7, 7, 0, 7])
    assert out[0] == 7 * 10 + 0


@cuda.jit
def slices_of_its_own(values, out):
    i = cuda.grid(1)
    own = values[i : 2 * i : 2]
    total = float32(0)
    for value in own:
        total += value
    for k in range(own.shape[0]):
        total += own[k]
    out[i] = total + len(values[i::-1])


def test_slices_that_differ_between_threads():
    values, out = floats(30), np.zeros(15, np.float32)
    run(slices_of_its_own, values, out, threads=15)
    expected = [2 * values[i : 2 * i : 2].sum() + len(values[i::-1]) for i in range(15)]
    np.testing.assert_allclose(out, expected, rtol=1e-5)


@cuda.jit
def past_its_slice(values, out):
    i = cuda.grid(1)
    out[i] = values[:i][i]


def test_a_slice_has_bounds_of_its_own():
    report = checked_run(past_its_slice, 1, 4, floats(8), np.zeros(4, np.float32))
    assert kinds(report) == {"out-of-bounds"}


@cuda.jit
def reshapes(values, out):
    table = values.reshape((3, 4))
    flat = table[1].reshape(2, 2)
    column = values.reshape(-1, 4)[:, 1]
    i = cuda.grid(1)
    if i == 0:
        out[0] = table[2, 1] + flat[1, 0] + column[2] + table.T[3, 0] + values.ravel()[5]
        out[1] = table.size + table.ndim + table.nbytes + table.strides[0]


def test_shapes():
    values, out = np.arange(12, dtype=np.float32), np.zeros(2)
    run(reshapes, values, out, ask_numba=False)
    np.testing.assert_array_equal(out, [9 + 6 + 9 + 3 + 5, 12 + 2 + 48 + 16])


@cuda.jit
def axes(volume, out):
    i = cuda.threadIdx.x
    plane = volume[..., i]
    out[i, ...] = plane[1, :]
    out[i, 0] += volume[0][1, i] + volume[:, 1, i][1]


def test_an_ellipsis():
    volume = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    out = np.zeros((4, 3), np.int32)
    run(axes, volume, out, threads=4, ask_numba=False)
    expected = volume[1].T.copy()
    expected[:, 0] += volume[0, 1] + volume[1, 1]
    np.testing.assert_array_equal(out, expected)


@cuda.jit
def whole_rows(a, b, out):
    i = cuda.threadIdx.x
    np.add(a[i], b[i], out[i])
    out[i] *= 2
    out[i, 0] += a[i].sum() + b[i].max()


@pytest.mark.slow
def test_functions_of_numpy_on_rows():
    a, b, out = floats(4, 5), floats(4, 5, seed=1), np.zeros((4, 5), np.float32)
    report = checked_run(whole_rows, 1, 4, a, b, out)
    if kinds(report) == {"compile"}:
        pytest.skip("the rules that stand in for Numba's compiler know no NumPy")
    expected = (a + b) * 2
    expected[:, 0] += a.sum(axis=1) + b.max(axis=1)
    np.testing.assert_allclose(out, expected, rtol=1e-5)


@pytest.mark.parametrize("view", [slice(None, None, -1), slice(1, None, 3)])
def test_arrays_that_are_views(view):
    backing, out = floats(30), np.zeros(10, np.float32)
    values = backing[view][:10]
    run(doubles, values, out, threads=10)
    np.testing.assert_array_equal(out, 2 * values)


@cuda.jit
def doubles(values, out):
    i = cuda.grid(1)
    out[i] = values[i] + values[i]
    values[i] = values[i]


@cuda.jit
def as_bits(values, out):
    i = cuda.grid(1)
    out[i] = values.view(np.uint32)[i]


def test_the_bits_of_an_array():
    values, out = floats(8), np.zeros(8, np.uint32)
    run(as_bits, values, out, threads=8)
    np.testing.assert_array_equal(out, values.view(np.uint32))


# ---------------------------------------------------------------- functions of cuda


@cuda.jit
def draws(states, uniform, normal):
    i = cuda.grid(1)
    for k in range(uniform.shape[1]):
        uniform[i, k] = xoroshiro128p_uniform_float64(states, i)
        normal[i, k] = xoroshiro128p_normal_float32(states, i)


def test_random_numbers_are_those_of_numba():
    states = np.zeros(4, xoroshiro128p_dtype)
    for name in states.dtype.names:
        states[name] = np.random.default_rng(1).integers(1, 1 << 63, 4)
    first = states.copy()
    uniform, normal = np.zeros((4, 3)), np.zeros((4, 3), np.float32)
    run(draws, states, uniform, normal, threads=4)
    mask = (1 << 64) - 1
    for i in range(4):
        s0, s1 = int(first["s0"][i]), int(first["s1"][i])
        value = (s0 + s1) & mask
        assert uniform[i, 0] == (value >> 11) * 2.0**-53
    assert len(np.unique(uniform)) == 12 and np.isfinite(normal).all()
    assert (states["s0"] != first["s0"]).all()


@cuda.jit
def vectors(out):
    i = cuda.grid(1)
    a = cuda.float32x2(i, 2)
    b = cuda.float4(a, cuda.float32x1(3), 4.5)
    c = cuda.uint8x3(300, 1, 2)
    out[i] = a.x + b.y * 10 + b.z * 100 + b.w + c.x


def test_vector_types():
    out = np.zeros(4)
    run(vectors, out, threads=4)
    np.testing.assert_array_equal(out, np.arange(4) + 20 + 300 + 4.5 + 300 % 256)


@cuda.jit
def by_libdevice(x, out):
    i = cuda.grid(1)
    sine, cosine = libdevice.sincosf(x[i])
    whole, power = libdevice.frexp(x[i])
    out[0, i] = sine + cosine * 2
    out[1, i] = whole + power
    out[2, i] = libdevice.float2int_ru(x[i] * 9) + libdevice.mulhi(1 << 30, 12)
    out[3, i] = libdevice.erfinv(libdevice.erf(x[i])) + libdevice.normcdfinv(0.975)
    out[4, i] = libdevice.byte_perm(0x03020100, 0x07060504, 0x6420) + libdevice.popc(255)
    out[5, i] = libdevice.rsqrtf(libdevice.fabsf(x[i]) + 1) + cuda.libdevice.saturatef(2.5)


def test_libdevice():
    x, out = floats(20), np.zeros((6, 20))
    run(by_libdevice, x, out, threads=20)
    mantissa, exponent = np.frexp(x.astype(np.float64))
    np.testing.assert_allclose(out[0], np.sin(x) + 2 * np.cos(x), rtol=1e-5)
    np.testing.assert_allclose(out[1], mantissa + exponent, rtol=1e-6)
    np.testing.assert_array_equal(out[2], np.ceil(x * np.float32(9)) + 3)
    np.testing.assert_allclose(out[3], x + 1.959963984540054, rtol=1e-6)
    np.testing.assert_array_equal(out[4], 0x06040200 + 8)
    np.testing.assert_allclose(out[5], 1 / np.sqrt(abs(x) + 1) + 1, rtol=1e-5)


@cuda.jit
def hints(values, out):
    i = cuda.grid(1)
    total = cuda.ldca(values, i) + cuda.ldcg(values, i) + cuda.ldcs(values, i)
    cuda.stcg(out, i, total + cuda.ldlu(values, i) + cuda.ldcv(values, i))


def test_hints_for_the_cache():
    values, out = floats(8), np.zeros(8, np.float32)
    run(hints, values, out, threads=8)
    np.testing.assert_allclose(out, values * 5, rtol=1e-6)
    report = checked_run(hints, 1, 9, values, out)
    assert kinds(report) == {"out-of-bounds"}


@cuda.jit
def matches(values, out, alike):
    i = cuda.grid(1)
    mask, same = cuda.match_all_sync(0xFFFFFFFF, values[i])
    out[i] = cuda.match_any_sync(0xFFFFFFFF, values[i])
    alike[i] = mask if same else uint32(1)


def test_matches_of_a_warp():
    values = (np.arange(64) % 3).astype(np.int32)
    values[32:] = 5
    out, alike = np.zeros(64, np.uint32), np.zeros(64, np.uint32)
    run(matches, values, out, alike, threads=64)
    expected = [sum(1 << k for k in range(32) if values[k] == values[i]) for i in range(32)]
    np.testing.assert_array_equal(out, expected + [0xFFFFFFFF] * 32)
    np.testing.assert_array_equal(alike, [1] * 32 + [0xFFFFFFFF] * 32)


try:
    from numba.cuda import fp16
except ImportError:
    fp16 = None


@cuda.jit
def halves(a, b, out):
    i = cuda.grid(1)
    out[0, i] = fp16.hadd(a[i], b[i])
    out[1, i] = fp16.hfma(a[i], b[i], a[i])
    out[2, i] = fp16.hsqrt(fp16.habs(a[i]))
    out[3, i] = fp16.hmax(a[i], b[i]) if fp16.hgt(a[i], b[i]) else fp16.hneg(b[i])


@pytest.mark.skipif(not hasattr(fp16, "hsqrt"), reason="this numba.cuda has fewer intrinsics")
def test_half_precision():
    a, b = floats(8).astype(np.float16), floats(8, seed=1).astype(np.float16)
    out = np.zeros((4, 8), np.float16)
    run(halves, a, b, out, threads=8)
    wide = a.astype(np.float64), b.astype(np.float64)
    expected = [wide[0] + wide[1], wide[0] * wide[1] + wide[0], np.sqrt(abs(wide[0]))]
    expected.append(np.where(a > b, wide[0], -wide[1]))
    np.testing.assert_array_equal(out, np.array(expected).astype(np.float16))


@cuda.jit
def unaligned(x, out):
    i = cuda.grid(1)
    out[i] = int32(math.floor(x[i].value)) + x[i].flag


def test_records_without_alignment():
    x, out = records(10, PACKED), np.zeros(10, np.int32)
    run(unaligned, x, out, threads=10, ask_numba=False)
    np.testing.assert_array_equal(out, x["value"] + x["flag"])
