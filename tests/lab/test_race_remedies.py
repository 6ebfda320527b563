"""The advice on races in functions that a kernel calls, and of rounds that take turns."""

from pathlib import Path

import numpy as np
import pytest
from numba import cuda, float32

from lessons.lab import checked_run
from lessons.lab.simulator.memory import remedies
from tests.lab.helpers import floats

ROUND = 64


@cuda.jit(device=True)
def add_here(sums, row, value, factors):
    sums[row] += value * factors[0]


@cuda.jit
def own_number_to_one_place(values, sums):
    thread = cuda.threadIdx.x
    add_here(sums, 0, values[thread], values)


@cuda.jit
def same_number_by_all(values, sums):
    sums[0] += values[0] * values[1]


@cuda.jit
def same_number_by_a_square(values, sums):
    x, y = cuda.grid(2)
    if x < 100 and y < 100:
        total = float32(0)
        for i in range(4):
            total += values[i]
    sums[1] = float32(0)
    sums[0] += values[2]


@cuda.jit
def chosen_by_thread(values, sums):
    number = values[0]
    if cuda.threadIdx.x % 2 == 0:
        number = values[1]
    sums[0] += number


@cuda.jit
def first_block_clears(values, sums):
    if cuda.blockIdx.x == 0:
        for i in range(cuda.threadIdx.x, sums.shape[0], cuda.blockDim.x):
            sums[i] = float32(0)
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        sums[cuda.blockIdx.x] += values[cuda.blockIdx.x]


@cuda.jit
def first_block_numbers(values, sums):
    if cuda.blockIdx.x == 0:
        for i in range(cuda.threadIdx.x, sums.shape[0], cuda.blockDim.x):
            sums[i] = values[i]
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        sums[cuda.blockIdx.x] += values[cuda.blockIdx.x]


@cuda.jit
def shared_by_the_first(values, sums):
    factor = cuda.shared.array(1, float32)
    if cuda.threadIdx.x == 0:
        factor[0] = values[0]
    for i in range(cuda.threadIdx.x, sums.shape[0], 32):
        if i < 4:
            sums[i] = factor[0]


@cuda.jit
def shared_by_all(values, sums):
    factors = cuda.shared.array(32, float32)
    factors[cuda.threadIdx.x] = values[cuda.threadIdx.x]
    if cuda.threadIdx.x < 4:
        sums[cuda.threadIdx.x] = factors[31 - cuda.threadIdx.x]


def told(kernel, *arguments, block=64, grid=1):
    report = checked_run(kernel, grid, block, *arguments, ask_numba=False)
    messages = [found.message for found in report.problems if found.kind == "race"]
    assert messages, report
    return " ".join(messages)


@pytest.mark.parametrize("kernel", [own_number_to_one_place, chosen_by_thread])
def test_numbers_that_each_thread_may_have_for_itself_are_not_the_same(kernel):
    text = told(kernel, floats(64), np.zeros(4, np.float32))
    assert "cuda.atomic.add(sums, " in text
    assert "same numbers" not in text


def test_numbers_that_are_the_same_in_all_threads_are_added_by_one():
    text = told(same_number_by_all, floats(64), np.zeros(4, np.float32))
    assert "`if cuda.threadIdx.x == 0:`" in text
    text = told(same_number_by_a_square, floats(64), np.zeros(4, np.float32), block=(8, 8))
    assert "`if cuda.threadIdx.x == 0 and cuda.threadIdx.y == 0:`" in text


@cuda.jit(device=True)
def keep(value, tile, top):
    tile[top + cuda.threadIdx.x] = value


@cuda.jit(device=True)
def other_end(tile, top):
    return tile[top + 63 - cuda.threadIdx.x]


@cuda.jit
def half_is_not_used(values, out):
    tile = cuda.shared.array(128, float32)
    thread = cuda.threadIdx.x
    total, half = float32(0), 0
    for first in range(0, values.shape[0], 64):
        keep(values[first + thread], tile, 0)
        cuda.syncthreads()
        total += other_end(tile, 0) + float32(half)
        half = ROUND - half
    out[thread] = total


@cuda.jit
def half_is_used_to_store_only(values, out):
    tile = cuda.shared.array(128, float32)
    thread = cuda.threadIdx.x
    total = float32(0)
    for first in range(3):
        half = ROUND * (first % 2)
        tile[half + thread] = values[first * 64 + thread]
        cuda.syncthreads()
        total += tile[thread] + tile[63 - thread]
    out[thread] = total


@cuda.jit
def both_take_turns(values, out):
    tile = cuda.shared.array(128, float32)
    thread = cuda.threadIdx.x
    total, half = float32(0), 0
    for first in range(0, values.shape[0], 64):
        keep(values[first + thread], tile, half)
        cuda.syncthreads()
        total += other_end(tile, half)
        half = ROUND - half
    out[thread] = total


@cuda.jit
def one_part_only(values, out):
    tile = cuda.shared.array(64, float32)
    thread = cuda.threadIdx.x
    total = float32(0)
    for first in range(0, values.shape[0], 64):
        keep(values[first + thread], tile, 0)
        cuda.syncthreads()
        total += other_end(tile, 0)
    out[thread] = total


def three_rounds():
    return floats(192), np.zeros(64, np.float32)


def lines_of(kernel, *words):
    first = kernel.py_func.__code__.co_firstlineno
    lines = enumerate(Path(__file__).read_text("utf-8").splitlines(), 1)
    behind = [(number, text) for number, text in lines if number > first]
    return [next(number for number, text in behind if word in text) for word in words]


def test_rounds_that_are_to_take_turns_are_asked_about():
    text = told(half_is_not_used, *three_rounds())
    stored, read = lines_of(half_is_not_used, "keep(values", "other_end(tile")
    assert f"the barrier between lines {stored} and {read} is not enough" in text
    assert f"`half` changes from round to round, and lines {stored} and {read} do not use" in text
    assert "two parts of tile to take turns?" in text
    assert "between them" not in text


def test_only_the_line_that_does_not_take_part_is_told():
    text = told(half_is_used_to_store_only, *three_rounds())
    (read,) = lines_of(half_is_used_to_store_only, "total += tile")
    assert f"line {read} does not use it" in text


@cuda.jit
def tile_turns_by_itself(values, out):
    tile = cuda.shared.array((2, 64), float32)
    other = cuda.shared.array((2, 64), float32)
    thread = cuda.threadIdx.x
    total, turn, now = float32(0), 0, 0
    for first in range(0, values.shape[0], 64):
        other[turn, thread] = float32(1)
        after = 1 - now
        tile[after, thread] = values[first + thread]
        cuda.syncthreads()
        total += tile[now, 63 - thread] if first > 0 else float32(0)
        total += other[turn, 63 - thread]
        turn = 1 - turn
        now = after
    out[thread] = total


def test_an_array_with_turns_of_its_own_is_not_asked_about_those_of_another():
    text = told(tile_turns_by_itself, *three_rounds())
    assert "put a second cuda.syncthreads() at the end of the loop" in text
    assert "take turns" not in text


def test_without_turns_the_second_barrier_is_told_also_of_functions():
    text = told(one_part_only, *three_rounds())
    assert "put a second cuda.syncthreads() at the end of the loop" in text
    assert "turns" not in text


def test_rounds_that_take_turns_are_right():
    report = checked_run(both_take_turns, 1, 64, *three_rounds(), ask_numba=False)
    assert report.problems == []


def test_what_one_block_clears_others_may_store():
    arguments = floats(64), np.zeros(4, np.float32)
    text = told(first_block_clears, *arguments, block=32, grid=4)
    assert "nothing has to be cleared" in text and "read in a second one" not in text
    text = told(first_block_numbers, *arguments, block=32, grid=4)
    assert "nothing has to be cleared" not in text and "read in a second one" in text


def test_a_barrier_stands_in_no_block_that_one_of_the_two_is_in():
    arguments = floats(64), np.zeros(4, np.float32)
    line = shared_by_the_first.py_func.__code__.co_firstlineno
    text = told(shared_by_the_first, *arguments, block=32)
    between = (
        f"between them, behind the `if` of line {line + 3} and before the loop of line {line + 5}"
    )
    assert between in text
    line = shared_by_all.py_func.__code__.co_firstlineno
    text = told(shared_by_all, *arguments, block=32)
    assert text.endswith(f"put cuda.syncthreads() between them, before the `if` of line {line + 4}")


# ---------------------------------------------------------------- two calls of one function


@cuda.jit(device=True)
def swap_ends(value, tile):
    """Stores, waits and reads: a second call stores while others still read."""
    tile[cuda.threadIdx.x] = value
    cuda.syncthreads()
    return tile[63 - cuda.threadIdx.x]


@cuda.jit(device=True)
def swap_by_another(value, tile):
    return swap_ends(value, tile)


@cuda.jit
def called_in_a_loop(values, out):
    tile = cuda.shared.array(64, float32)
    total = float32(0)
    for first in range(0, values.shape[0], 64):
        total += swap_by_another(values[first + cuda.threadIdx.x], tile)
    out[cuda.threadIdx.x] = total


@cuda.jit(device=True)
def swap_in_rounds(values, tile):
    total = float32(0)
    for first in range(0, values.shape[0], 64):
        total += swap_ends(values[first + cuda.threadIdx.x], tile)
    return total


@cuda.jit
def looped_in_a_function(values, out):
    out[cuda.threadIdx.x] = swap_in_rounds(values, cuda.shared.array(64, float32))


@cuda.jit
def called_twice(values, out):
    tile = cuda.shared.array(64, float32)
    total = swap_ends(values[cuda.threadIdx.x], tile)
    if cuda.blockDim.x == 64:
        total += swap_by_another(values[64 + cuda.threadIdx.x], tile)
    out[cuda.threadIdx.x] = total


@cuda.jit
def called_twice_in_a_line(values, out):
    tile = cuda.shared.array(64, float32)
    thread = cuda.threadIdx.x
    out[thread] = swap_ends(values[thread], tile) + swap_ends(values[64 + thread], tile)


@pytest.mark.parametrize(
    ("kernel", "place", "words", "advice"),
    [
        (called_in_a_loop, called_in_a_loop, ["for first"], "into the loop of line {}"),
        (looped_in_a_function, swap_in_rounds, ["for first"], "into the loop of line {}"),
        (
            called_twice,
            called_twice,
            ["total = swap", "total += swap", "if cuda"],
            "between lines {} and {}, before the `if` of line {}",
        ),
        (
            called_twice_in_a_line,
            called_twice_in_a_line,
            ["out[thread] ="],
            "between the two calls of line {}, each in a line of its own",
        ),
    ],
)
def test_a_barrier_between_two_calls_is_told_where_they_are_called(kernel, place, words, advice):
    text = told(kernel, *three_rounds())
    where = f"in {place.py_func.__name__} ({Path(__file__).name}): "
    assert where in text and "between them" not in text
    assert f"put cuda.syncthreads() {advice.format(*lines_of(place, *words))}" in text


@cuda.jit
def halves_meet(values, sums):
    sums[cuda.threadIdx.x // 2] = values[cuda.threadIdx.x] + sums[0]


def test_what_is_said_of_two_accesses_is_worked_out_once(monkeypatch):
    asked, work_out = [], remedies.changed_in_two_steps
    monkeypatch.setattr(
        remedies, "changed_in_two_steps", lambda *sides: asked.append(sides) or work_out(*sides)
    )
    first = told(halves_meet, floats(64), np.zeros(32, np.float32))
    times = len(asked)
    again = {told(halves_meet, floats(64), np.zeros(32, np.float32)) for _ in range(3)}
    assert again == {first} and len(asked) == times > 0
