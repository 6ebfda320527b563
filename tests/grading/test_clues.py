"""What a kernel's code tells about a mistake: where blocks end, 1 added, a swap tried once."""

import ast

import numpy as np
import pytest

from lessons.grading.advice.comparison import Clues
from lessons.grading.advice.diagnosis import diagnose
from lessons.grading.untrusted.clues import adds_one_to_a_thread, asks_for_ends, swaps_once

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
