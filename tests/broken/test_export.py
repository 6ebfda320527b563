"""The file of broken kernels: each line can be run by others, who have nothing of this project."""

import json
import math
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from numba import cuda, float32
from numba.extending import register_jitable

from lessons.__main__ import main
from lessons.broken import export, kinds, reader
from lessons.broken.sources import Unfit, one_text
from lessons.course.lesson import find_lesson
from lessons.lab import checked_run

FIELDS = {
    *("name", "lesson", "entry", "right", "kind", "sentence", "line", "witness", "kernel"),
    *("mended", "arrays", "expected", "licence"),
}
# Runs both programs of each line of a file in a folder that holds the reader and nothing else.
STRANGER = """
import json, sys
import numpy as np
import reader

for line in open("kernels.jsonl"):
    record = json.loads(line)
    def start(kernel, grid, block, shared, arguments):
        kernel[grid, block, 0, shared](*arguments)
    runs = [reader.run(record, record[program], start) for program in ("kernel", "mended")]
    print(record["name"], *(len(reader.wrong_arrays(record, arrays)) for arrays in runs))
assert not [name for name in sys.modules if name.startswith(("lessons", "kernels"))]
"""


def exported_to(path, *options):
    return main(["mistakes", "export", "--to", str(path), "--lesson", "5", *options])


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    path = tmp_path_factory.mktemp("export") / "kernels.jsonl"
    assert exported_to(path, "--every", "12") == 0
    return path


@pytest.fixture(scope="module")
def records(exported):
    return [json.loads(line) for line in exported.read_text(encoding="utf-8").splitlines()]


def test_a_line_says_all(records):
    assert {record["right"] for record in records} == {True, False}
    for record in records:
        assert FIELDS <= record.keys() <= FIELDS | {"finding"}
        assert (record["kind"] == "right") == record["right"]
        assert record["witness"] or record["right"] or record["kind"] == kinds.COMPILE
        assert record["licence"] == "MIT-0"
        for program in (record["kernel"], record["mended"]):
            assert not {"lessons", "kernels"} & set(program["source"].replace(".", " ").split())
            assert all(f"def {one['kernel']}(" in program["source"] for one in program["launches"])
        assert 0 <= record["line"] <= record["kernel"]["source"].count("\n")


def test_the_same_file_is_made_again_and_nothing_is_replaced(exported, tmp_path, capsys):
    again = tmp_path / "again.jsonl"
    again.write_text("mine")
    assert exported_to(again, "--every", "12") != 0
    assert again.read_text() == "mine"
    assert "--overwrite" in capsys.readouterr().err
    assert exported_to(again, "--every", "12", "--overwrite") == 0
    assert again.read_bytes() == exported.read_bytes()


def record_of(name):
    return export.record_of(find_lesson(5), name)


@pytest.mark.slow
def test_who_has_nothing_of_the_project_can_run_a_line(tmp_path):
    records = [record_of("ours/naive"), record_of("last_tile_missing")]
    shutil.copy(reader.__file__, tmp_path)
    (tmp_path / "kernels.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    ran = subprocess.run(
        [sys.executable, "-c", STRANGER], cwd=tmp_path, capture_output=True, text=True, check=True,
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": ""},
    )  # fmt: skip
    assert ran.stdout.split() == ["5/ours/naive", "0", "0", "5/last_tile_missing", "1", "0"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [("first_barrier_missing", kinds.MISSING), ("barrier_not_called", kinds.RACE)],
)
def test_a_witness_is_one(name, kind):
    record, found = record_of(name), []

    def start(kernel, grid, block, shared, given):
        found.extend(checked_run(kernel, grid, block, *given).problems)

    reader.run(record, record["kernel"], start)
    assert (record["kind"], record["line"], "race") == (kind, found[0].line, found[0].kind)
    assert record["witness"]["other_thread"] == found[0].other_thread


# ---------------------------------------------------------------- the text


def scaled(factor):
    @register_jitable
    def change(x):
        """Is not the other one."""
        return x * float32(factor) + float32(math.pi)

    return change


twice, thrice = scaled(2), scaled(3)


@cuda.jit
def uses_two_of_one_name(out):
    out[0] = twice(out[0])
    out[1] = thrice(out[1])


def test_two_functions_of_one_name_stay_two():
    text, (name,) = one_text([uses_two_of_one_name])
    out = np.ones(2, np.float32)
    with np.errstate(all="raise"):
        checked_run(reader.loaded(text, "alone")[name], 1, 1, out).raise_if_problems()
    np.testing.assert_allclose(out, [2 + math.pi, 3 + math.pi], rtol=1e-6)
    assert "Is not the other one" not in text


def test_what_cannot_be_told_is_refused():
    thing = object()

    def kernel(out):
        out[0] = thing

    with pytest.raises(Unfit, match="uses thing"):
        one_text([kernel])


def programs(wrong, mended, *launches):
    """Two programs. launches: of each, pairs of a kernel and its blocks."""
    return [
        {"source": text, "launches": [{"kernel": k, "grid": n, "block": 4} for k, n in each]}
        for text, each in zip((wrong, mended), launches or ((), ()), strict=True)
    ]


@pytest.mark.parametrize(
    ("wrong", "mended", "kind"),
    [
        ("a\nb", "a\ncuda.syncthreads()\nb", kinds.MISSING),
        ("x[0] += 1", "cuda.atomic.add(x, 0, 1)", kinds.LOST),
        ("a", "a\ncuda.atomic.add(x, 0, 1)", ""),  # left out, and nothing in its place
        ("a\nb", "a\ncuda.threadfence()\nb", kinds.RACE),
        ("a\nb\nc\nd", "1\n2\n3\ncuda.syncthreads()", ""),  # another way altogether
    ],
)
def test_a_missing_call_tells_the_kind(wrong, mended, kind):
    assert kinds.kind_of_text(*programs(wrong, mended)) == kind


@pytest.mark.parametrize(
    ("wrong", "mended", "kind"),
    [
        ([("k", 2)], [("k", 3)], kinds.SHAPE),
        ([("k", 2)], [("k", 2)], kinds.HOST),  # with other arguments
        ([("a", 1), ("b", 2)], [("b", 2), ("a", 1)], kinds.HOST),
        ([("a", 1)], [("a", 1), ("b", 2)], kinds.HOST),
    ],
)
def test_the_same_kernels_in_other_launches(wrong, mended, kind):
    assert kinds.kind_of_text(*programs("a", "a", wrong, mended)) == kind


RIGHT = np.linspace(0.5, 9.5, 10).astype(np.float32)


@pytest.mark.parametrize(
    ("got", "kind"),
    [
        (np.where(np.arange(10) == 3, np.float32(-1), RIGHT), kinds.MEMORY),
        (RIGHT * np.float32(1 + 1e-6), kinds.PRECISION),
        (RIGHT[::-1], kinds.INDEX),
        (RIGHT * 1.5 + 7, kinds.VALUES),
    ],
)
def test_wrong_numbers_tell_the_kind(got, kind):
    assert kinds.kind_of_difference(got, RIGHT, {"full": -1}) == kind


@pytest.mark.parametrize(
    ("got", "right", "tolerance", "differs"),
    [
        ([1.0, np.nan, np.inf], [1.05, np.nan, np.inf], 0.1, [False, False, False]),
        ([1.0, np.nan, -np.inf], [1.2, 0.0, np.inf], 0.1, [True, True, True]),
        ([1, 2, 3], [1, 2, 4], 0, [False, False, True]),
    ],
)
def test_what_differs(got, right, tolerance, differs):
    assert reader.differs(np.array(got), np.array(right), tolerance).tolist() == differs
