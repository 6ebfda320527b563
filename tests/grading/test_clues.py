"""What a kernel's code tells: where blocks end, 1 added, a block stored at, a swap tried once."""

import ast

import numpy as np
import pytest

from lessons.grading.advice.comparison import Clues
from lessons.grading.advice.diagnosis import diagnose
from lessons.grading.untrusted.clues import (
    adds_one_to_a_thread,
    asks_for_ends,
    exchanges_later,
    stores_at_a_block,
    swaps_once,
)

SENTINEL = -777.25


def kernel(*lines):
    return ast.parse("\n    ".join(["def one(a, n):", *lines])).body


@pytest.mark.parametrize(
    "condition, asks",
    [
        ("first + cuda.blockDim.x > n", True),
        ("right > n", True),
        ("right + thread > n", False),
        ("thread >= n", False),
        ("cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x >= n", False),
        ("cuda.grid(1) >= n", False),
        ("cuda.grid(1) + cuda.blockDim.x * cuda.gridDim.x >= n", False),
    ],
)
def test_a_condition_looks_at_the_end_of_a_block(condition, asks):
    function = kernel(
        "first = cuda.blockIdx.x * cuda.blockDim.x",
        "right = first + cuda.blockDim.x",
        "thread = first + cuda.threadIdx.x",
        f"if {condition}:",
        "    return",
    )
    assert asks_for_ends(function) == asks


@pytest.mark.parametrize(
    "lines, where",
    [
        (["i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x + 1"], 2),
        (["i, j = cuda.grid(2)", "i += 1"], 3),
        (["i = cuda.grid(1)", "k = 1 + i"], 3),
        (["i = cuda.grid(1)", "while i < n:", "    i += 1"], 0),  # its next one, not its first
        (["k = n + 1", "i = cuda.grid(1)", "a[i] += 1"], 0),
    ],
)
def test_a_line_adds_1_to_the_number_of_a_thread(lines, where):
    assert adds_one_to_a_thread(kernel(*lines)) == where


@pytest.mark.parametrize(
    "lines, where",
    [
        (["cuda.atomic.cas(a, n, old, old + 1)"], 2),
        (["was = cuda.atomic.cas(a, n, old, old + 1)"], 2),
        (["was = cuda.atomic.cas(a, n, old, old + 1)", "if was != old:", "    pass"], 0),
        (["while cuda.atomic.cas(a, n, old, old + 1) != old:", "    old = a[n]"], 0),
        (["cuda.atomic.cas(a, 0, 1, 0)"], 0),  # a lock is opened
        (["cuda.atomic.add(a, n, 1)"], 0),
    ],
)
def test_a_swap_that_nobody_asks_about_is_seen(lines, where):
    assert swaps_once(kernel(*lines)) == where


@pytest.mark.parametrize(
    "lines, where",
    [
        (["old = cuda.atomic.add(a, n, 0)", "cuda.atomic.exch(a, n, old + 1)"], 3),
        (["cuda.atomic.exch(a, n, a[n] + 1)"], 2),
        (["old = cuda.atomic.add(a, 0, 1)", "cuda.atomic.exch(a, n, old)"], 0),  # of another one
        (["while cuda.atomic.cas(b, 0, 0, 1):", "    pass", "cuda.atomic.exch(a, n, a[n] + 1)"], 0),
        (["cuda.atomic.exch(a, n, 0)"], 0),
    ],
)
def test_an_exchange_for_a_value_made_of_the_old_one_is_seen(lines, where):
    assert exchanges_later(kernel(*lines)) == where


def test_an_exchange_explains_sums_that_are_too_small():
    counts, got = np.arange(50.0, 100.0, 10), np.array([40.0, 7.0, 9.0, 12.0, 50.0])
    found = diagnose(counts, got, SENTINEL, 0.5, clues=Clues(exchanged_later=24))
    assert found.code == "exchanged later" and "line 24" in found.sentence


def test_a_swap_tried_once_explains_sums_that_are_too_small():
    counts = np.array([90.0, 80.0, 70.0, 60.0, 50.0])
    got = np.array([40.0, 7.0, 9.0, 12.0, 50.0])
    clues = Clues(swapped_once=24)
    assert "line 24" in diagnose(counts, got, SENTINEL, 0.5, clues=clues).sentence
    got[3] = 99.0
    assert diagnose(counts, got, SENTINEL, 0.5, clues=clues).code == "wrong"  # one is too large


def test_an_index_counted_from_1_explains_that_the_last_one_is_left_out():
    right = np.random.default_rng(2).random(40)
    got = np.append(right[:39], SENTINEL)
    threads = ("grid", 1, 16)
    found = diagnose(right, got, SENTINEL, 1e-6, threads, clues=Clues(one_added=7))
    assert "Line 7 adds 1" in found.sentence and ">= the size" not in found.sentence


@pytest.mark.parametrize(
    "lines, where",
    [
        (["row = cuda.blockIdx.x", "a[row, cuda.threadIdx.x] = n"], 2),
        (["a[int32(cuda.blockIdx.x)] = n"], 2),
        (["row = cuda.blockIdx.x * cuda.blockDim.x", "a[row] = n"], 0),
        (["row = cuda.blockIdx.x", "b = cuda.grid(1)", "a[b, row] = n"], 0),
        (["row = cuda.blockIdx.x", "row += cuda.threadIdx.x", "a[row] = n"], 0),
    ],
)
def test_a_store_at_the_number_of_a_block_is_seen(lines, where):
    assert stores_at_a_block(kernel(*lines)) == where


def test_a_block_per_sample_explains_that_only_the_first_is_there():
    right = np.random.default_rng(3).random((40, 3))
    got = np.full_like(right, SENTINEL)
    got[0] = right[0]
    threads = ("grid", 1, 128)
    found = diagnose(right, got, SENTINEL, 1e-6, threads, clues=Clues(block_as_index=5))
    assert "Line 5 takes the number of the block" in found.sentence
    assert "cuda.grid(1)" in found.sentence and "condition" not in found.sentence
    unsure = diagnose(right, got, SENTINEL, 1e-6, threads).sentence
    assert "Line" not in unsure and unsure.endswith("?")
