"""bfloat16: the rounding, the edges, and kernels of `numba.cuda.bf16`."""

import bisect
import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from numba import cuda, float32

from lessons.lab import checked_run, native
from lessons.lab.bfloat16 import FUNCTIONS, of_bits, rounded
from lessons.lab.errors import InputError
from tests.lab.helpers import clean, expect, needs_numba_cuda

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of NumPy, about NaN
INFINITE, NAN, LARGEST, ONE = 0x7F80, 0x7FFF, 0x7F7F, 0x3F80
SIGN = 0x8000


def number(bits):
    return of_bits(np.uint16(bits))


def bits(value):
    return int(FUNCTIONS["bfloat16_as_uint16"](value))


def on_bits(name, *operands):
    """A function of numbers that are given, and returned, by their bits."""
    result = FUNCTIONS[name](*map(number, operands))
    return bits(result) if not isinstance(result, (np.generic, np.ndarray)) else result


# ---------------------------------------------------------------- rounding, by hand


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1.0, ONE), (-2.5, 0xC020), (0.0, 0), (-0.0, SIGN), (3.14, 0x4049),
        (1 + 2**-8, ONE),  # halfway: the even one, below
        (1 + 3 * 2**-8, ONE + 2),  # halfway: the even one, above
        (1 + 2**-8 + 2**-40, ONE + 1),  # by way of a float32 it would be halfway
        (2.0**-133, 1), (2.0**-134, 0), (2.0**-134 * 1.01, 1), (-(2.0**-134), SIGN),
        (2.0**-126, 0x0080), (2.0**128 - 2.0**120, LARGEST),
        (2.0**128 - 2.0**119, INFINITE), (2.0**128 - 2.0**119 - 2.0**80, LARGEST),
        (-1e300, SIGN | INFINITE), (math.inf, INFINITE), (math.nan, NAN), (-math.nan, NAN),
    ],
)  # fmt: skip
def test_a_double_is_rounded_to_the_nearest_and_of_two_to_the_even_one(value, expected):
    assert bits(rounded(np.float64(value))) == expected


@pytest.mark.parametrize(
    ("value", "by_mode"),  # rn, rz, rd, ru
    [
        (1 + 2**-10, (ONE, ONE, ONE, ONE + 1)),
        (-1 - 2**-10, (SIGN | ONE, SIGN | ONE, (SIGN | ONE) + 1, SIGN | ONE)),
        (1e39, (INFINITE, LARGEST, LARGEST, INFINITE)),
        (-1e39, (SIGN | INFINITE, SIGN | LARGEST, SIGN | INFINITE, SIGN | LARGEST)),
        (1e-45, (0, 0, 0, 1)),
        (-1e-45, (SIGN, SIGN, SIGN | 1, SIGN)),
        (math.nan, (NAN, NAN, NAN, NAN)),
    ],
)
def test_the_other_ways_of_rounding(value, by_mode):
    found = tuple(bits(rounded(np.float64(value), mode)) for mode in ("rn", "rz", "rd", "ru"))
    assert found == by_mode


def test_large_whole_numbers_are_rounded_once():
    just_above_half = 2**62 + 2**54 + 1  # a double would lose the last 1
    assert bits(FUNCTIONS["int64_to_bfloat16_rn"](np.int64(just_above_half))) == 0x5E81
    assert bits(FUNCTIONS["int64_to_bfloat16_rn"](np.int64(just_above_half - 1))) == 0x5E80
    assert bits(FUNCTIONS["int64_to_bfloat16_rn"](np.int64(-just_above_half))) == 0xDE81
    assert bits(FUNCTIONS["int64_to_bfloat16_rd"](np.int64(-(2**62) - 1))) == 0xDE81
    assert bits(FUNCTIONS["uint64_to_bfloat16_rz"](np.uint64(2**64 - 1))) == 0x5F7F
    assert bits(FUNCTIONS["uint64_to_bfloat16_rn"](np.uint64(2**64 - 1))) == 0x5F80


# ---------------------------------------------------------------- against exact fractions

POSITIVE = [Fraction(float(number(pattern).number)) for pattern in range(INFINITE)]


def nearest(exact):
    """The bits of the number that is nearest to a fraction, found among all of them."""
    sign, magnitude = (SIGN if exact < 0 else 0), abs(exact)
    above = bisect.bisect_left(POSITIVE, magnitude)
    if above == len(POSITIVE):
        return sign | (INFINITE if magnitude >= 2**128 - 2**119 else LARGEST)
    if POSITIVE[above] == magnitude:
        return sign | above
    to_above, to_below = POSITIVE[above] - magnitude, magnitude - POSITIVE[above - 1]
    if to_above == to_below:
        return sign | (above if above % 2 == 0 else above - 1)
    return sign | (above if to_above < to_below else above - 1)


def exact_of(pattern):
    magnitude = POSITIVE[pattern & ~SIGN]
    return -magnitude if pattern & SIGN else magnitude


def some_patterns(count, seed):
    """Among them small numbers, and such as differ little."""
    choose = random.Random(seed)
    kinds = [lambda: choose.randrange(INFINITE), lambda: choose.randrange(1, 512),
             lambda: ONE + choose.randrange(-200, 200)]  # fmt: skip
    return [choose.choice(kinds)() | choose.choice([0, SIGN]) for _ in range(count)]


@pytest.mark.parametrize(
    ("name", "exact", "operands"),
    [
        ("hadd", lambda a, b: a + b, 2),
        ("hsub", lambda a, b: a - b, 2),
        ("hmul", lambda a, b: a * b, 2),
        ("hdiv", lambda a, b: a / b if b else None, 2),
        ("hfma", lambda a, b, c: a * b + c, 3),
    ],
)
def test_arithmetic_is_rounded_once(name, exact, operands):
    patterns = some_patterns(200 * operands, seed=3)
    given = list(zip(*[iter(patterns)] * operands, strict=True))
    expected = [exact(*map(exact_of, each)) for each in given]
    columns = [number(np.array(column, np.uint16)) for column in zip(*given, strict=True)]
    found = FUNCTIONS["bfloat16_as_uint16"](FUNCTIONS[name](*columns))
    for each, result, fraction in zip(given, found.tolist(), expected, strict=True):
        if fraction:  # the sign of a zero has its own tests
            assert result == nearest(fraction), (name, each)


def test_a_fused_multiplication_sees_what_a_double_would_lose():
    seven, part, smallest = 0x40E0, bits(rounded(np.float64(37 / 256))), 1
    assert on_bits("hfma", seven, part, 0) == ONE + 2  # 259 / 256 is halfway: the even one
    assert on_bits("hfma", seven, part, SIGN | smallest) == ONE + 1


# ---------------------------------------------------------------- edges


def test_zeros_have_signs():
    assert on_bits("hneg", 0) == SIGN and on_bits("habs", SIGN) == 0
    assert on_bits("hadd", SIGN, SIGN) == SIGN and on_bits("hadd", 0, SIGN) == 0
    assert on_bits("hmul", SIGN, ONE) == SIGN
    assert on_bits("hmax", SIGN, 0) == on_bits("hmax", 0, SIGN) == 0
    assert on_bits("hmin", SIGN, 0) == on_bits("hmin", 0, SIGN) == SIGN
    assert on_bits("htrunc", SIGN | 0x3F00) == SIGN  # -0.5
    assert bool(on_bits("heq", 0, SIGN))


def test_what_is_no_number():
    for name in ("hadd", "hmax_nan", "hmin_nan"):
        assert on_bits(name, NAN, ONE) == on_bits(name, ONE, 0x7FC1) == NAN
    for name in ("hmax", "hmin"):
        assert on_bits(name, NAN, ONE) == on_bits(name, ONE, NAN) == ONE
        assert on_bits(name, NAN, NAN) == NAN
    assert on_bits("hadd", INFINITE, SIGN | INFINITE) == NAN
    assert on_bits("hadd_sat", NAN, ONE) == 0 and on_bits("hfma_relu", NAN, ONE, ONE) == NAN
    assert on_bits("hsqrt", SIGN | ONE) == NAN
    assert bool(on_bits("hisnan", 0x7FC1)) and not bool(on_bits("hisnan", INFINITE))
    assert [int(on_bits("hisinf", b)) for b in (INFINITE, SIGN | INFINITE, NAN)] == [1, -1, 0]
    assert on_bits("bfloat16", 0x7FC1) == 0x7FC1  # only arithmetic changes its bits


@pytest.mark.parametrize("name", ["heq", "hne", "hlt", "hle", "hgt", "hge"])
def test_comparisons_with_what_is_no_number(name):
    assert not on_bits(name, NAN, ONE) and not on_bits(name, NAN, NAN)
    assert on_bits(name + "u", NAN, ONE) and on_bits(name + "u", NAN, NAN)
    holds = name in ("heq", "hle", "hge")
    assert on_bits(name, ONE, ONE) == on_bits(name + "u", ONE, ONE) == holds


@pytest.mark.parametrize(
    ("value", "by_mode"),
    [(1.5, (2, 1, 1, 2)), (2.5, (2, 2, 2, 3)), (-1.5, (-2, -1, -2, -1)), (-0.25, (0, 0, -1, 0))],
)
def test_to_whole_numbers(value, by_mode):
    for kind, mode in itertools.product(("int16", "int32", "int64"), range(4)):
        name = f"bfloat16_to_{kind}_{('rn', 'rz', 'rd', 'ru')[mode]}"
        found = FUNCTIONS[name](rounded(np.float64(value)))
        assert found == by_mode[mode] and found.dtype == kind


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16", "int32", "int64", "uint64"])
def test_what_does_not_fit_becomes_the_last_whole_number(kind):
    info = np.iinfo(kind)
    convert = FUNCTIONS[f"bfloat16_to_{kind}_rz"]
    values = number(np.array([INFINITE, SIGN | INFINITE, LARGEST, NAN, ONE], np.uint16))
    of_nan = 0 if info.bits < 64 else 2**63 if kind == "uint64" else info.min
    assert convert(values).tolist() == [info.max, info.min, info.max, of_nan, 1]


def test_all_bits_survive():
    patterns = np.arange(1 << 16, dtype=np.uint16)
    assert (FUNCTIONS["bfloat16_as_uint16"](number(patterns)) == patterns).all()
    finite = patterns[np.isfinite(number(patterns).number)]
    assert (FUNCTIONS["bfloat16_as_uint16"](rounded(number(finite).number)) == finite).all()


# ---------------------------------------------------------------- in kernels

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

try:
    from numba.cuda import bf16
    from numba.cuda.bf16 import bfloat16, hadd, hfma, hlt, uint16_as_bfloat16
except ImportError:
    bf16 = None


@cuda.jit(device=True)
def half_of(x):
    return x * bfloat16(0.5)


@cuda.jit
def rounded_sums(values, bits, out):
    i = cuda.grid(1)
    if i < values.size:
        total = bfloat16(0.0)
        for _ in range(3):
            total += bfloat16(values[i])
        if total > bfloat16(300):
            total = half_of(total)
        else:
            total = -total
        out[i] = total
        bits[i] = bf16.bfloat16_as_uint16(math.sqrt(abs_of(total)) if i % 2 else hadd(total, 1.0))


@cuda.jit(device=True)
def abs_of(x):
    return bf16.habs(x)


@pytest.mark.slow
@needs_numba_cuda
def test_a_kernel_rounds_after_each_operation():
    values = np.array([100.3, 1.01, -7.77, 250.0, 0.1], np.float32)
    out, patterns = np.zeros(5, np.float32), np.zeros(5, np.uint16)
    clean(checked_run(rounded_sums, 1, 32, values, patterns, out))
    for i, value in enumerate(values.tolist()):
        one, total = nearest_fraction(Fraction(value)), Fraction(0)
        for _ in range(3):
            total = nearest_fraction(total + one)
        total = nearest_fraction(total / 2) if total > 300 else -total
        assert Fraction(float(out[i])) == total
        last = Fraction(math.sqrt(abs(total))) if i % 2 else total + 1
        assert patterns[i] == nearest(last)


def nearest_fraction(exact):
    return exact_of(nearest(exact))


@cuda.jit
def mixed(x, out):
    a = bfloat16(x[0])
    out[0] = a + float32(0.001)  # goes on in float32
    out[1] = abs(a)
    out[2] = float32(a) if hlt(a, 2.0) else float32(0)
    out[3] = hfma(a, 2.0, uint16_as_bfloat16(0x3F80))
    out[4] = max(a, bfloat16(1))
    out[5] = isinstance(a, bfloat16)


@pytest.mark.slow
@needs_numba_cuda
def test_what_goes_on_in_single_precision():
    out = np.zeros(6, np.float32)
    clean(checked_run(mixed, 1, 1, np.array([-1.01], np.float32), out))
    a = np.float32(-1.0078125)
    assert out.tolist() == [a + np.float32(0.001), -a, a, 2 * a + 1, 1, 1]


@cuda.jit
def of_arrays(x, rows, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] * bfloat16(3)
        out[i] += x[i]
        for number in rows[i]:
            out[i] = hadd(out[i], number)
        x[i] = 1 + 2.0**-8 + 2.0**-40


@pytest.mark.slow
@needs_numba_cuda
@pytest.mark.skipif(ml_dtypes is None, reason="needs ml_dtypes, which has their dtype")
def test_arrays_of_bfloat16():
    x = (np.arange(9) / 7).astype(ml_dtypes.bfloat16)
    rows, out = np.stack([x, x + x], axis=1), np.zeros_like(x)
    three = np.array(3, x.dtype)
    expected = ((x * three + x) + rows[:, 0]) + rows[:, 1]
    clean(checked_run(of_arrays, 1, 32, x, rows, out))
    assert out.tobytes() == expected.tobytes()
    assert (x.view(np.uint16) == ONE + 1).all()


@cuda.jit
def of_scalars(x, factor, out):
    out[0] = x[0] * factor
    out[1] = ml_dtypes.bfloat16(3.14)


@pytest.mark.slow
@needs_numba_cuda
@pytest.mark.skipif(ml_dtypes is None, reason="needs ml_dtypes, which has their dtype")
def test_numbers_of_ml_dtypes():
    x, out = np.full(1, 1.01, ml_dtypes.bfloat16), np.zeros(2, np.float32)
    clean(checked_run(of_scalars, 1, 1, x, ml_dtypes.bfloat16(1.01), out))
    assert out.tolist() == [1.015625, 3.140625]  # 1.0078125 squared is 1.01568...


@cuda.jit
def with_a_whole_literal(x, out):
    out[0] = hadd(bfloat16(x[0]), 3)  # here


@pytest.mark.slow
@needs_numba_cuda
def test_what_numba_passes_wrongly_is_not_computed():
    report = checked_run(with_a_whole_literal, 1, 1, np.ones(1, np.float32), np.ones(1, np.float32))
    expect(with_a_whole_literal, "unsupported", report, "bfloat16(...)", "it compiles")


@pytest.mark.slow
@needs_numba_cuda
def test_the_native_engine_says_that_it_cannot():
    with pytest.raises(InputError, match=r"native engine cannot do cuda\.bf16\.bfloat16.*CPU"):
        native(mixed)[1, 1](np.ones(1, np.float32), np.zeros(6, np.float32))
