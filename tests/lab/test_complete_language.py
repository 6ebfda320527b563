"""What Python's language has for kernels: CPython itself says what each thread must compute."""

import cmath
import enum
import math
import operator

import numba
import numpy as np
import pytest
from numba import cuda, float32, int32, int64, uint8
from numba.extending import register_jitable

from lessons.lab.simulator.run import checked_run
from tests.lab.helpers import clean, problems

literal_unroll = getattr(cuda, "literal_unroll", numba.literal_unroll)
THREADS = 40
ONE_TO_FOUR = (1, 2, 3, 4)
MIXED = (1, 2.5, 3 + 0j)


class Fruit(enum.IntEnum):
    apple = 3
    pear = 5


class Colour(enum.Enum):
    red = 1
    blue = 2


def varying_item(i, x):
    return ONE_TO_FOUR[i % 4] + ONE_TO_FOUR[-1 - i % 4]


def varying_item_of_floats(i, x):
    return (x, -x, x * x)[i % 3]


def part_of_a_tuple(i, x):
    a, b = ONE_TO_FOUR[1:3]
    return a * 10 + b + ONE_TO_FOUR[::-1][0]


def joined_tuples(i, x):
    total = 0
    for value in (i, 2) + (3,) * 2:
        total = total * 7 + value
    return total


def starred_call(i, x):
    pair = (i, x)
    return combine(*pair, *(2,))


def star_parameters(i, x):
    return sum_of(i, 1, 2)


@register_jitable
def combine(a, b, c):
    return a * b + c


@register_jitable
def sum_of(*values):
    total = 0
    for value in values:
        total += value
    return total


def enumerated(i, x):
    total = 0
    for k, value in enumerate((5, i, 7)):
        total += k * value
    return total


def enumerated_from(i, x):
    total = 0
    for k, value in enumerate((5, 6, 7), 10):
        total += k * value
    return total


def zipped(i, x):
    total = 0
    for a, b, c in zip((1, 2, 3), (i, i + 1), range(10)):  # noqa: B905
        total += a * b + c
    return total


def range_of_its_own_length(i, x):
    total = 0
    for k, j in enumerate(range(i, 0, -3)):
        total += k * j
    return total


def range_in_a_variable(i, x):
    numbers = range(2, i + 2)
    return len(numbers) * 100 + sum_of(*(1, 2))


def divided(i, x):
    quotient, rest = divmod(i - 20, 7)
    return quotient * 1000 + rest


def divided_floats(i, x):
    quotient, rest = divmod(x, 0.375)
    return quotient * 10 + rest


def rounded(i, x):
    return round(x * 10) + round(x, 2) + round(i)


def rounded_half(i, x):
    return round(i / 2) + round(i / 4, 1)


def inner(i, x):
    def square_plus(value):
        return value * value + i

    return square_plus(3) + square_plus(i)


def inner_with_default(i, x):
    def scaled(value, factor=4):
        return value * factor

    return scaled(i) + scaled(i, factor=3) + scaled(i, 2)


def by_lambda(i, x):
    twice = lambda value: value + value  # noqa: E731
    return twice(i) + twice(x)


def lambda_that_sees(i, x):
    offset = i * 3
    shift = lambda value: value + offset  # noqa: E731
    return shift(x)


@register_jitable
def apply(function, value):
    return function(value) + 1


def given_a_lambda(i, x):
    return apply(lambda value: value * 3, x) + i


def of_int_enum(i, x):
    return Fruit.apple + i * Fruit.pear


def compared_enums(i, x):
    colour = Colour.red if i % 2 == 0 else Colour.blue
    if colour == Colour.red:
        return 10
    return 20 if colour is Colour.blue else 30


def enum_by_name(i, x):
    return Fruit["pear"] + Colour.blue.value


def nothing(i, x):
    chosen = None
    if chosen is None:
        return i
    return -1


def of_complex(i, x):
    z = complex(x, i) * (2 - 1j) / (1 + 0.5j)
    return z.real + z.imag * z.conjugate().imag + abs(z)


def complex_power(i, x):
    z = (x + 1j * i) ** 2
    return z.real - z.imag


def by_cmath(i, x):
    z = complex(x, 0.5)
    w = cmath.exp(z) + cmath.sqrt(z) + cmath.sin(z) * cmath.log(z)
    return w.real + cmath.phase(w) + cmath.polar(w)[0]


def rectangular(i, x):
    z = cmath.rect(abs(x) + 1, x)
    return z.real + 2 * z.imag


def more_math(i, x):
    mantissa, exponent = math.frexp(x + 2)
    fraction, whole = math.modf(x * 7)
    return mantissa + exponent * 2 + fraction * 3 + whole * 5 + math.ldexp(x, 3)


def special_math(i, x):
    return math.lgamma(abs(x) + 0.5) + math.gamma(abs(x) + 0.5) + math.erf(x) + math.erfc(x)


def whole_math(i, x):
    return math.trunc(x * 5) + math.floor(x * 5) + math.ceil(x * 5)


def two_argument_math(i, x):
    return math.atan2(x, 0.5) + math.hypot(x, 2.0) + math.copysign(2.0, x) + math.fmod(x, 0.3)


def remainders(i, x):
    return math.remainder(x * 9, 2.5) + math.log(x + 2) + math.log2(x + 2) + math.expm1(x)


def by_operator(i, x):
    return operator.add(i, 3) * operator.mul(i, 2) - operator.neg(i) + operator.floordiv(i, 4)


def compared_by_operator(i, x):
    return 1 if operator.lt(i, 10) and operator.ne(i, 4) else 0


def values_of_and_or(i, x):
    return (i % 3 and i) + (i % 5 or 100)


def contained(i, x):
    return 1 if i % 6 in (1, 3) else 0


def compared_tuples(i, x):
    return 1 if (i % 3, i % 5) < (1, 2) and (i, 1) != (4, 1) else 0


def chained(i, x):
    return 1 if 3 < i <= 12 and not i == 7 else 2


def extremes(i, x):
    return min(i, 7, 3 + i % 2) + max((i, 12)) + min(x, 0.25) + max(x, i)


def summed(i, x):
    return sum((i, 2, 3)) + sum((1, 2), 10) + pow(i, 2) + abs(i - 9)


def converted(i, x):
    return int(x * 10) + float(i) / 4 + bool(i % 2) + int64(x * 3) + uint8(i * 6)


def type_tests(i, x):
    return (1 if isinstance(i, int) else 0) + (2 if isinstance(x, float) else 0)


def unrolled(i, x):
    total = 0j
    for value in literal_unroll(MIXED):
        total += value
    return total.real + i


def annotated(i, x):
    value: int = i * 2
    value += 1
    return value


def early_returns(i, x):
    for k in range(10):
        if k == i % 7:
            return k * 10
    return -1


def loop_with_else(i, x):
    for k in range(5):
        if k == i:
            break
    else:
        return 50
    return k


FUNCTIONS = [
    varying_item, varying_item_of_floats, part_of_a_tuple, joined_tuples, starred_call,
    star_parameters, enumerated, enumerated_from, zipped, range_of_its_own_length,
    range_in_a_variable, divided, divided_floats, rounded, rounded_half, inner, inner_with_default,
    by_lambda, lambda_that_sees, given_a_lambda, of_int_enum, compared_enums, enum_by_name,
    nothing, of_complex, complex_power, by_cmath, rectangular, more_math, special_math, whole_math,
    two_argument_math, remainders, by_operator, compared_by_operator, values_of_and_or, contained,
    compared_tuples, chained, extremes, summed, converted, type_tests, unrolled, annotated,
    early_returns, loop_with_else,
]  # fmt: skip


def kernel_of(function):
    device = cuda.jit(device=True)(function)

    @cuda.jit
    def kernel(values, out):
        i = cuda.grid(1)
        if i < out.shape[0]:
            out[i] = device(i, values[i])

    return kernel


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_threads_compute_what_python_does(function):
    values = np.random.default_rng(5).uniform(-1, 1, THREADS)
    out = np.full(THREADS, np.nan)
    kernel = kernel_of(function)
    clean(checked_run(kernel, 2, 32, values, out, measure=False, ask_numba=False))
    expected = [float(function(i, float(values[i]))) for i in range(THREADS)]
    np.testing.assert_allclose(out, expected, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_numba_compiles_them(function):
    out = np.zeros(THREADS)
    clean(checked_run(kernel_of(function), 2, 32, np.ones(THREADS), out, measure=False))


@cuda.jit
def outside_a_tuple(out):
    i = cuda.grid(1)
    out[i] = ONE_TO_FOUR[i]  # here


def errors(report):
    return [finding for finding in problems(report) if finding.kind != "slow"]


def test_an_item_outside_a_tuple():
    report = checked_run(outside_a_tuple, 1, 6, np.zeros(6, np.int32))
    assert [finding.kind for finding in errors(report)] == ["out-of-bounds"]
    assert "thread 4 of block 0" in errors(report)[0].message


@cuda.jit
def by_arguments(colour, fruit, missing, z, pair, out):
    i = cuda.grid(1)
    if missing is None and colour == Colour.blue:
        out[i] = fruit + z.imag + pair[i % 2][0] + pair[1][1]


def test_arguments_of_every_kind():
    out = np.zeros(4, np.float32)
    arguments = (Colour.blue, Fruit.pear, None, 1 + 2j, ((10, 20), (30, 40)))
    # Numba knows no sum of an IntEnum and a complex number.
    clean(checked_run(by_arguments, 1, 4, *arguments, out, measure=False, ask_numba=False))
    np.testing.assert_array_equal(out, [57, 77, 57, 77])


@cuda.jit
def types_of_results(out):
    out[0] = float32(1) / int32(3)
    total = 0
    for k in range(int32(3)):
        total += k
    out[1] = total


def test_results_have_the_types_of_numba():
    out = np.zeros(2)
    clean(checked_run(types_of_results, 1, 1, out, measure=False))
    np.testing.assert_array_equal(out, [1 / 3, 3])
