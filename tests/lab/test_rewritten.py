"""A kernel written in another way has the same findings: names and idle statements tell nothing."""

import functools
import itertools
from pathlib import Path

import numpy as np
import pytest
from numba import cuda

from lessons.lab import checked_run
from tests.lab.helpers import problems
from tests.lab.kinds import right as kinds_right
from tests.lab.kinds import wrong as kinds_wrong
from tests.lab.ordering import advice as ordering_advice
from tests.lab.ordering import right as ordering_right
from tests.lab.ordering import wrong as ordering_wrong
from tests.lab.rewritten import WAYS, load_rewritten

CORPORA = {
    "wrong kinds": (kinds_wrong, kinds_wrong.WRONG),
    "wrong orders": (ordering_wrong, ordering_wrong.WRONG),
    "orders with advice": (ordering_advice, ordering_advice.WRONG),
    "right kinds": (kinds_right, kinds_right.RIGHT),
    "right orders": (ordering_right, ordering_right.RIGHT),
}
QUICK = (("wrong orders", "statements of no effect"),)


def findings(case, translate=str):
    """translate: what turns a message about a line of the module back."""
    sizes = case.grid, case.block
    report = checked_run(case.kernel, *sizes, *case.arguments(), ask_numba=False, **case.options)
    own_file = case.kernel.py_func.__code__.co_filename
    return sorted(
        (one.kind, translate(f"line {one.line}: {one.message}"))
        if one.file in ("", own_file)
        else (one.kind, one.file, one.line)
        for one in report.findings
    )


@functools.cache
def findings_before(corpus, name):
    return findings(CORPORA[corpus][1][name])


@pytest.mark.parametrize(
    ("corpus", "way"),
    [
        pytest.param(*both, marks=[pytest.mark.each(8)] * (both not in QUICK))
        for both in itertools.product(CORPORA, WAYS)
    ],
)
def test_a_kernel_written_in_another_way_has_the_same_findings(corpus, way, tmp_path):
    module, cases = CORPORA[corpus]
    before = dict(cases)
    try:  # a module that adds to the cases of another one adds its new ones there
        translate = load_rewritten(Path(module.__file__), way, tmp_path, cases)
        rewritten = {name: case for name, case in cases.items() if case is not before[name]}
    finally:
        cases.clear()
        cases.update(before)
    assert len(rewritten) > 28
    for name, case in rewritten.items():
        assert findings(case, translate) == findings_before(corpus, name), name


@cuda.jit(device=True)
def one():
    """A call of this function is the last statement that its caller has begun."""
    return 1


@cuda.jit
def add_the_value_of_a_call(data, flag, out):
    block = cuda.blockIdx.x
    data[block] = block + 1
    cuda.threadfence()
    cuda.atomic.add(flag, 0, one())
    out[block] = data[0]


def test_a_docstring_of_a_called_function_hides_no_race():
    arrays = np.zeros(4), np.zeros(1, np.int32), np.zeros(4)
    report = checked_run(add_the_value_of_a_call, 4, 1, *arrays)
    assert [finding.kind for finding in problems(report)] == ["race"], report
