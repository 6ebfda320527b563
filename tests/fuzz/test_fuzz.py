"""Generated kernels: Numba and the checked simulator agree about each."""

import importlib.util
import json

import pytest

from tests.fuzz.__main__ import COUNTS
from tests.fuzz.compare import outcome
from tests.fuzz.grammar import MISTAKES, WIDER_SINCE, case

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("numba_cuda") is None,
    reason="needs numba-cuda, which says what compiles: pip install -r requirements.txt",
)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_generated_kernel_compiles_in_the_lab_if_it_does_in_numba(seed):
    found = outcome(case(seed), with_native=False)
    assert found.agree, (case(seed).text, found)


NOT_YET = {20_015: "a store into a constant array, which Numba compiles"}


@pytest.mark.thorough
@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(seed, marks=pytest.mark.xfail(strict=True, reason=NOT_YET[seed]))
        if seed in NOT_YET
        else seed
        for first in (9000, WIDER_SINCE)
        for seed in range(first, first + 100)
    ],
)
def test_numba_and_the_checked_simulator_agree(seed):
    found = outcome(case(seed), with_native=False)
    assert found.agree, (case(seed).text, found)


def test_the_grammar_writes_the_same_kernel_for_the_same_seed_and_all_mistakes():
    cases = [case(seed) for seed in range(2000)]
    assert cases[7] == case(7) and len({one.text for one in cases}) == 2000
    assert {one.mistake for one in cases} == {None, *MISTAKES}


def test_the_saved_run_has_no_disagreement():
    counts = json.loads(COUNTS.read_text())
    assert counts["checked agrees"] == counts["native agrees"] == counts["kernels"] > 1000
