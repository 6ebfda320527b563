"""The lab on kernels as other people write them: the right ones are clean, the mistakes found."""

import os
import subprocess
import sys

import pytest

from tests.lab.strangers.judge import TOPICS, cases_of, judge

# Minutes in all: two that ask most of the lab's parts stand for the others.
SLOW = ("programs", "refused")


@pytest.mark.parametrize(
    "topic",
    [
        pytest.param(topic, marks=pytest.mark.slow if topic in SLOW else pytest.mark.thorough)
        for topic in TOPICS
    ],
)
def test_the_lab_is_right_about_kernels_of_strangers(topic):
    complaints = {case.name: judge(case) for case in cases_of(topic)}
    assert complaints
    assert not [f"{name}: {c}" for name, said in complaints.items() for c in said]


@pytest.mark.slow
def test_numbas_own_simulator_may_be_on():
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    command = [sys.executable, "-m", "tests.lab.strangers", "row_flags", "scale_either"]
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "2  right: clean" in result.stdout
