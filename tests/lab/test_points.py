"""What the lab says of the smallest kernel for each thing that it has to get right."""

import pytest

from lessons.lab.compiled import cores
from tests.lab.helpers import needs_numba_cuda
from tests.lab.points import GROUPS, POINTS, answer, table

COMPILED = ("compile", "native")


def cases():
    for one in POINTS:
        marks = [pytest.mark.slow] if one.engine == "native" or one.group == "false" else []
        marks += [needs_numba_cuda] if one.group in COMPILED else []
        yield pytest.param(one, marks=marks, id=one.kernel.__name__)


@pytest.mark.parametrize("one", list(cases()))
def test_the_lab_says_what_is_expected(one, monkeypatch):
    monkeypatch.setattr(cores, "STUCK_SECONDS", 0.4)
    assert one.expected in answer(one)


@pytest.mark.thorough
@needs_numba_cuda
def test_the_table_has_a_row_for_each_kernel():
    text = table()
    assert all(title in text for title in GROUPS.values())
    assert text.count("\n| ") == len(POINTS) + len(GROUPS)
