"""What a report offers to programs: fields, kinds, JSON and SARIF, and a way to fail a test."""

import json
from pathlib import Path

import numpy as np
import pytest
from numba import cuda, float32

from lessons.lab import InputError, ProblemsFound, checked, checked_run
from tests.lab.helpers import floats, line_of_comment, no_guard

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve()


@cuda.jit
def reverses_too_early(values, result):
    tile = cuda.shared.array((4, 2), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile[y, x] = values[cuda.blockIdx.x, y, x]
    result[cuda.blockIdx.x, y, x] = tile[3 - y, x]  # here


@cuda.jit
def skips_a_barrier(out):
    if cuda.threadIdx.x < 3:
        cuda.syncthreads()  # here
    out[cuda.threadIdx.x] = 1


@cuda.jit
def reads_too_early(out):
    tile = cuda.shared.array(4, float32)
    out[cuda.threadIdx.x] = tile[3 - cuda.threadIdx.x]  # here


@cuda.jit
def many_doubles(values, factor):
    i = cuda.grid(1)
    values[i] = values[i] * factor + values[i] * 0.3 - factor / 3


def racing():
    arrays = floats(2, 4, 2), np.zeros((2, 4, 2), np.float32)
    return checked_run(reverses_too_early, 2, (2, 4), *arrays)


def test_a_race_names_both_threads_as_fields():
    race = racing().problems[0]
    line = line_of_comment(reverses_too_early)
    assert (race.kind, race.line, race.other_line) == ("race", line, line - 1)
    assert (race.array, race.block, race.other_block) == ("tile", (0, 0, 0), (0, 0, 0))
    # Thread (x, y) reads what thread (x, 3 - y) writes.
    (x, y, z), (other_x, other_y, _) = race.thread, race.other_thread
    assert (z, other_x, other_y) == (0, x, 3 - y) and race.index == (3 - y, x)
    assert Path(race.file) == HERE and Path(race.other_file) == HERE


def test_other_findings_have_their_fields():
    outside = checked_run(no_guard, 2, 8, floats(16), np.zeros(12, np.float32)).problems[0]
    assert (outside.array, outside.index) == ("out", (12,))
    assert (outside.thread, outside.block, outside.other_thread) == ((4, 0, 0), (1, 0, 0), None)
    barrier = checked_run(skips_a_barrier, 1, 4, np.zeros(4, np.float32)).problems[0]
    assert (barrier.kind, barrier.thread, barrier.other_thread) == ("barrier", (0,) * 3, (3, 0, 0))
    early = checked_run(reads_too_early, 1, 4, np.zeros(4, np.float32)).problems[0]
    assert (early.kind, early.array, early.index) == ("uninitialised", "tile", (3,))
    assert early.thread == (0, 0, 0) and Path(early.file) == HERE


def test_advice_is_one_per_line_and_leaves_the_report_ok():
    report = checked_run(many_doubles, 1, 4, floats(4), 0.5)
    assert report.ok and report.problems == []
    assert len(report.advice) == len({finding.line for finding in report.findings})
    assert {finding.kind for finding in report.advice} == {"slow"}
    assert str(report).count("\n") == len(report.advice)


def test_kinds_are_turned_off_and_on():
    arrays = floats(2, 4, 2), np.zeros((2, 4, 2), np.float32)
    report = checked_run(reverses_too_early, 2, (2, 4), *arrays, without=["slow", "race"])
    assert report.ok and report.findings == [] and "of kind race" in str(report)
    report = checked_run(reverses_too_early, 2, (2, 4), *arrays, kinds=["race"])
    assert {finding.kind for finding in report.findings} == {"race"}
    with pytest.raises(ValueError, match="no finding of kind 'rase'; there are race"):
        checked_run(reverses_too_early, 2, (2, 4), *arrays, without=["rase"])


def test_problems_can_be_raised():
    with pytest.raises(ProblemsFound, match="race: thread") as caught:
        racing().raise_if_problems()
    assert isinstance(caught.value, InputError)
    checked_run(many_doubles, 1, 4, floats(4), 0.5).raise_if_problems()


@cuda.jit
def shares_what_it_is_given(out):
    tile = cuda.shared.array(0, float32)
    i = cuda.grid(1)
    if i < out.size:
        tile[cuda.threadIdx.x] = i
        out[i] = tile[cuda.threadIdx.x]


def test_checked_is_launched_as_on_a_gpu():
    out = np.zeros(10, np.float32)
    report = checked(shares_what_it_is_given)[(2, 1), 8, 0, 32](out)
    assert report.ok and report.grid == (2, 1, 1) and report.block == (8, 1, 1)
    assert out.tolist() == list(range(10))
    assert checked(shares_what_it_is_given).forall(10, 4, 0, 16)(out).grid == (3, 1, 1)
    report = checked(reverses_too_early, without=["race"])[2, (2, 4)](floats(2, 4, 2), out)
    assert "race" not in {finding.kind for finding in report.findings}
    for wrong in [8, (8,), (1, 2, 3, 4, 5), (1, 2, 0, -4)]:
        with pytest.raises(ValueError):
            checked(no_guard)[wrong]


def test_a_report_as_json():
    data = json.loads(racing().as_json())
    assert (data["kernel"], data["grid"], data["ok"]) == ("reverses_too_early", [2, 1, 1], False)
    race = data["findings"][0]
    assert race["kind"] == "race" and race["array"] == "tile" and len(race["other_thread"]) == 3


def test_a_report_as_sarif():
    log = json.loads(racing().as_sarif(ROOT))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    race = run["results"][0]
    assert race["ruleId"] == rules[race["ruleIndex"]] == "race" and race["level"] == "error"
    place = race["locations"][0]["physicalLocation"]
    file = place["artifactLocation"]
    assert file == {"uri": "tests/lab/test_findings.py", "uriBaseId": "SRCROOT"}
    assert run["originalUriBaseIds"]["SRCROOT"]["uri"] == ROOT.as_uri() + "/"
    line = line_of_comment(reverses_too_early)
    assert place["region"]["startLine"] == line
    related = race["relatedLocations"][0]["physicalLocation"]
    assert related["region"]["startLine"] == line - 1
    elsewhere = json.loads(racing().as_sarif(ROOT / "kernels"))["runs"][0]["results"][0]
    uri = elsewhere["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == HERE.as_uri()
