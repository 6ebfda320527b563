"""`assert` and `raise` end a thread, in whichever function they are, as on a GPU."""

import numpy as np
import pytest
from numba import cuda, float32

from lessons.lab import checked_run
from tests.lab.helpers import floats, line_of_comment, problems


@cuda.jit
def asserts(values):
    i = cuda.grid(1)
    assert values[i] < 3  # here
    values[i] = 9


@cuda.jit
def raises(values):
    i = cuda.grid(1)
    if values[i] >= 3:
        raise ValueError("too large")  # here
    values[i] = 9


@cuda.jit(device=True)
def checked_value(value):
    if value >= 3:
        raise ValueError("too large")
    return value


@cuda.jit(device=True)
def checked_deeper(value):
    return checked_value(value) + 0


@cuda.jit(device=True)
def check(value):
    assert value < 3


@cuda.jit
def raises_in_a_function(values):
    i = cuda.grid(1)
    values[i] = checked_deeper(values[i]) * 0 + 9
    values[i] = 9


@cuda.jit
def asserts_in_a_function(values):
    i = cuda.grid(1)
    check(values[i])
    values[i] = 9


@cuda.jit
def raises_in_a_condition(values):
    i = cuda.grid(1)
    while checked_value(values[i]) < 3:
        values[i] = 9
        break
    else:
        values[i] = 9


@cuda.jit
def raises_in_one_operand(values):
    i = cuda.grid(1)
    x = checked_value(values[i]) if i > 2 else 3
    values[i] = 9 + 0 * x


@cuda.jit
def raises_in_a_loop(values):
    i = cuda.grid(1)
    for _ in range(3):
        if checked_value(values[i]) < 0:
            continue
    values[i] = 9


KERNELS = [
    asserts, raises, raises_in_a_function, asserts_in_a_function, raises_in_a_condition,
    raises_in_one_operand, raises_in_a_loop,
]  # fmt: skip


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("largest", [2, 5, 99])
def test_a_thread_ends_there_and_the_others_go_on(kernel, largest):
    values = np.arange(6, dtype=np.int32) + max(largest - 5, 0)
    expected = np.where(values < 3, 9, values)
    if kernel is raises_in_one_operand:
        expected[:3] = 9
    report = checked_run(kernel, 2, 3, values)
    np.testing.assert_array_equal(values, expected)
    assert {finding.kind for finding in report.problems} == (
        {"raised"} if (expected != 9).any() else set()
    )


def test_the_finding_says_which_thread_and_where():
    report = checked_run(asserts, 2, 3, np.arange(6, dtype=np.int32))
    (finding,) = (finding for finding in report.findings if finding.kind == "raised")
    assert finding.line == line_of_comment(asserts) and finding.block == (1, 0, 0)
    assert "thread 0 of block 1 and 2 more" in finding.message
    assert "with i = 3, values[i] = 3" in finding.message


@cuda.jit(debug=True, opt=False)
def asserts_with_debug(values):
    assert values[cuda.grid(1)] < 3  # here


def test_with_debug_the_host_gets_the_exception():
    report = checked_run(asserts_with_debug, 1, 6, np.arange(6, dtype=np.int32))
    assert [finding.kind for finding in problems(report)] == ["raised"]


@cuda.jit
def some_threads_end_before_a_barrier(values, out):
    tile = cuda.shared.array(8, float32)
    thread = cuda.threadIdx.x
    assert thread < 6
    tile[thread] = values[thread]
    cuda.syncthreads()
    out[thread] = tile[5 - thread]


def test_threads_that_have_ended_do_not_come_to_a_barrier():
    values, out = floats(8), np.zeros(8, np.float32)
    report = checked_run(some_threads_end_before_a_barrier, 1, 8, values, out)
    assert "barrier" in {finding.kind for finding in problems(report)}
