"""Generated kernels: Numba and the checked simulator agree about each."""

import importlib.util
import json

import pytest

from lessons.lab import checked_run
from tests.fuzz.__main__ import COUNTS
from tests.fuzz.compare import BLOCKS, THREADS, inputs, load, outcome
from tests.fuzz.grammar import MISTAKES, WIDER_SINCE, case

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("numba_cuda") is None,
    reason="needs numba-cuda, which says what compiles: pip install -r requirements.txt",
)


@pytest.mark.parametrize("seed", [0, 1, 2, 20_119, 20_125])
def test_a_generated_kernel_compiles_in_the_lab_if_it_does_in_numba(seed):
    found = outcome(case(seed), with_native=False)
    assert found.agree, (case(seed).text, found)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "seed", [seed for first in (9000, WIDER_SINCE) for seed in range(first, first + 100)]
)
def test_numba_and_the_checked_simulator_agree(seed):
    found = outcome(case(seed), with_native=False)
    assert found.agree, (case(seed).text, found)


def test_a_store_into_constant_memory_is_told():
    one = case(20_015)
    assert one.mistake == "TABLE[0] = 1"
    report = checked_run(load(one), BLOCKS, THREADS, *inputs(), measure=False)
    assert [finding.kind for finding in report.problems] == ["out-of-bounds"]
    assert outcome(one, with_native=False).agree


def test_the_grammar_writes_the_same_kernel_for_the_same_seed_and_all_mistakes():
    cases = [case(seed) for seed in range(2000)]
    assert cases[7] == case(7) and len({one.text for one in cases}) == 2000
    assert {one.mistake for one in cases} == {None, *MISTAKES}


def test_the_saved_run_has_no_disagreement():
    counts = json.loads(COUNTS.read_text())
    assert counts["checked agrees"] == counts["native agrees"] == counts["kernels"] > 1000
