"""What the checked simulator says of races that no barrier, and no other atomic, can mend."""

import numpy as np
import pytest
from numba import cuda, float32, int32

from lessons.lab import checked_run


@cuda.jit
def new_count_given(counts):
    old = counts[0]
    new = old + 1
    cuda.atomic.add(counts, 0, new)


@cuda.jit
def new_count_given_at_once(counts):
    cuda.atomic.add(counts, (0, 1), 2 + counts[0, 1])


@cuda.jit
def new_count_given_in_shared(counts):
    own = cuda.shared.array(1, int32)
    if cuda.threadIdx.x == 0:
        own[0] = 0
    cuda.syncthreads()
    cuda.atomic.add(own, 0, own[0] + 3)
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(counts, 0, own[0])


@cuda.jit
def larger_one_given(counts):
    larger = max(counts[0], cuda.grid(1))
    cuda.atomic.max(counts, 0, larger)


@cuda.jit
def share_of_another(counts):
    cuda.atomic.add(counts, cuda.grid(1) % 2, counts[0])


@pytest.mark.parametrize(
    ("kernel", "shape", "words"),
    [
        (new_count_given, 1, "add reads counts[0] and adds by itself: give it only what is to be "),
        (new_count_given, 1, "what is to be added, 1, and no new value made of counts[0]"),
        (new_count_given_at_once, (1, 2), "added, 2, and no new value made of counts[0, 1]"),
        (new_count_given_in_shared, 1, "added, 3, and no new value made of own[0]"),
        (larger_one_given, 1, "atomic.max reads counts[0] and compares by itself: give it only"),
        (share_of_another, 2, "an atomic protects only against other atomics"),
    ],
)
def test_an_atomic_is_given_what_comes_and_no_new_value(kernel, shape, words):
    report = checked_run(kernel, 2, 32, np.zeros(shape, np.int32))
    problem = report.problems[0]
    assert problem.kind == "race" and words in problem.message


@cuda.jit
def asked_for_and_stored(counts):
    old = cuda.atomic.add(counts, 0, 0)
    counts[0] = old + 2


@cuda.jit
def asked_for_and_stored_at_once(counts):
    counts[0, 1] = cuda.atomic.add(counts, (0, 1), int32(0)) - 1


@cuda.jit
def asked_for_and_halved(counts):
    old = cuda.atomic.add(counts, 0, 0)
    counts[0] = old // 2


@cuda.jit
def added_and_stored(counts):
    old = cuda.atomic.add(counts, 0, 3)
    counts[0] = old + 3


@cuda.jit
def read_and_exchanged(counts):
    new = 1 + counts[0]
    cuda.atomic.exch(counts, 0, new)


@cuda.jit
def place_of_its_own(counts):
    place = cuda.atomic.add(counts, 0, 0)
    counts[1] = place + 1


ONE_STEP = "does all of it in one step"


@pytest.mark.parametrize(
    ("kernel", "shape", "words"),
    [
        (asked_for_and_stored, 1, f"cuda.atomic.add(counts, 0, 2) {ONE_STEP}"),
        (asked_for_and_stored, 1, "only asks what counts[0] holds, and before line"),
        (asked_for_and_stored_at_once, (1, 2), f"cuda.atomic.sub(counts, (0, 1), 1) {ONE_STEP}"),
        (asked_for_and_stored_at_once, (1, 2), "and in between other threads do the same"),
        (asked_for_and_halved, 1, "Asking and changing have to be one atomic step"),
        (added_and_stored, 1, "leave out that store"),
        (read_and_exchanged, 1, f"cuda.atomic.add(counts, 0, 1) {ONE_STEP}"),
    ],
)
def test_an_element_is_asked_for_and_changed_in_one_step(kernel, shape, words):
    report = checked_run(kernel, 2, 32, np.full(shape, 40, np.int32))
    problem = report.problems[0]
    assert problem.kind == "race" and words in problem.message


def test_what_an_atomic_tells_of_another_element_is_no_second_step():
    report = checked_run(place_of_its_own, 2, 32, np.arange(2, dtype=np.int32))
    assert all("step" not in problem.message for problem in report.problems)


@cuda.jit
def neighbour_in_the_new_buffer(values):
    tile = cuda.shared.array((2, 8), float32)
    x = cuda.threadIdx.x
    tile[0, x] = values[x]
    cuda.syncthreads()
    tile[1, x] = tile[0, x] - tile[1, (x + 1) % 8]
    cuda.syncthreads()
    values[x] = tile[1, x]


def test_a_barrier_is_no_advice_where_nobody_has_written_what_is_read():
    report = checked_run(neighbour_in_the_new_buffer, 1, 8, np.zeros(8, np.float32))
    kinds = {problem.kind: problem.message for problem in report.problems}
    assert set(kinds) == {"uninitialised", "race"}
    assert "is it the element that was meant?" in kinds["race"]
    assert "syncthreads" not in kinds["race"]
