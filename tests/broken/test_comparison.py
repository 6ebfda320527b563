"""The comparison of tools: what each prints is read, and whoever hangs or dies costs no other."""

import sys

import pytest

from benchmarks import broken_kernels
from benchmarks.broken_kernels import (
    FOUND,
    HANG,
    MISSED,
    NOT_RUN,
    NUMBAS,
    OURS,
    PLAIN,
    SEEN,
    Chunk,
    Reader,
    cell,
    column,
    sample,
    without_its_gaps,
)

FINE = {"found": "", "wrong": 0}

# What compute-sanitizer prints of task 1, whose kernel is called kernel7x -> how often it counts.
PRINTED = {
    "memcheck": """
========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at kernel7x::fill[abi:v1](Array<float, 1, C>)+0x350
=========     by thread (31,0,0) in block (1,0,0)
=========     Address 0x7f2c is out of bounds
========= Target application returned an error
========= ERROR SUMMARY: 1 error
""",
    "racecheck": """
========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at _ZN8kernel7x4fillB2v1+0x2c0
=========     and Read access at _ZN8kernel7x4fillB2v1+0x350 [256 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
""",
    "initcheck": """
========= COMPUTE-SANITIZER
========= Uninitialized __global__ memory read of size 4 bytes
=========     at kernel7x::fill+0x50
=========     by thread (0,0,0) in block (0,0,0)
========= ERROR SUMMARY: 1 error
""",
    "synccheck": """
========= COMPUTE-SANITIZER
========= Barrier error detected. Divergent thread(s) in block
=========     at kernel7x::fill+0x50
=========     by thread (33,0,0) in block (0,0,0)
========= ERROR SUMMARY: 1 error
""",
}
CLEAN = """
========= COMPUTE-SANITIZER
========= ERROR SUMMARY: 0 errors
========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)
========= Error: process didn't terminate successfully
"""


def read(tool, text, folder):
    chunk = Chunk(tool, [{}, {}, {}], [5, 7, 9], folder, deadline=0)
    Reader(chunk, -1).read(line + "\n" for line in text.splitlines())
    return [len(reports) for reports in chunk.reported], chunk.outcomes


@pytest.mark.parametrize("tool", PRINTED)
def test_a_report_is_of_the_kernel_that_it_names(tool, tmp_path):
    late = f"@begin 1 {{}}\n@end 1 {{}}\n@begin 2 {{}}\n{PRINTED[tool]}"
    assert read(tool, late, tmp_path)[0] == [0, 1, 0]
    unnamed = PRINTED[tool].replace("kernel7x", "fill")
    assert read(tool, f"@begin 2 {{}}\n{unnamed}", tmp_path)[0] == [0, 0, 1]
    assert read(tool, f"@begin 0 {{}}\n{CLEAN}", tmp_path)[0] == [0, 0, 0]


@pytest.mark.parametrize(
    ("tool", "outcome", "reported", "expected"),
    [
        (OURS, {"found": "race", "wrong": 0}, [], FOUND),
        (OURS, {"found": "", "wrong": 3}, [], SEEN),
        (NUMBAS, {"error": "IndexError: 5"}, [], FOUND),
        (NUMBAS, {"error": HANG}, [], SEEN),
        (PLAIN, {"error": "CudaAPIError: [700]", "sticky": True}, [], FOUND),
        (PLAIN, FINE, [], MISSED),
        ("memcheck", FINE, ["Invalid __global__ write"], FOUND),
        ("racecheck", {"error": "CudaAPIError: [700]", "sticky": True}, [], SEEN),
        ("racecheck", {"error": HANG}, [], SEEN),
        ("racecheck", {"error": "TypingError: no", "sticky": False}, [], NOT_RUN),
        ("synccheck", None, [], NOT_RUN),
    ],
)
def test_the_column_of_an_outcome(tool, outcome, reported, expected):
    assert column(tool, outcome, reported) == expected


def test_what_numbas_simulator_lacks_is_not_held_against_a_kernel():
    failed, fine = ({"error": "AttributeError"}, []), (FINE, [])
    results = without_its_gaps([failed, failed, fine], [failed, fine, (None, [])])
    assert results == [(None, []), failed, fine]


def test_a_sample_has_all_kinds_and_is_drawn_by_seed():
    often, seldom = {"right": False, "kind": "values"}, {"right": False, "kind": "deadlock"}
    records = [{**often, "n": n} for n in range(200)] + [{**seldom, "n": n} for n in range(3)]
    records += [{"right": True, "kind": "right", "n": n} for n in range(50)]
    chosen = sample(records, 40, 10, seed=1)
    assert chosen == sample(records, 40, 10, seed=1) != sample(records, 40, 10, seed=2)
    assert [one["kind"] for one in chosen].count("deadlock") == 3
    assert len(chosen) == 50


DRIVER = """
import sys, time
for n in range(int(sys.argv[1]), 4):
    print(f"\\n@begin {n} {{}}", flush=True)
    if n == 1:
        time.sleep(60)
    if n == 2:
        sys.exit(7)
    print(f'\\n@end {n} {{"found": "", "wrong": 0}}', flush=True)
"""


def test_a_process_that_hangs_or_dies_is_begun_again_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(
        broken_kernels,
        "command",
        lambda tool, file, first: [sys.executable, "-c", DRIVER, str(first)],
    )
    monkeypatch.setitem(broken_kernels.SECONDS_PER_KERNEL, PLAIN, 0.5)
    far = broken_kernels.time.monotonic() + 60
    chunk = Chunk(PLAIN, [{}] * 4, [0, 1, 2, 3], tmp_path, far).run()
    assert chunk.outcomes == [FINE, {"error": HANG}, {"error": "ended with status 7"}, FINE]


def test_a_cell_of_the_table():
    assert cell({FOUND: 3, MISSED: 1}) == "3 / 0 / 1"
    assert cell({SEEN: 3, NOT_RUN: 2}) == "0 / 3 / 0 (2)"
