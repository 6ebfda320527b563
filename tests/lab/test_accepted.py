"""A project accepts a finding, with a reason in each report, and is told when it ends."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lessons.lab.__main__ import main

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import numpy as np
from numba import cuda
@cuda.jit
def race(out):
    out[0] += cuda.threadIdx.x {at_end}
    {above}
    out[1] += cuda.threadIdx.x
def test_race():
    race[1, 32](cuda.to_device(np.zeros(2, np.int64)))
test_race()
"""
ALLOW = "# lab: allow race - {}"


@pytest.fixture
def run(tmp_path, capsys):
    script, found, sarif = (tmp_path / name for name in ("script.py", "found.json", "found.sarif"))

    def run(*options, at_end="", above="", empty_lines=0):
        """(exit status, text, data of JSON, results of SARIF)"""
        program = PROGRAM.format(at_end=at_end, above=above)
        script.write_text("\n" * empty_lines + program)
        files = ["--json", str(found), "--sarif", str(sarif)]
        status = main(["run", *files, *options, str(script)])
        results = json.loads(sarif.read_text())["runs"][0]["results"] if sarif.exists() else []
        data = json.loads(found.read_text()) if found.exists() else {}
        text = "".join(capsys.readouterr())
        return status, text, data, [one for one in results if one["ruleId"] != "slow"]

    return run


def test_a_comment_accepts_and_its_reason_is_told(run):
    assert run()[0] == 1
    both = {"at_end": ALLOW.format("all the same"), "above": ALLOW.format("a counter")}
    status, text, data, results = run(**both)
    assert status == 0 and "no problem found, 2 accepted" in text
    assert "line 6: race: " in text and "(accepted: all the same)" in text
    assert "(accepted: a counter)" in text and data["ok"]
    assert {one["accepted"] for one in data["findings"]} >= {"all the same", "a counter"}
    assert [one["suppressions"][0]["kind"] for one in results] == ["inSource"] * 2
    assert results[0]["suppressions"][0]["justification"] == "all the same"
    for other in ("# lab: allow order - no", "# allow race", "'lab: allow race'"):
        assert run(at_end=f"{other}", above=both["above"])[0] == 1 if "'" not in other else True


def test_a_comment_that_allows_nothing_is_told(run):
    status, text, data, _ = run(at_end="# lab: allow race, deadlock", above=ALLOW.format("it"))
    assert status == 0 and "(accepted: no reason given)" in text and data["no longer occurs"] == []
    status, text, *_ = run("--only", "order,deadlock", above=ALLOW.format("it"))
    assert status == 0 and "allows nothing" not in text  # races were not looked for
    status, text, data, _ = run(
        at_end="# lab: allow rase - ?", above="out[1] = 0 # lab: allow endless - x"
    )
    assert status == 1 and "line 6: `lab: allow rase`: there is no kind rase" in text
    assert "line 7: `lab: allow endless` allows nothing that occurs" in "\n".join(
        data["no longer occurs"]
    )


def test_a_baseline_accepts_also_when_lines_move(run, tmp_path):
    baseline = tmp_path / "lab.json"
    options = ["--baseline", str(baseline)]
    assert run(*options)[0] == 2  # there is none
    assert run("--update-baseline")[0] == 2  # which?
    assert run(*options, "--update-baseline", above=ALLOW.format("mine"))[0] == 0
    (entry,) = json.loads(baseline.read_text())["accepted by the lab"]
    assert (entry["file"], entry["kind"]) == ("script.py", "race")
    entry["reason"] = "known since May"
    baseline.write_text(json.dumps({"accepted by the lab": [entry]}))
    status, text, _, results = run(*options, empty_lines=5)
    assert status == 1 and "1 problem found, 1 accepted" in text
    assert "(accepted: known since May)" in text
    assert [one.get("suppressions", [{}])[0].get("kind") for one in results] == ["external", None]
    run(*options, "--update-baseline", empty_lines=5)
    entries = json.loads(baseline.read_text())["accepted by the lab"]
    assert [one["reason"] for one in entries] == ["known since May", ""]
    status, text, *_ = run(*options, at_end="if cuda.grid(1) == 0 else 0")
    assert status == 1 and "line 11: the race of the baseline no longer occurs" in text
    baseline.write_text("{}")
    assert run(*options)[0] == 2


@pytest.mark.thorough
def test_a_projects_tests_accept_in_the_same_ways(tmp_path):
    test = tmp_path / "test_it.py"
    test.write_text(
        PROGRAM.format(at_end=ALLOW.format("so"), above="").replace("test_race()\n", "", 2)
    )
    test.write_text(PROGRAM.format(at_end=ALLOW.format("so"), above="")[: -len("test_race()\n")])

    def run(*options):
        plugin = ["-p", "lessons.lab.pytest_plugin", "--lab", "-p", "no:cacheprovider"]
        command = [sys.executable, "-m", "pytest", *plugin, *options, str(test)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    status, text = run()
    assert status == 1 and "(accepted: so)" in text and "1 problem found, 1 accepted" in text
    assert run("--lab-without", "race")[0] == run("--lab-only", "deadlock")[0] == 0
    assert run("--lab-without", "rase")[0] == 4
    baseline = ["--lab-baseline", str(tmp_path / "lab.json")]
    assert run(*baseline)[0] == 4
    assert run(*baseline, "--lab-update-baseline")[0] == 0
    status, text = run(*baseline)
    assert status == 0 and text.count("(accepted: ") == 2
