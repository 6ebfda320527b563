"""The comparison of tools: what each prints is read, and whoever hangs or dies costs no other."""

import sys
import time

import pytest

from benchmarks import broken_kernels as compared
from benchmarks.broken_driver import checked, outcome_of
from benchmarks.broken_kernels import FOUND, MISSED, NOT_RUN, SEEN, Chunk

OURS, NUMBAS, PLAIN, HANG = compared.OURS, compared.NUMBAS, compared.PLAIN, compared.HANG
FINE = {"found": "", "wrong": 0}

# What compute-sanitizer prints of the kernel kernel7x.
PRINTED = {
    "memcheck": """
========= Invalid __global__ write of size 4 bytes
=========     at kernel7x::fill[abi:v1](Array<float, 1, C>)+0x350
=========     by thread (31,0,0) in block (1,0,0)
=========     Address 0x7f2c is out of bounds""",
    "racecheck": """
========= Error: Race reported between Write access at _ZN8kernel7x4fillB2v1+0x2c0
=========     and Read access at _ZN8kernel7x4fillB2v1+0x350 [256 hazards]""",
    "initcheck": """
========= Uninitialized __global__ memory read of size 4 bytes
=========     at kernel7x::fill+0x50""",
    "synccheck": """
========= Barrier error detected. Divergent thread(s) in block
=========     at kernel7x::fill+0x50""",
}
AROUND = """
========= COMPUTE-SANITIZER
========= Program hit CUDA_ERROR_LAUNCH_FAILED (error 719) on CUDA API call to cuCtxSynchronize
========= Target application returned an error
========= Error: process didn't terminate successfully
========= ERROR SUMMARY: 1 error
========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)
"""


@pytest.mark.parametrize("tool", PRINTED)
def test_a_report_is_of_the_kernel_that_it_names(tool, tmp_path):
    def reports(text):
        chunk = Chunk(tool, {5: {}, 7: {}, 9: {}}, tmp_path, deadline=0)
        chunk.read(line + "\n" for line in f"@begin 2 {{}}\n{text}\n{AROUND}".splitlines())
        return list(map(len, chunk.reported))

    assert reports(PRINTED[tool]) == [0, 1, 0]
    assert reports(PRINTED[tool].replace("kernel7x", "fill")) == [0, 0, 1]
    assert reports("") == [0, 0, 0]


@pytest.mark.parametrize(
    ("tool", "outcome", "reported", "expected"),
    [
        (OURS, {"found": "race", "wrong": 0}, [], FOUND),
        (OURS, {"found": "", "wrong": 3}, [], SEEN),
        (NUMBAS, {"error": "IndexError: 5"}, [], FOUND),
        (NUMBAS, {"error": "AttributeError: no libdevice"}, [], NOT_RUN),
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
    assert compared.column(tool, outcome, reported) == expected


def test_a_cell_of_the_table():
    assert compared.cell({FOUND: 3, MISSED: 1}) == "3 / 0 / 1"
    assert compared.cell({SEEN: 3, NOT_RUN: 2}) == "0 / 3 / 0 (2)"


def test_a_sample_has_all_kinds_and_is_drawn_by_seed():
    kinds = ["values"] * 200 + ["deadlock"] * 3 + ["right"] * 50
    records = [{"kind": kind, "n": n} for n, kind in enumerate(kinds)]
    chosen = compared.sample(records, 40, 10, seed=1)
    assert (
        chosen
        == compared.sample(records, 40, 10, seed=1)
        != compared.sample(records, 40, 10, seed=2)
    )
    drawn = [one["kind"] for one in chosen]
    assert [drawn.count(kind) for kind in ("values", "deadlock", "right")] == [37, 3, 10]


SOURCE = """
from numba import cuda

@cuda.jit
def fill(part):
    part[cuda.grid(1)] = 1

@cuda.jit
def double(whole):
    whole[cuda.grid(1)] *= 2
"""


@pytest.mark.parametrize(("parts", "found"), [((0, 2), ""), ((0,), "uninitialised")])
def test_garbage_that_is_written_in_parts_is_garbage_no_more(parts, found):
    def launch(kernel, block, argument):
        sizes = {"grid": [1], "block": [block], "shared": 0}
        return {"kernel": kernel, "arguments": [{"array": 0, **argument}], **sizes}

    launches = [launch("fill", 2, {"first": first, "shape": [2]}) for first in parts]
    array = {"shape": [4], "dtype": "float32", "full": -7.0, "garbage": True}
    program = {"source": SOURCE, "launches": [*launches, launch("double", 4, {})]}
    record = {"kernel": program, "arrays": [array], "expected": []}
    task = {"record": record, "module": "kernel0x", "file": ""}
    assert outcome_of(task, *checked()) == {"found": found, "wrong": 0}


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
    driver = [sys.executable, "-c", DRIVER]
    monkeypatch.setattr(compared, "command", lambda tool, file, n: [*driver, str(n)])
    monkeypatch.setattr(compared, "SECONDS_PER_KERNEL", 0.5)
    chunk = Chunk(PLAIN, {n: {} for n in range(4)}, tmp_path, time.monotonic() + 60).run()
    assert chunk.outcomes == [FINE, {"error": HANG}, {"error": "ended with status 7"}, FINE]
