"""Mutants: the generator makes the mistakes it promises, and each one in a kernel is noticed."""

import ast
import inspect
import json
from pathlib import Path

import numpy as np
import pytest

import kernels
from lessons.lab.simulator.run import checked_run
from lessons.lab.source import python_function
from tests.mutants import __main__ as command
from tests.mutants import judge, large
from tests.mutants.equivalent import EQUIVALENT
from tests.mutants.generate import load, mutants_of
from tests.mutants.narrow import narrow_mutants
from tests.mutants.numba_simulator import judge_in_numba_simulator, judge_text
from tests.mutants.stages import STAGES

TOY = '''"""A toy module; the umlaut in Müller makes bytes and characters differ."""
from numba import cuda, float32


@cuda.jit
def toy(table, sums):
    tile = cuda.shared.array((4, 8), float32)
    x, y = cuda.grid(2)  # Müller
    if x >= table.shape[1] or y >= table.shape[0]:
        return
    tile[y, x] = table[y, x]
    cuda.syncthreads()
    total = float32(0)
    if x < 4 and y == 0:
        total = tile[y, x + 1] if x < 3 else float32(0)
    at = y, x
    table[at] = total
    add(sums, x, total)

@cuda.jit(device=True)
def add(sums, x, value):
    cuda.atomic.add(
        sums, (x, 0),
        value,
    )


def helper_of_nobody(sums):
    cuda.syncthreads()
'''

TOY_MUTANTS = [
    ("guard", 9, "if x >= table.shape[1] or y >= table.shape[0]: return", "pass"),
    ("guard", 9, "if x >= table.shape[1] or y >= table.shape[0]", "if ((x >= table.shape[1]))"),
    ("guard", 9, "if x >= table.shape[1] or y >= table.shape[0]", "if ((y >= table.shape[0]))"),
    ("initialisation", 11, "tile[y, x] = table[y, x]", "pass"),
    ("off by one", 11, "tile[y, x]", "tile[(y + 1), x]"),
    ("swap", 11, "tile[y, x]", "tile[x, y]"),
    ("off by one", 11, "tile[y, x]", "tile[y, (x + 1)]"),
    ("swap", 11, "table[y, x]", "table[x, y]"),
    ("barrier", 12, "cuda.syncthreads()", "pass"),
    ("initialisation", 13, "total = float32(0)", "pass"),
    ("guard", 14, "if x < 4 and y == 0", "if ((x < 4))"),
    ("guard", 14, "if x < 4 and y == 0", "if ((y == 0))"),
    ("guard", 14, "if x < 4 and y == 0", "if True"),
    ("off by one", 15, "tile[y, x + 1]", "tile[(y + 1), x + 1]"),
    ("swap", 15, "tile[y, x + 1]", "tile[x + 1, y]"),
    ("off by one", 15, "tile[y, x + 1]", "tile[y, (x + 1 + 1)]"),
    ("guard", 15, "tile[y, x + 1] if x < 3 else float32(0)", "tile[y, x + 1]"),
    ("swap", 16, "y, x", "x, y"),
    ("atomic", 22, "cuda.atomic.add( sums, (x, 0), value, )", "sums[x, 0] += value"),
    ("swap", 23, "(x, 0)", "(0, x)"),
]  # fmt: skip


# ---------------------------------------------------------------- the generator


def test_each_operator_makes_its_mistakes_and_no_others():
    found = [(m.operator, m.line, m.old, m.new) for m in mutants_of(TOY, "toy")]
    assert found == TOY_MUTANTS


def test_a_mutant_changes_one_place_and_keeps_all_line_numbers():
    for mutant in mutants_of(TOY, "toy"):
        ast.parse(mutant.text)
        before, after = TOY.splitlines(), mutant.text.splitlines()
        assert len(before) == len(after)
        changed = [
            n for n, pair in enumerate(zip(before, after, strict=True), 1) if pair[0] != pair[1]
        ]
        assert changed[0] == mutant.line
        assert changed == list(range(changed[0], changed[-1] + 1))


def test_mutants_that_read_the_same_are_told_apart_by_their_occurrence():
    twice = TOY.replace("    at = y, x\n", "    at = y, x\n    cuda.syncthreads()\n")
    barriers = [m for m in mutants_of(twice, "toy") if m.operator == "barrier"]
    assert [(m.line, m.occurrence) for m in barriers] == [(12, 0), (17, 1)]
    assert len({m.key for m in mutants_of(twice, "toy")}) == len(mutants_of(twice, "toy"))


def test_a_loaded_mutant_is_a_kernel_whose_source_can_be_read():
    mutant = next(one for one in mutants_of(TOY, "toy") if one.operator == "barrier")
    module = load(mutant.text, "toy_module", "<mutant 0 of toy.py>")
    table, sums = judge.stages.random(3, 8), judge.stages.random(8, 1)
    report = checked_run(module.toy, 1, (8, 4), table, sums)
    assert [(finding.kind, finding.line) for finding in report.findings][:1] == [("race", 15)]
    assert "pass\n    total" in inspect.getsource(python_function(module.toy))


# ---------------------------------------------------------------- the kernels


def test_every_staged_kernel_has_a_stage():
    """Of part one; a room of its own may add its kernels. The fused ones: see `test_fused`.

    Those of `recording` are no stages: they tell a graph its step, see `test_recording`.
    """
    defined = set()
    for file in Path(kernels.__file__).parent.glob("*.py"):
        if file.stem == "recording":
            continue
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            decorators = map(ast.unparse, getattr(node, "decorator_list", []))
            if any(decorator.startswith("cuda.jit") for decorator in decorators):
                defined.add(node.name)
    assert defined <= set(STAGES)  # some rooms have stages, too
    assert defined == set(large.LARGE)


@pytest.mark.parametrize("kernel", STAGES)
@pytest.mark.slow
def test_the_kernel_itself_passes(kernel):
    assert judge.judge_original(kernel) == (judge.SURVIVED, "")


# Their mutants are many, and each runs a large kernel.
LARGE = (
    "backward",
    "mlp_forward",
    "paint",
    "scatter_direct",
    "scatter_block",
    "learn",
    "sine_layer",
    "sine_backward",
    "chunk_sums",
    "sum_chunks",
    "relu_unit",
    "mix_units",
    "relu_backward",
    "add_weight_gradients",
)
# Of their mutants one part is slow.
IN_PARTS = {"learn": 24, "scatter_block": 6, "backward": 12, "mlp_forward": 6, "paint": 6}
PARTS = [
    pytest.param(
        kernel, first, step, marks=pytest.mark.thorough if first else pytest.mark.each(5),
        id=f"{kernel}-{first}" if first else kernel,
    )
    for kernel in STAGES
    for step in [IN_PARTS.get(kernel, 1)]
    for first in range(step)
]  # fmt: skip


@pytest.mark.parametrize("kernel, first, step", PARTS)
def test_every_mutant_is_noticed_or_known_to_be_equivalent(kernel, first, step):
    mutants = judge.mutants(kernel)
    numbers = range(first, len(mutants), step)
    verdicts = {mutants[number].key: judge.judge(kernel, number) for number in numbers}
    assert verdicts
    errors = [one.detail for one in verdicts.values() if one.caught_by == judge.ERROR]
    assert not errors, errors[0]
    survivors = {key for key, one in verdicts.items() if one.caught_by == judge.SURVIVED}
    # Both ways: a mutant listed as equivalent that is noticed now must leave the list.
    assert survivors == EQUIVALENT.keys() & verdicts.keys()


@pytest.mark.slow
@pytest.mark.parametrize("kernel", sorted({key[0] for key in EQUIVALENT}))
def test_every_equivalent_mutant_is_still_made(kernel):
    made = {mutant.key for mutant in judge.mutants(kernel)}
    assert {key for key in EQUIVALENT if key[0] == kernel} <= made


def test_equivalent_mutants_belong_to_kernels():
    assert {key[0] for key in EQUIVALENT} <= set(STAGES)


# ---------------------------------------------------------------- the command


def test_the_command_prints_a_table_and_saves_every_verdict(capsys, tmp_path):
    file = tmp_path / "mutants.json"
    assert command.main(["--kernel", "grayscale", "--list", "--save", str(file)]) == 0
    printed = capsys.readouterr().out
    assert "grayscale, line" in printed and "total" in printed
    saved = [one["checked simulator"]["outcome"] for one in json.loads(file.read_text())]
    assert saved and set(saved) == {"caught by check"}


def test_the_command_fails_if_a_mutant_is_missed(capsys, monkeypatch):
    monkeypatch.setattr(judge, "judge", lambda *task: judge.Verdict(judge.SURVIVED, ""))
    assert command.main(["--kernel", "grayscale"]) == 1


@pytest.mark.slow
def test_numba_simulator_runs_mutants_in_a_process_of_their_own():
    text = inspect.getsource(STAGES["grayscale"].module)
    assert judge_text("grayscale", text) == (judge.SURVIVED, "")
    assert judge_in_numba_simulator("grayscale", 0) == (judge.CHECK, "IndexError")


# ---------------------------------------------------------------- inputs that could hide a mistake

# "backward" takes minutes; and no bin of a histogram is for what is no number.
WITHOUT_NAN = ("backward", "histogram_global", "histogram_shared")


def launch_checked_with_nan(kernel, blocks, threads, *arguments):
    """Look for mistakes with NaN in all floats, then compute with the arguments as they are."""
    judge.launch_checked(kernel, blocks, threads, *map(filled_with_nan, arguments))
    checked_run(kernel, blocks, threads, *arguments, measure=False)


def filled_with_nan(value):
    if isinstance(value, tuple):
        items = map(filled_with_nan, value)
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return np.full_like(value, np.nan)
    return value.copy() if isinstance(value, np.ndarray) else value


@pytest.mark.thorough
@pytest.mark.parametrize("kernel", [kernel for kernel in STAGES if kernel not in WITHOUT_NAN])
def test_nan_hides_no_mutant_from_the_checks(kernel):
    stage = STAGES[kernel].module
    assert judge.run_stage(kernel, stage, launch_checked_with_nan).caught_by == judge.SURVIVED
    for number in range(len(judge.mutants(kernel))):
        if judge.judge(kernel, number).caught_by != judge.CHECK:
            continue
        module = judge.mutated_module(kernel, number)
        verdict = judge.run_stage(kernel, module, launch_checked_with_nan)
        assert verdict.caught_by == judge.CHECK, judge.mutants(kernel)[number]


# ---------------------------------------------------------------- sizes beyond 2^31


def narrow_modules(kernel):
    """(mutant, its module) of each."""
    original = large.LARGE[kernel].module
    for number, mutant in enumerate(narrow_mutants(original, kernel)):
        filename = f"<narrow {number} of {kernel}>"
        yield mutant, load(mutant.text, original.__name__, filename)


QUICK_AT_LARGE = ("histogram_global", "pixel_centres")
BY_LARGE_SIZE = [
    pytest.param(
        kernel,
        marks=[]
        if kernel in QUICK_AT_LARGE
        else [pytest.mark.thorough if kernel in LARGE else pytest.mark.slow],
    )
    for kernel in large.LARGE
]


@pytest.mark.parametrize("kernel", BY_LARGE_SIZE)
def test_beyond_two_to_the_31_every_narrow_index_is_noticed(kernel):
    assert large.judge(kernel, large.LARGE[kernel].module) == (judge.SURVIVED, "")
    found = {mutant: large.judge(kernel, module) for mutant, module in narrow_modules(kernel)}
    survivors = [mutant for mutant in found if found[mutant].caught_by == judge.SURVIVED]
    assert len(survivors) < len(found)
    assert survivors == [mutant for mutant in found if large.is_small(mutant)]


@pytest.mark.thorough
@pytest.mark.parametrize("kernel", [kernel for kernel in large.LARGE if kernel not in LARGE])
def test_no_narrow_index_is_noticed_at_small_sizes(kernel):
    for mutant, module in narrow_modules(kernel):
        verdict = judge.run_stage(kernel, module, judge.launch_checked)
        assert verdict == (judge.SURVIVED, ""), mutant


@pytest.mark.slow
def test_what_is_said_to_be_small_is_narrowed_by_some_mutant():
    stages = large.LARGE.items()
    texts = [m.new for kernel, stage in stages for m in narrow_mutants(stage.module, kernel)]
    unused = [text for text in large.SMALL if not any(f"int32({text})" in new for new in texts)]
    assert unused == []
