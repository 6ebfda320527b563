"""The checked simulator on a corpus: nothing in the right kernels, each of the wrong ones found."""

import numpy as np
import pytest

from lessons.lab import checked_run
from lessons.lab.compile_verdict import compile_verdict
from lessons.lab.source import read_source
from tests.lab.helpers import line_of_comment, problems
from tests.lab.ordering.advice import WRONG
from tests.lab.ordering.right import RIGHT

SLOW = {
    "a_call_in_the_condition", "counts_far", "each_lane_waits_for_the_next", "everybody_adds_up",
    "floyd_warshall", "tree_of_pairs_without_a_barrier",
    "lock_by_compare_and_swap", "lock_per_thread_then_shuffles", "lock_with_a_break_and_naps",
    "mandelbrot", "mandelbrot_with_break", "semaphore_with_two_permits", "ticket_lock",
}  # fmt: skip


def by_speed(cases):
    return [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in cases]


def run(case, arguments):
    """Without Numba, which the test below asks about all of them."""
    sizes = case.grid, case.block
    return checked_run(case.kernel, *sizes, *arguments, ask_numba=False, **case.options)


@pytest.mark.parametrize("name", by_speed(RIGHT))
def test_nothing_is_found_in_a_right_kernel(name):
    case = RIGHT[name]
    arguments = case.arguments()
    report = run(case, arguments)
    assert problems(report) == [], report
    for number, expected in case.expected(*case.arguments()).items():
        np.testing.assert_allclose(arguments[number], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", by_speed(WRONG))
def test_a_wrong_kernel_is_found_with_advice_that_fits(name):
    case = WRONG[name]
    report = run(case, case.arguments())
    here = [f for f in problems(report) if f.line == line_of_comment(case.kernel)]
    messages = [f.message for f in here if f.kind == case.kind]
    assert messages, report
    text = " ".join(messages)
    assert all(word in text for word in case.words), report
    assert not any(word in text for word in case.never), report


@pytest.mark.thorough
@pytest.mark.parametrize("case", [*RIGHT.values(), *WRONG.values()])
def test_each_kernel_of_the_corpus_compiles(case):
    verdict = compile_verdict(case.kernel, read_source(case.kernel), case.arguments())
    assert verdict.refusals == (), verdict
