"""The command of lesson 10: what it writes, and what it says of block shapes."""

import importlib
import json

import numpy as np
import pytest

from kernels.files.images import load_image, save_image
from lessons import reference
from lessons.reference import transfers as reference_transfers

command = importlib.import_module("lessons.10_two_computers.__main__")
shapes_table = importlib.import_module("lessons.10_two_computers.shapes_table")


@pytest.fixture
def photo(tmp_path):
    path = tmp_path / "photo.png"
    save_image(path, np.random.default_rng(1).random((90, 150, 3)).astype(np.float32))
    return path


@pytest.mark.slow
def test_what_it_leaves(photo, tmp_path, capsys):
    out = tmp_path / "out"
    assert command.COMMAND.main([str(photo), "--out", str(out), "--backend", "native"]) == 0
    printed = capsys.readouterr().out
    assert "56  57  58  59  60  61  62  63" in printed and "the same bits" in printed
    assert "4 photographs from a queue: 13 requests, the host waits once" in printed
    assert "no times: there is no GPU" in printed
    assert "gray, half and quarter: 150 x 90, 75 x 45, 37 x 22" in printed
    assert {path.name for path in out.iterdir()} == {*command.FILES, "summary.json", "run.json"}
    gray = reference.grayscale(load_image(photo))
    for name, factor in (("gray", 1), ("half", 2), ("quarter", 4)):
        picture = load_image(out / f"{name}.png")[..., 0]
        np.testing.assert_allclose(picture, reference_transfers.shrink(gray, factor), atol=3e-3)
    summary = json.loads((out / "summary.json").read_text())
    assert summary["loop_and_kernel_agree"] and summary["problems"] == 0
    sectors = {tuple(row["block"]): row["sectors"] for row in summary["shapes"]}
    assert sectors[1, 1] == sectors[1, 32] == 160 and 36 < sectors[32, 1] < 45
    assert sectors[3, 32, 2] < 12 and all("microseconds" not in row for row in summary["shapes"])


def test_a_picture_that_is_too_small(tmp_path, capsys):
    path = tmp_path / "tiny.png"
    save_image(path, np.zeros((8, 40, 3), np.float32))
    assert command.COMMAND.main([str(path), "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and "too small" in error and error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_tick():
    ones = np.ones((2, 3), np.float32)
    assert command.tick(ones, ones.copy()).endswith(" the same bits")
    assert command.tick(ones, ones + np.float32(1e-7)).endswith(" 6 of 6 numbers differ")
    assert command.tick(ones, np.ones((3, 2))).endswith(" 6 of 6 numbers differ")
