"""Raw instructions do what their emulations do, and both what the arithmetic says.

Without a GPU the emulations run, in the checked simulator; on a GPU the instructions themselves.
"""

import numpy as np
import pytest
from numba import cuda, int32, uint32

from kernels.fast import ptx
from kernels.fast.ptx import begin_copy, wait_for_copies

pytestmark = pytest.mark.gpu


@pytest.fixture
def run(instruction_engine):
    """run(kernel, *arrays): launch one warp; returns what each array holds afterwards."""
    engine = instruction_engine

    def launch(kernel, *arrays, threads=32):
        there = [engine.to_device(array.copy()) for array in arrays]
        engine.launch(kernel, 1, threads, *there)
        return [np.array(engine.to_host(array)) for array in there]

    return launch


def numbers(*shape, spread=1.0):
    return (np.random.default_rng(7).normal(size=shape) * spread).astype(np.float32)


AWKWARD = np.array(
    [
        0,
        -0.0,
        1,
        -1,
        65504,
        65519,
        65520,
        -7e4,
        1e-8,
        6e-8,
        -3e-5,
        1e30,
        -1e-30,
        2**-24,
        0.1,
        np.inf,
    ],
    np.float32,
)


def bfloat16(values):
    """Round to nearest even at 8 bits, by float64 arithmetic; zero and infinity stay."""
    values = np.asarray(values, np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = 2.0 ** (np.floor(np.log2(np.abs(values))) - 7)
        return np.where(np.isfinite(values) & (values != 0), np.round(values / unit) * unit, values)


@cuda.jit
def pack_all(values, words):
    lane = cuda.threadIdx.x
    x, y = values[lane, 0], values[lane, 1]
    words[lane, 0] = ptx.pack_halves(x, y)
    words[lane, 1] = ptx.pack_bfloat16(x, y)
    words[lane, 2] = ptx.pack_relu_halves(x, y)
    words[lane, 3] = ptx.pack_relu_bfloat16(x, y)
    words[lane, 4] = ptx.halves_to_bfloat16(ptx.pack_halves(x, y))


def test_packing_rounds_to_nearest_even(run):
    values = numbers(32, 2)
    values[:8] = AWKWARD.reshape(8, 2)
    _, words = run(pack_all, values, np.zeros((32, 5), np.uint32))
    pairs = words.view(np.uint16).reshape(32, 5, 2)
    with np.errstate(over="ignore"):
        halves = values.astype(np.float16)
    as_floats = (pairs.astype(np.uint32) << 16).view(np.float32)
    np.testing.assert_array_equal(pairs[:, 0].view(np.float16), halves)
    np.testing.assert_array_equal(as_floats[:, 1], bfloat16(values).astype(np.float32))
    np.testing.assert_array_equal(pairs[:, 2].view(np.float16), np.maximum(halves, 0))
    np.testing.assert_array_equal(
        as_floats[:, 3], bfloat16(np.maximum(values, 0)).astype(np.float32)
    )
    np.testing.assert_array_equal(as_floats[:, 4], bfloat16(halves.astype(np.float64)))


@cuda.jit
def shuffle_bytes(words, results):
    lane = cuda.threadIdx.x
    results[lane, 0] = ptx.mask_of_signs(words[lane, 0])
    results[lane, 1] = ptx.select_16_bits(words[lane, 0], words[lane, 1], uint32(0))
    results[lane, 2] = ptx.select_16_bits(words[lane, 0], words[lane, 1], uint32(1))


def test_masks_and_selections(run):
    words = np.random.default_rng(3).integers(0, 1 << 32, (32, 2), np.uint64).astype(np.uint32)
    _, results = run(shuffle_bytes, words, np.zeros((32, 3), np.uint32))
    halves, chosen = words.view(np.uint16).reshape(32, 2, 2), results.view(np.uint16)
    chosen = chosen.reshape(32, 3, 2)
    np.testing.assert_array_equal(chosen[:, 0], np.where(halves[:, 0] >> 15, 0xFFFF, 0))
    np.testing.assert_array_equal(chosen[:, 1], halves[:, :, 0])
    np.testing.assert_array_equal(chosen[:, 2], halves[:, :, 1])


@cuda.jit
def multiply_both(a, b, c, with_halves, with_bfloat16):
    """Fragments filled as `ptx` describes them: lane 4 r + k has row r and column k."""
    lane = cuda.threadIdx.x
    r, k = lane // 4, lane % 4
    w0 = ptx.pack_halves(a[r, 2 * k], a[r, 2 * k + 1])
    w1 = ptx.pack_halves(a[r + 8, 2 * k], a[r + 8, 2 * k + 1])
    w2 = ptx.pack_halves(a[r, 2 * k + 8], a[r, 2 * k + 9])
    w3 = ptx.pack_halves(a[r + 8, 2 * k + 8], a[r + 8, 2 * k + 9])
    b0 = ptx.pack_halves(b[2 * k, r], b[2 * k + 1, r])
    b1 = ptx.pack_halves(b[2 * k + 8, r], b[2 * k + 9, r])
    c0, c1, c2, c3 = c[r, 2 * k], c[r, 2 * k + 1], c[r + 8, 2 * k], c[r + 8, 2 * k + 1]
    d0, d1, d2, d3 = ptx.multiply_halves(w0, w1, w2, w3, b0, b1, c0, c1, c2, c3)
    with_halves[r, 2 * k], with_halves[r, 2 * k + 1] = d0, d1
    with_halves[r + 8, 2 * k], with_halves[r + 8, 2 * k + 1] = d2, d3

    w0 = ptx.pack_bfloat16(a[r, 2 * k], a[r, 2 * k + 1])
    w1 = ptx.pack_bfloat16(a[r + 8, 2 * k], a[r + 8, 2 * k + 1])
    w2 = ptx.pack_bfloat16(a[r, 2 * k + 8], a[r, 2 * k + 9])
    w3 = ptx.pack_bfloat16(a[r + 8, 2 * k + 8], a[r + 8, 2 * k + 9])
    b0 = ptx.pack_bfloat16(b[2 * k, r], b[2 * k + 1, r])
    b1 = ptx.pack_bfloat16(b[2 * k + 8, r], b[2 * k + 9, r])
    d0, d1, d2, d3 = ptx.multiply_bfloat16(w0, w1, w2, w3, b0, b1, c0, c1, c2, c3)
    with_bfloat16[r, 2 * k], with_bfloat16[r, 2 * k + 1] = d0, d1
    with_bfloat16[r + 8, 2 * k], with_bfloat16[r + 8, 2 * k + 1] = d2, d3


def test_tensor_cores_multiply_matrices(run):
    a, b, c = numbers(16, 16), numbers(24, 8)[8:], numbers(40, 8)[24:]
    empty = np.full((16, 8), np.nan, np.float32)
    *_, with_halves, with_bfloat16 = run(multiply_both, a, b, c, empty, empty)
    exact = a.astype(np.float16).astype(np.float64) @ b.astype(np.float16).astype(np.float64) + c
    np.testing.assert_allclose(with_halves, exact, atol=1e-5)
    np.testing.assert_allclose(with_bfloat16, bfloat16(a) @ bfloat16(b) + c, atol=1e-5)
    assert abs(with_halves - (a.astype(np.float64) @ b + c)).max() < 0.01


@cuda.jit
def multiply_in_tf32(a, b, c, result):
    lane = cuda.threadIdx.x
    r, k = lane // 4, lane % 4
    w0, w1 = ptx.round_to_tf32(a[r, k]), ptx.round_to_tf32(a[r + 8, k])
    w2, w3 = ptx.round_to_tf32(a[r, k + 4]), ptx.round_to_tf32(a[r + 8, k + 4])
    b0, b1 = ptx.round_to_tf32(b[k, r]), ptx.round_to_tf32(b[k + 4, r])
    c0, c1, c2, c3 = c[r, 2 * k], c[r, 2 * k + 1], c[r + 8, 2 * k], c[r + 8, 2 * k + 1]
    d0, d1, d2, d3 = ptx.multiply_tf32(w0, w1, w2, w3, b0, b1, c0, c1, c2, c3)
    result[r, 2 * k], result[r, 2 * k + 1] = d0, d1
    result[r + 8, 2 * k], result[r + 8, 2 * k + 1] = d2, d3


def test_tf32_has_eleven_significant_bits(run):
    a, b, c = numbers(16, 8), numbers(24, 8)[16:], numbers(40, 8)[24:]
    *_, result = run(multiply_in_tf32, a, b, c, np.full((16, 8), np.nan, np.float32))
    exact = a.astype(np.float64) @ b.astype(np.float64) + c

    def rounded(values):
        mantissas, exponents = np.frexp(values.astype(np.float64))
        return np.ldexp(np.round(mantissas * 2048) / 2048, exponents)

    np.testing.assert_allclose(result, rounded(a) @ rounded(b) + c, atol=1e-5)
    assert 1e-5 < abs(result - exact).max() < 0.01


@cuda.jit
def raise_two(exponents, powers):
    lane = cuda.threadIdx.x
    powers[lane] = ptx.power_of_two(exponents[lane])


def test_powers_of_two(run):
    exponents = np.concatenate([[-np.inf, 0, 1, -100], numbers(28, spread=20)]).astype(np.float32)
    _, powers = run(raise_two, exponents, np.zeros(32, np.float32))
    np.testing.assert_allclose(powers, np.exp2(exponents.astype(np.float64)), rtol=1e-6)


@cuda.jit
def transpose(words, results):
    lane = cuda.threadIdx.x
    results[lane] = ptx.transpose_8x8(words[lane])


def test_transposing(run):
    matrix = np.arange(64, dtype=np.uint16).reshape(8, 8)
    _, results = run(transpose, matrix.copy().view(np.uint32).ravel(), np.zeros(32, np.uint32))
    np.testing.assert_array_equal(results.view(np.uint16).reshape(8, 8), matrix.T)


@cuda.jit
def four_at_a_time(source, copies, sums):
    lane = cuda.threadIdx.x
    x, y, z, w = ptx.load_four(source, lane)
    ptx.store_four(copies, 31 - lane, w, z, y, x)
    ptx.add_four(sums, lane // 8, x, y, z, w)


def test_four_floats_at_a_time(run):
    source = numbers(32, 4)
    start = numbers(4, 4)
    _, copies, sums = run(four_at_a_time, source, np.zeros((32, 4), np.float32), start)
    np.testing.assert_array_equal(copies, source[::-1, ::-1])
    expected = start + source.astype(np.float64).reshape(4, 8, 4).sum(axis=1)
    np.testing.assert_allclose(sums, expected, atol=1e-5)


@cuda.jit
def count_arrivals(counter, seen):
    lane = cuda.threadIdx.x
    ptx.arrive(counter)
    cuda.syncthreads()
    seen[lane] = ptx.arrived(counter)


def test_arrivals_are_counted(run):
    counter, seen = run(count_arrivals, np.zeros(1, np.uint32), np.zeros(32, np.uint32))
    assert counter[0] == 32
    assert (seen == 32).all()


@cuda.jit
def copy_words(matrix, rows, copied):
    tile = cuda.shared.array((32, 8), uint32, alignment=16)
    lane = cuda.threadIdx.x
    for column in range(0, 8, 4):
        begin_copy(tile, lane, column, matrix, lane, column, int32(lane < rows[0]))
    wait_for_copies()
    cuda.syncthreads()
    for column in range(8):
        copied[lane, column] = tile[31 - lane, column]


def test_copies_of_four_words_and_zeros_outside(run):
    matrix = np.random.default_rng(3).integers(0, 2**32, (20, 8), dtype=np.uint32)
    _, _, copied = run(copy_words, matrix, np.array([20], np.int32), np.ones((32, 8), np.uint32))
    assert (copied[::-1][:20] == matrix).all()
    assert (copied[::-1][20:] == 0).all()
