"""Kernels of many kinds, on both engines: the right ones are right, and each bug is named."""

import numpy as np
import pytest

from lessons.lab import checked_run, native
from lessons.lab.errors import InputError
from tests.lab.helpers import line_of_comment, needs_numba_cuda, problems
from tests.lab.kinds.right import RIGHT
from tests.lab.kinds.wrong import WRONG

QUICK = ("run_length_encoding", "unlocked_by_a_plain_store")
# The native engine compiles each for a second: these have most of what there is to compile.
NATIVE = (
    "connected_components_by_minima", "edit_distance_by_diagonals", "fourier_transform",
    "radix_sort_by_ballots", "sums_over_a_tree_with_a_stack", "two_warps_hand_over_by_polling",
)  # fmt: skip
FOUND_BY_NATIVE = {"out-of-bounds": IndexError, "compile": InputError}
IN_NUMBAS_OWN = ("more_draws_than_states",)  # of which that engine names Numba's line


def cases(names, quick=QUICK, slow=()):
    """Marked by how long they take."""
    slow = slow or names
    marks = {name: pytest.mark.slow if name in slow else pytest.mark.thorough for name in names}
    for name in names:
        needs = [needs_numba_cuda] if name in WRONG and WRONG[name].kind == "compile" else []
        yield pytest.param(name, marks=needs if name in quick else [*needs, marks[name]])


def expect_right(case, arguments):
    for number, expected in case.expected(*case.arguments()).items():
        np.testing.assert_allclose(arguments[number], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", list(cases(RIGHT)))
def test_nothing_is_found_in_a_right_kernel(name):
    case = RIGHT[name]
    arguments = case.arguments()
    report = checked_run(case.kernel, case.grid, case.block, *arguments, **case.options)
    assert report.ok, report
    expect_right(case, arguments)


@pytest.mark.parametrize("name", list(cases(RIGHT, (), NATIVE)))
def test_the_native_engine_computes_the_same(name):
    case = RIGHT[name]
    arguments = case.arguments()
    shared_bytes = case.options.get("dynamic_shared", 0)
    native(case.kernel)[case.grid, case.block, 0, shared_bytes](*arguments)
    expect_right(case, arguments)


@pytest.mark.parametrize("name", list(cases(WRONG)))
def test_a_bug_is_named_with_advice_that_fits(name):
    case = WRONG[name]
    report = checked_run(case.kernel, case.grid, case.block, *case.arguments(), **case.options)
    line = line_of_comment(case.kernel)
    here = [f for f in problems(report) if (f.line, f.kind) == (line, case.kind)]
    text = " ".join(finding.message for finding in here)
    assert here, report
    assert all(word in text for word in case.words), report
    assert not any(word in text for word in case.never), report


@pytest.mark.parametrize(
    "name", list(cases([name for name in WRONG if WRONG[name].kind in FOUND_BY_NATIVE], ()))
)
def test_the_native_engine_finds_what_does_not_compile_and_indices(name):
    case = WRONG[name]
    where = "random.py" if name in IN_NUMBAS_OWN else f"line {line_of_comment(case.kernel)}:"
    with pytest.raises(FOUND_BY_NATIVE[case.kind], match=where):
        native(case.kernel)[case.grid, case.block](*case.arguments())
