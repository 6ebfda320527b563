"""`report.predict` foretells times from counts: properties, and what calibration has measured.

Most tests do as if no compiler could be asked, so that they say the same everywhere. Its text is a
short one here, written by hand.
"""

import json

import numpy as np
import pytest
from numba import cuda, float32, uint32

from benchmarks import calibrate
from benchmarks.machine import RESULTS
from kernels import histogram
from lessons.lab import checked_run
from lessons.lab.errors import InputError
from lessons.lab.numba_compiler import assembled, why_not_asked
from lessons.lab.simulator.foretell import model
from lessons.lab.simulator.foretell.program import chain_of, read_ptx, times_of
from lessons.lab.simulator.work import Work

MEASURED = json.loads((RESULTS / "h200-calibration.json").read_text())
ROWS = {row["what"]: row for row in MEASURED["rows"]}
QUICK = {"without": ("slow",), "unwritten": False, "negative": False}


@pytest.fixture(autouse=True)
def no_compiler(monkeypatch):
    monkeypatch.setattr(model, "assembled", lambda *_: None)


@cuda.jit
def copy_strided(source, out, stride):
    i = cuda.grid(1)
    out[i] = source[i * stride]


@cuda.jit
def read_rows(source, out, rows):
    i = cuda.grid(1)
    total = float32(0)
    for row in range(rows):
        total += source[row, i]
    out[i] = total


@cuda.jit
def turn(source, out, pitch):
    tile = cuda.shared.array(1056, float32)
    x = cuda.threadIdx.x
    for y in range(32):
        tile[y * pitch + x] = source[y, x]
    cuda.syncthreads()
    for y in range(32):
        out[y, x] = tile[x * pitch + y]


def copied(stride, blocks=64, grid=None):
    source, out = np.zeros(blocks * 128 * stride, np.float32), np.zeros(blocks * 128, np.float32)
    return checked_run(copy_strided, blocks, 128, source, out, stride, **QUICK).predict(grid=grid)


def rows_read(rows, blocks=8):
    source, out = np.zeros((rows, blocks * 128), np.float32), np.zeros(blocks * 128, np.float32)
    return checked_run(read_rows, blocks, 128, source, out, rows, **QUICK).predict("h200")


def test_more_bytes_are_never_faster():
    assert sorted(found := [rows_read(rows).us for rows in (1, 4, 16, 64)]) == found
    assert found[-1] > 1.2 * found[0]


def test_neighbours_are_faster_than_strides():
    found = [copied(stride, grid=200_000).us for stride in (1, 2, 8, 32)]
    assert sorted(found) == found and found[-1] > 1.2 * found[0]


def test_a_larger_grid_is_slower_and_a_launch_is_the_least():
    found = [copied(1, grid=grid).us for grid in (1, 132, 1320, 132_000)]
    assert sorted(found) == found
    assert found[0] >= model.gpu_named("H200")["launch_us"]


def test_some_blocks_of_a_launch_foretell_all_of_it():
    source, out = np.zeros(512 * 128, np.float32), np.zeros(512 * 128, np.float32)
    whole = checked_run(copy_strided, 512, 128, source, out, 1, **QUICK).predict()
    some = checked_run(
        copy_strided, 512, 128, source, out, 1, only_blocks=range(100, 104), **QUICK
    ).predict()
    assert some.us == pytest.approx(whole.us, rel=0.01)


def test_bank_conflicts_are_passes_and_a_pitch_of_33_has_none():
    source, out = (np.zeros((32, 32), np.float32) for _ in range(2))
    found = {}
    for pitch in (32, 33):
        report = checked_run(turn, 1, 32, source, out, pitch, **QUICK)
        found[pitch] = report.predict(grid=132 * 1000)
    assert found[32].parts["shared"] > 10 * found[33].parts["shared"]
    assert found[32].us > found[33].us
    assert "passes of shared memory" in found[32].sentence


def test_half_as_many_warps_are_never_faster(monkeypatch):
    found = []
    for registers in (32, 64, 128, 255):
        monkeypatch.setattr(model, "DEFAULT_REGISTERS", registers)
        prediction = copied(1, grid=132 * 160)
        found.append((prediction.warps, prediction.us))
    assert [warps for warps, _ in found] == [64, 32, 16, 8]
    assert sorted(us for _, us in found) == [us for _, us in found]


@pytest.mark.parametrize("colour", ["one", "many"])
def test_private_counts_pay(colour):
    pixels = np.full(1 << 14, 0.5, np.float32)
    if colour == "many":
        pixels = np.random.default_rng(0).random(1 << 14, np.float32)
    found = {}
    for name, blocks in (("global", 64), ("shared", 4)):
        kernel = getattr(histogram, f"histogram_{name}")
        counts = np.zeros(64, np.int32)
        report = checked_run(kernel, blocks, 256, pixels, counts, without=("slow",))
        found[name] = report.predict(grid=blocks * 64)
    assert found["global"].us > 5 * found["shared"].us
    assert found["global"].bound == "atomics"


def test_the_whole_is_at_least_each_part_and_at_most_all():
    for found in (copied(8, grid=5000), rows_read(64)):
        launch = found.parts["launch"]
        others = [us for name, us in found.parts.items() if name != "launch"]
        assert launch + max(others) <= found.us <= launch + sum(others) + 1e-9
        assert found.bound == "launch" or found.parts[found.bound] == max(others)
        assert found.sentence in str(found) and "guessed" in str(found)


def test_a_gpu_that_is_not_known_and_runs_that_were_not_counted_to_their_end():
    report = checked_run(copy_strided, 1, 32, *(np.zeros(32, np.float32),) * 2, 1, measure=False)
    with pytest.raises(InputError, match="no GPU 'H3000' has been measured: take one of H200"):
        report.predict("H3000")
    with pytest.raises(InputError, match="counted in a run with measure=True"):
        report.predict()
    report = checked_run(copy_strided, 1, 64, *(np.zeros(32, np.float32),) * 2, 1)
    with pytest.raises(InputError, match="counted in a run without problems, to its end"):
        report.predict()


# ---------------------------------------------------------------- what was measured


def test_the_constants_are_those_of_the_calibration():
    assert model.gpu_named("H200") == {"name": "H200", **calibrate.constants_of(MEASURED)}


@pytest.mark.parametrize("what", ["shared 8", "shared 32", "small 8", "small 32"])
def test_what_was_measured_is_foretold(what):
    """Of kernels that one roof binds, whatever the compiler does with the rest."""
    name, stride = what.split()
    given = np.zeros(32, np.float32), 10, int(stride)
    if name == "small":
        given = np.zeros(4608, np.float32), *given
    kernel = calibrate.read_shared if name == "shared" else calibrate.read_small
    row = ROWS[what]
    report = checked_run(
        kernel, row["grid"], 1024, *given, only_blocks=range(1), **{**QUICK, "without": ("race",)}
    )
    roof = report.predict().parts["shared" if name == "shared" else "requests"]
    assert 10 * row["us_per_round"] == pytest.approx(roof, rel=0.15)


# ---------------------------------------------------------------- the compiler's text

PTX = """
.visible .entry sum_up()
    .loc 1 {first} 1
    ld.param.u64 %rd1, [out];
    setp.lt.s64 %p1, %rd1, 4;
    @%p1 bra $L__BB0_2;
$L__BB0_1:
    .loc 1 {inner} 1
    ld.global.f32 %f1, [%rd1];
    ld.global.f32 %f2, [%rd1+4];
    add.f32 %f3, %f3, %f1;
    add.f32 %f3, %f3, %f2;
    .loc 1 {loop} 1
    add.s64 %rd2, %rd2, 2;
    setp.ne.s64 %p2, %rd2, 0;
    @%p2 bra $L__BB0_1;
$L__BB0_2:
    .pragma "nounroll";
    .loc 1 {inner} 1
    ld.global.f32 %f1, [%rd1];
    add.f32 %f3, %f3, %f1;
    .loc 1 {loop} 1
    setp.ne.s64 %p3, %rd2, 0;
    @%p3 bra $L__BB0_2;
    .loc 1 {last} 1
    st.global.f32 [%rd1], %f3;
"""


def test_the_rounds_of_a_loop_are_shared_out_among_its_copies():
    source, out = np.zeros((12, 64), np.float32), np.zeros(64, np.float32)
    report = checked_run(read_rows, 1, 64, source, out, 12, **QUICK)
    first, _, loop, last = report.source.tree.body
    lines = {"first": first, "loop": loop, "inner": loop.body[0], "last": last}
    program = read_ptx(PTX.format(**{name: one.lineno for name, one in lines.items()}))
    assert [sum(one.slots > 0 for one in part) for part in program] == [3, 7, 4]
    # Two warps with twelve rounds each: 24 reads, of which a text reads three.
    assert times_of(program, report.work, warps=2) == [2, 8, 8]
    assert 100 <= chain_of(program[1], lambda one: 100 if one.kind == "global" else 4) <= 120


def test_a_loop_that_asks_for_nothing_is_counted_by_its_lines():
    work = Work()
    work.executed[7, None] = 200
    once = ".loc 1 7 1\nfma.rn.f32 %f1, %f1, %f2, %f3;\n.loc 1 6 1\nadd.s64 %rd1, %rd1, 1;\n"
    for copies in (1, 4):
        text = f".entry count_down(\n$L1:\n{once * copies}@%p1 bra $L1;\nret;"
        assert times_of(read_ptx(text), work, warps=2) == [2, 200 / copies]


def test_a_chain_waits_for_each_result_and_at_each_barrier():
    read, add = "ld.global.u64 %rd{}, [%rd{}];\n", "add.s64 %rd9, %rd8, %rd7;\n"

    def cycles(*lines):
        loop = read_ptx(f".entry follow(\n$L1:\n{''.join(lines)}@%p1 bra $L1;")[1]
        return chain_of(loop, lambda one: {"global": 500, "bar": 50}.get(one.kind, 4))

    assert cycles(read.format(2, 1), read.format(4, 3)) == 500
    assert cycles(read.format(2, 1), read.format(3, 2)) == 1000
    assert cycles(read.format(2, 1), "bar.sync 0;\n", read.format(4, 3)) == 1050
    assert cycles(*[add] * 10) == 21  # two instructions each, and a jump: one per cycle


@pytest.mark.skipif(why_not_asked() is not None, reason="no compiler for GPUs")
def test_the_compiler_says_registers_and_instructions(monkeypatch):
    monkeypatch.setattr(model, "assembled", assembled)
    found = rows_read(64)
    assert found.by_compiler and 8 <= found.registers <= 40 and "guessed" not in str(found)
    # A block has four warps, and a processor issues four instructions per cycle.
    one = 64 / (1000 * model.gpu_named("H200")["clock_ghz"])
    assert 3 * one < found.parts["instructions"] < 60 * one


def test_lines_of_device_functions_belong_to_the_line_that_calls():
    @cuda.jit(device=True)
    def number_of(source, i):
        return source[uint32(i)]

    @cuda.jit
    def copy(source, out):
        i = cuda.grid(1)
        out[i] = number_of(source, i)

    given = np.zeros(64, np.float32), np.zeros(64, np.float32)
    report = checked_run(copy, 1, 64, *given, **QUICK)
    line = report.source.tree.body[1].lineno
    assert report.work.requests == {(line, "global"): 4}
