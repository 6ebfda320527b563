"""A variable that a loop gives another type, and math.floor: the types that a GPU would see."""

import math

import numpy as np
from numba import cuda, float32, int32, uint64
from numba.extending import register_jitable

from lessons.lab import checked_run


@register_jitable
def scrambled(word, other):
    for _ in range(3):
        product = uint64(5) * word
        word = (product >> uint64(3)) ^ other
    return word


@cuda.jit
def with_a_bare_number(out, word):
    out[0] = scrambled(word, 0)


@cuda.jit
def with_unsigned_numbers(out, word):
    out[0] = scrambled(word, uint64(0))


@cuda.jit
def new_in_each_round(out, word):
    part = uint64(1)
    for i in range(2):
        part = i  # not what it was before: nobody reads that
        out[part] = word


def run(kernel):
    return checked_run(kernel, 1, 1, np.zeros(2, np.uint64), np.uint64(2**63 + 12345))


def test_signed_and_unsigned_in_one_variable_of_a_loop_make_a_double():
    (problem,) = run(with_a_bare_number).problems
    assert problem.kind == "compile" and "rshift" in problem.message
    assert run(with_unsigned_numbers).ok and run(new_in_each_round).ok


@cuda.jit
def index_with_a_point(out, x):
    out[math.floor(x[0])] = float32(1)


@cuda.jit
def floor_taken_away(out, x):
    out[int32(math.ceil(x[0]))] = x[0] - math.floor(x[0])


def test_math_floor_stays_a_float32():
    out, x = np.zeros(4, np.float32), np.array([1.25], np.float32)
    (problem,) = checked_run(index_with_a_point, 1, 1, out, x).problems
    assert "an index must be a whole number" in problem.message
    report = checked_run(floor_taken_away, 1, 1, out, x)
    assert report.ok and not any("double" in str(finding) for finding in report.findings)
    assert out[2] == 0.25


@cuda.jit
def made_whole(out, x):
    i = cuda.grid(1)
    out[i] = int32(x[i]) + int32(math.floor(x[i]))


def test_what_is_no_number_becomes_zero_as_on_a_gpu():
    out, x = np.ones(3, np.int32), np.array([np.nan, 2.5, -2.5], np.float32)
    checked_run(made_whole, 1, 3, out, x)
    np.testing.assert_array_equal(out, [0, 4, -5])


@register_jitable
def inner(x):
    return x >> 1


@register_jitable
def outer(x):
    return inner(x * float32(2))


@cuda.jit
def calls_both(out, x):
    out[0] = outer(x[0])


def test_the_innermost_function_is_named():
    (problem,) = checked_run(
        calls_both, 1, 1, np.zeros(1, np.float32), np.ones(1, np.float32)
    ).problems
    assert problem.kind == "compile" and "inner" in problem.message and "rshift" in problem.message
