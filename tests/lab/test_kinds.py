"""Kernels of many kinds, on both engines: the right ones are right, and each bug is named."""

import numpy as np
import pytest

from lessons.lab import checked_run, native
from lessons.lab.compile_verdict import compile_verdict
from lessons.lab.errors import InputError
from lessons.lab.source import read_source
from tests.lab.helpers import line_of_comment, needs_numba_cuda, problems
from tests.lab.kinds import right, wrong
from tests.lab.ordering import advice
from tests.lab.ordering import right as in_order

# Those of `ordering` are quick: Numba is asked about them apart, and they run on one engine.
ASKED = right.RIGHT | wrong.WRONG
RIGHT, WRONG = in_order.RIGHT | right.RIGHT, advice.WRONG | wrong.WRONG
QUICK = ("run_length_encoding", "unlocked_by_a_plain_store")
SLOW = {
    "a_call_in_the_condition", "counts_far", "each_lane_waits_for_the_next", "everybody_adds_up",
    "floyd_warshall", "tree_of_pairs_without_a_barrier",
    "lock_by_compare_and_swap", "lock_per_thread_then_shuffles", "lock_with_a_break_and_naps",
    "mandelbrot", "mandelbrot_with_break", "semaphore_with_two_permits", "ticket_lock",
    *(ASKED.keys() - QUICK),
}  # fmt: skip
# The native engine compiles each for a second: these have most of what there is to compile.
NATIVE = (
    "connected_components_by_minima", "edit_distance_by_diagonals", "fourier_transform",
    "radix_sort_by_ballots", "sums_over_a_tree_with_a_stack", "two_warps_hand_over_by_polling",
)  # fmt: skip
FOUND_BY_NATIVE = {"out-of-bounds": IndexError, "compile": InputError}
IN_NUMBAS_OWN = ("more_draws_than_states",)  # of which that engine names Numba's line


def cases(names, slow=SLOW, others=()):
    """Marked by how long they take. others: marks of those that are not slow."""
    marks = {name: [pytest.mark.slow] if name in slow else [*others] for name in names}
    for name in WRONG.keys() & marks:
        marks[name] += [needs_numba_cuda] * (WRONG[name].kind == "compile")
    return [pytest.param(name, marks=marks[name]) for name in names]


def checked(name, case, arguments):
    sizes, options = (case.grid, case.block), {"ask_numba": name in ASKED, **case.options}
    return checked_run(case.kernel, *sizes, *arguments, **options)


def expect_right(case, arguments):
    for number, expected in case.expected(*case.arguments()).items():
        np.testing.assert_allclose(arguments[number], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", cases(RIGHT))
def test_nothing_is_found_in_a_right_kernel(name):
    case = RIGHT[name]
    arguments = case.arguments()
    report = checked(name, case, arguments)
    assert report.ok and problems(report) == [], report
    expect_right(case, arguments)


@pytest.mark.parametrize("name", cases(right.RIGHT, NATIVE, [pytest.mark.thorough]))
def test_the_native_engine_computes_the_same(name):
    case = RIGHT[name]
    arguments = case.arguments()
    shared_bytes = case.options.get("dynamic_shared", 0)
    native(case.kernel)[case.grid, case.block, 0, shared_bytes](*arguments)
    expect_right(case, arguments)


@pytest.mark.parametrize("name", cases(WRONG))
def test_a_bug_is_named_with_advice_that_fits(name):
    case = WRONG[name]
    report = checked(name, case, case.arguments())
    line = line_of_comment(case.kernel)
    here = [f for f in problems(report) if (f.line, f.kind) == (line, case.kind)]
    text = " ".join(finding.message for finding in here)
    assert here and {f.kind for f in problems(report)} <= {case.kind, case.also}, report
    assert all(word in text for word in case.words), report
    there = line_of_comment(case.kernel, "# there")
    assert there is None or f"line {there}" in text, report
    assert not any(word in text for word in case.never), report


@pytest.mark.parametrize(
    "name", cases([n for n in wrong.WRONG if WRONG[n].kind in FOUND_BY_NATIVE], WRONG)
)
def test_the_native_engine_finds_what_does_not_compile_and_indices(name):
    case = WRONG[name]
    where = "random.py" if name in IN_NUMBAS_OWN else f"line {line_of_comment(case.kernel)}:"
    with pytest.raises(FOUND_BY_NATIVE[case.kind], match=where):
        native(case.kernel)[case.grid, case.block](*case.arguments())


@pytest.mark.thorough
@pytest.mark.parametrize("case", [*in_order.RIGHT.values(), *advice.WRONG.values()])
def test_numba_takes_each_kernel_that_it_was_not_asked_about(case):
    verdict = compile_verdict(case.kernel, read_source(case.kernel), case.arguments())
    assert verdict.refusals == (), verdict
