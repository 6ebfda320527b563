"""The native engine: every index is looked at, whatever it indexes; `raise`; what is passed on."""

import operator
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
from numba import cuda, float32, int32, types
from numba.extending import register_jitable

from lessons.lab import checked_run, instead_of_gpu, native
from lessons.lab.compiled.messages import NativeRefusal
from tests.lab.helpers import line_of_comment, needs_numba_cuda


@cuda.jit
def stores_by_a_function(x, i):
    operator.setitem(x, i, 1)


@cuda.jit
def reads_by_another_name(x, i):
    read = operator.getitem
    x[0] = read(x, i)


@pytest.mark.parametrize("kernel", [stores_by_a_function, reads_by_another_name])
def test_functions_that_look_at_no_index_are_refused(kernel):
    with pytest.raises(NativeRefusal, match=r"`operator.*item`: write array\[index\]"):
        native(kernel)[1, 1](np.zeros(3, np.float32), 10_000_000)


class Weights(NamedTuple):
    w: np.ndarray


@cuda.jit
def any_expression(case, x, weights, records, i):
    pair = (x, x)
    if case == 0:
        x[i][1] = 1
    elif case == 1:
        x[1][i] = 1
    elif case == 2:
        x[1][i] += 1
    elif case == 3:
        x[0, 0] = x.T[i, 1]
    elif case == 4:
        x.T[1, i] = 1
    elif case == 5:
        weights.w[i] = 1
    elif case == 6:
        x[:, 1][i] = 1
    elif case == 7:
        x[i, :] = 1
    elif case == 8:
        x[1, ..., i] = 1
    elif case == 9:
        x.flat[i * 9] = 1
    elif case == 10:
        pair[1][0, i] = 1
    elif case == 11:
        cuda.atomic.add(x[0], i, 1)
    elif case == 12:
        records[0]["a"][i] = 1
    elif case == 13:
        records[i]["a"][0] = 1
    elif case == 14:
        x.reshape(12)[i * 9] = 1
    elif case == 15:
        x[0][1], x[0][i] = 1, 2
    else:
        x[0, 0] = (1, 2, 3)[i]


CASES = range(17)


@pytest.mark.slow
def test_an_index_into_any_expression_is_checked():
    kind = np.dtype([("a", np.float32, (4,))])
    for case in CASES:
        for i in (7, -1):
            x, w, records = np.zeros((3, 4)), np.zeros(3), np.zeros(3, kind)
            with pytest.raises(IndexError, match=rf"line \d+: index {i}|index {9 * i}"):
                native(any_expression)[1, 1](case, x, Weights(w), records, i)
            assert not (x[:, 2:].any() or w.any() or records["a"].any()), case
        native(any_expression)[1, 1](case, np.zeros((3, 4)), Weights(w), records, 1)


@cuda.jit
def from_the_end(x):
    x[-1, -4] = 5
    x[0, 0] = x[-1, 0]


@cuda.jit
def far_from_the_end(x):
    x[0, -5] = 5  # here


@pytest.mark.slow
def test_a_written_out_negative_index_counts_from_the_end():
    x = np.zeros((3, 4))
    native(from_the_end)[1, 1](x)
    assert x[2, 0] == x[0, 0] == 5 and x.sum() == 10
    with pytest.raises(IndexError, match=f"line {line_of_comment(far_from_the_end)}: index -5"):
        native(far_from_the_end)[1, 1](x)


# ---------------------------------------------------------------- more that a kernel may do


@register_jitable
def apply(function, array, place, size):
    tile = cuda.shared.array(size, float32)
    tile[place] = 2
    function(array, place, tile[place] + 1)


@cuda.jit(device=True)
def factorial(n):
    if n <= 1:
        return 1
    return n * factorial(n - 1)


@register_jitable
def positive(x):
    if x < 0:
        raise ValueError("negative")
    return x


@cuda.jit
def much(dynamic_copy, out):
    i = cuda.grid(1)
    thread = cuda.threadIdx
    sync = cuda.syncthreads
    whole = cuda.shared.array(0, dynamic_copy.dtype)
    again = cuda.shared.array(0, int32)
    whole[thread.x] = dynamic_copy[i]
    sync()
    out[0, i] = whole[3 - thread.x] + 100 * whole.size + 1000 * again.size
    add = cuda.atomic.add
    add(out, (1, 0), 1)
    apply(cuda.atomic.max, out[2], 1, 4)

    def twice(x):
        return 2 * x

    out[3, i] = twice(factorial(out.shape[1])) + (lambda x: x + i)(1)
    out[4, i] = positive(dynamic_copy[i] - 2) + 7
    assert i < 3
    out[5, i] = 1


@pytest.mark.slow
def test_other_things_that_kernels_do():
    out = np.zeros((6, 4), np.float32)
    native(much)[1, 4, 0, 16](np.arange(4, dtype=np.float32), out)
    right = [[4403, 4402, 4401, 4400], [4, 0, 0, 0], [0, 3, 0, 0], [49, 50, 51, 52]]
    np.testing.assert_array_equal(out[:4], right)
    np.testing.assert_array_equal(out[4:], [[0, 0, 7, 8], [0, 0, 1, 0]])


@cuda.jit
def through_the_grid(values, out):
    grid = cuda.cg.this_grid()
    i = cuda.grid(1)
    for _ in range(3):
        values[i] += 1
        grid.sync()
        out[i] = values[values.size - 1 - i]
        grid.sync()


@pytest.mark.slow
def test_a_barrier_of_the_whole_grid():
    values, out = np.zeros(32), np.zeros(32)
    native(through_the_grid)[8, 4](values, out)
    np.testing.assert_array_equal(out, np.full(32, 3))


@pytest.mark.slow
def test_a_function_that_calls_itself_for_ever_ends_with_an_error():
    @cuda.jit(device=True)
    def deeper(n):
        return deeper(n + 1) * 2.5 + 1.0 if n >= 0 else 1.0

    @cuda.jit
    def deep(out):
        out[0] = deeper(5)

    with pytest.raises(RecursionError, match="calls itself"):
        native(deep, ask_numba=False)[1, 1](np.zeros(1))


def add(x, y):
    return x + y


@pytest.mark.slow
def test_device_functions_with_signatures_convert_and_global_device_arrays_are_shared():
    with instead_of_gpu():
        whole = cuda.jit("int64(int64, int64)", device=True)(add)
        table = cuda.to_device(np.arange(4.0))

        @cuda.jit
        def kernel(x, out):
            out[0] = whole(x, x)
            table[0] += table[3]

        out = np.zeros(1)
        launch = native(kernel, ask_numba=False)[1, 1]
        launch(1.75, out)
        launch(1.75, out)
        assert out[0] == 2 and table.copy_to_host()[0] == 6


def scaled(x, factor):
    """Gets its meaning below."""


def item(x, i):
    pass


@cuda.jit(device=True)
def scaled_twice(x):
    return scaled(scaled(x, 2), 3)


@cuda.jit
def calls_overloaded(x, i, out):
    out[0] = scaled_twice(x[1])
    out[1] = scaled(x, i)


@needs_numba_cuda
@pytest.mark.slow
def test_functions_with_overload_are_chosen_by_type_and_their_indices_checked():
    from numba.cuda.extending import overload

    @overload(scaled, target="cuda")
    def scaled_by_type(x, factor):
        if isinstance(x, types.Array):
            return lambda x, factor: x[factor] + 100
        return lambda x, factor: x * factor

    x, out = np.arange(4.0), np.zeros(2)
    native(calls_overloaded)[1, 1](x, 3, out)
    assert out.tolist() == [6, 103]
    with pytest.raises(IndexError, match="index 4 of x"):
        native(calls_overloaded)[1, 1](x, 4, out)


@cuda.jit
def calls_with_numbers(x, i, out):
    out[0] = item(x, 1)
    out[1] = item(x, i)


@needs_numba_cuda
@pytest.mark.slow
def test_an_overload_may_ask_for_a_number_that_is_known():
    from numba.cuda.extending import overload

    @overload(item, target="cuda", prefer_literal=True)
    def item_by_number(x, i):
        if not isinstance(i, types.IntegerLiteral):
            return lambda x, i: -1.0
        number = i.literal_value
        return lambda x, i: x[number] * 100

    for engine in (
        native(calls_with_numbers)[1, 1],
        partial(checked_run, calls_with_numbers, 1, 1),
    ):
        out = np.zeros(2)
        engine(np.arange(4.0), 2, out)
        assert out.tolist() == [100, -1]
