"""The checked simulator finds what would not compile for a GPU, and what would be slow there."""

import numpy as np
import pytest
from numba import cuda, float32, float64, uint32
from numba.extending import register_jitable

from lessons.lab import checked_run
from lessons.lab.errors import without_colours
from tests.lab.helpers import advised, doubles, expect, floats, needs_numba_cuda, no_guard

TILE = 16
NUMPY_SIZE = np.int64(16)


class Options:
    tile = 16


options = Options()


# ---------------------------------------------------------------- what would not compile


@cuda.jit
def calls_numpy(out):
    values = np.zeros(3)  # here
    out[0] = values[0]


@cuda.jit
def comprehends(out):
    squares = [i * i for i in range(3)]  # here
    out[0] = squares[1]


@cuda.jit
def size_from_the_launch(out):
    tile = cuda.shared.array(cuda.blockDim.x, float32)  # here
    tile[0] = out[0]


@cuda.jit
def size_from_an_object(out):
    tile = cuda.shared.array(options.tile, float32)  # here
    tile[0] = out[0]


@cuda.jit
def size_from_an_expression(out):
    tile = cuda.shared.array((TILE, TILE + 1), float32)  # here
    tile[0, 0] = out[0]


@cuda.jit
def size_from_numpy(out):
    tile = cuda.shared.array(NUMPY_SIZE, float32)  # here
    tile[0] = out[0]


@cuda.jit
def uses_an_object(out):
    out[0] = options.tile  # here


@cuda.jit
def makes_a_list(out):
    values = [1, 2]  # here
    out[0] = values[0]


@cuda.jit
def catches(out):
    try:  # here
        out[0] = 1
    except ValueError:
        out[0] = 2


@cuda.jit
def misspells(out):
    out[0] = cuda.threadIndex.x  # here


@cuda.jit
def forgets_a_name(out):
    out[0] = undefined_name  # noqa: F821  # here


@cuda.jit
def returns_a_value(out):
    out[0] = 1
    return out[0]  # here


@cuda.jit
def numpy_root(out):
    out[0] = np.sqrt(out[1])  # here


@cuda.jit
def numpy_absolute(out):
    out[0] = np.abs(out[1])  # here


@cuda.jit
def float_index(out):
    out[cuda.grid(1) / 2] = 1  # here


@cuda.jit
def halves_with_a_fraction(out):
    active = 8
    while active > 0:
        out[0] += float32(1)
        active /= 2  # here


@cuda.jit
def multiplies_matrices(out):
    out[0] = out[:2] @ out[2:4]  # here


@cuda.jit
def atomic_at_a_tuple(out):
    cuda.atomic.add(out, (0,), float32(1))  # here


@cuda.jit
def assigns_in_a_condition(out):
    x, y = cuda.grid(2)
    if x < (width := out.shape[0]) and y < (height := out.shape[0]):  # here
        out[0] = width + height


@register_jitable
def fill_each(out, places):
    for place, value in zip(places, (1, float32(1))):  # noqa: B905
        out[place] = value


@cuda.jit
def zips_in_a_function(out):
    fill_each(out, (0, 1))  # here


def test_findings_of_kind_compile():
    for kernel, word in [
        (calls_numpy, "NumPy call"),
        (comprehends, "comprehension"),
        (size_from_the_launch, "cuda.blockDim.x"),
        (size_from_an_object, "options.tile"),
        (size_from_an_expression, "TILE + 1"),
        (size_from_numpy, "int64"),
        (uses_an_object, "Options"),
        (makes_a_list, "lists"),
        (catches, "exceptions"),
        (misspells, "threadIndex"),
        (forgets_a_name, "undefined_name"),
        (returns_a_value, "cannot return"),
        (numpy_root, "write math.sqrt"),
        (numpy_absolute, "write abs"),
        (multiplies_matrices, "multiplies whole matrices"),
        (float_index, "an index must be a whole number"),
    ]:
        expect(kernel, "compile", checked_run(kernel, 1, 1, floats(16)), word)


@needs_numba_cuda
def test_findings_that_only_numba_tells():
    for kernel, word in [
        (halves_with_a_fraction, "write // or //="),
        (atomic_at_a_tuple, "not as a tuple"),
        (assigns_in_a_condition, "a line of its own"),
        (zips_in_a_function, "`zip` does not take (a tuple, a tuple of different types)"),
    ]:
        expect(kernel, "compile", checked_run(kernel, 1, 1, floats(16)), word)


@cuda.jit
def numpy_on_a_path_not_taken(out):
    if out.shape[0] > 1000:
        out[0] = np.median(out)  # here


@pytest.mark.slow
def test_compile_findings_need_no_thread_that_comes_there():
    report = checked_run(numpy_on_a_path_not_taken, 1, 4, floats(16))
    expect(numpy_on_a_path_not_taken, "compile", report)


# ---------------------------------------------------------------- what would be slow


@cuda.jit
def double_literal(values, out):
    i = cuda.grid(1)
    out[i] = values[i] * 0.3 + values[i]  # here


@cuda.jit
def double_accumulator(values, out):
    total = 0.0
    for k in range(4):
        total += values[k]  # here
    out[cuda.grid(1)] = total


@cuda.jit
def integer_accumulator(values, out):
    total = 0
    for k in range(4):
        total += values[k]  # here
    out[cuda.grid(1)] = total


@cuda.jit
def integer_times_float(values, out):
    i = cuda.grid(1)
    out[i] = values[i] * i  # here


@cuda.jit
def divides_integers(values, out):
    i = cuda.grid(1)
    out[i] = i / 3  # here


@cuda.jit
def float64_tile(values, out):
    tile = cuda.local.array(4, float64)  # here
    tile[0] = values[0]
    out[cuda.grid(1)] = tile[0]


def test_findings_of_kind_slow():
    for kernel, word in [
        (double_literal, "float32(0.3)"),
        (double_accumulator, "`total` is a double"),
        (integer_accumulator, "`total` is a whole number"),
        (integer_times_float, "float32(i)"),
        (divides_integers, "float32(i) / float32(3)"),
        (float64_tile, "float64"),
    ]:
        report = checked_run(kernel, 1, 16, floats(16), np.zeros(16, np.float32))
        advised(kernel, report, word)


def test_doubles_that_an_array_asks_for_get_no_advice():
    for kernel in (double_literal, double_accumulator, integer_times_float):
        for given, out in [(np.float64, np.float32), (np.float32, np.float64)]:
            report = checked_run(kernel, 1, 16, floats(16).astype(given), np.zeros(16, out))
            assert doubles(report) == [], report


@cuda.jit
def scaled(values, factor):
    i = cuda.grid(1)
    values[i] = values[i] * factor  # here


def test_a_python_float_argument_is_a_double():
    report = checked_run(scaled, 1, 16, floats(16), 0.1)
    advised(scaled, report, "`factor` is a double")
    assert doubles(checked_run(scaled, 1, 16, floats(16), np.float32(0.1))) == []


def test_signed_indices_are_advice_only():
    report = checked_run(no_guard, 1, 32, floats(32), np.zeros(32, np.float32))
    assert report.ok and [(f.kind, f.advice) for f in report.findings] == [("slow", True)]
    assert "uint32" in report.findings[0].message


@cuda.jit
def unsigned_copy(values, out):
    i = uint32(cuda.grid(1))
    if i < uint32(values.shape[0]):
        out[i] = values[i]


def test_unsigned_indices_get_no_advice():
    report = checked_run(unsigned_copy, 1, 32, floats(30), np.zeros(30, np.float32))
    assert report.findings == []


def test_messages_have_no_colours():
    assert without_colours("\x1b[1m\x1b[31mUntyped name 'bar':\x1b[0m !") == "Untyped name 'bar': !"
