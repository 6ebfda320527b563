"""Lesson 13's command: what it leaves behind, and that somebody else can read its network."""

import csv
import importlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kernels.files.images import save_image
from lessons.capstones import run
from lessons.capstones.device import native_device
from lessons.course.lesson import LESSONS
from tests.training.test_page import data_of

NEEDS_PROC = pytest.mark.skipif(not Path("/proc/self").exists(), reason="nobody can write there")
READER = LESSONS / "13_siren" / "read_weights.py"


@pytest.fixture
def image(tmp_path):
    y, x = np.mgrid[0:12, 0:20]
    path = tmp_path / "picture.png"
    save_image(path, np.stack([x / 19, y / 11, np.full(x.shape, 0.3)], axis=2).astype(np.float32))
    return path


def call(*arguments):
    command = importlib.import_module("lessons.13_siren.__main__").COMMAND
    return command.main([str(argument) for argument in arguments])


def read(path):
    """What the reader prints, and its exit status; it may use nothing of this project."""
    found = subprocess.run(
        [sys.executable, "-I", READER, path], capture_output=True, text=True, check=False
    )
    return found.stdout, found.returncode


@pytest.mark.slow
@pytest.mark.parametrize("fused", [False, pytest.param(True, marks=pytest.mark.thorough)])
def test_a_run_and_the_network_that_it_leaves(image, fused, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(run, "choose_device", lambda name: native_device()._replace(fused=fused))
    out, weights = tmp_path / "out", tmp_path / "network.json"
    options = "--backend native --quiet --steps 40 --eval-every 20 --batch 64 --limit 8".split()
    assert call(image, "--out", out, "--weights", weights, *options) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("40 steps in ") and printed.count("\n") == 1

    summary = json.loads((out / "summary.json").read_text())
    assert (summary["width"], summary["height"], summary["fused"]) == (8, 5, fused)
    assert summary["parameters"] == 33_667 and summary["best_step"] in (20, 40)
    page = data_of(out / "index.html")
    assert [step for step, _, _ in page["frames"]] == [1, 10, 20, 40]
    assert page["command"].startswith("python -m lessons.13_siren ")
    assert list(page["pictures"]) == [f"bilinear grid of {summary['baseline_grid']}", "original"]
    rows = list(csv.DictReader((out / "loss.csv").open()))
    assert [row["step"] for row in rows if row["psnr_db"]] == ["20", "40"]
    assert float(rows[-1]["loss"]) < float(rows[0]["loss"]) / 2

    content = json.loads(weights.read_text())
    layers = content["mlp"]["layers"]
    assert [np.shape(layer["weights"]) for layer in layers] == [(2, 64), *[(64, 64)] * 8, (64, 3)]
    printed, status = read(weights)
    assert status == 0 and printed.startswith("40 samples, largest difference")

    layers[3]["biases"][5] += 0.01
    weights.write_text(json.dumps(content))
    assert read(weights)[1] == 1


@pytest.mark.parametrize(
    "options, words",
    [
        ("--omega 0", "--omega must lie between"),
        ("--omega nan", "--omega must lie between"),
        ("--limit 3", "from 8 to 65,536"),
        ("--eval-every 0", "from 1 to"),
        ("--batch 1.5", "is no whole number from 1 to 65,536"),
        ("--weights FOLDER/missing/network.json", "there is no folder"),
        ("--weights FOLDER/picture.png", "ends in .json"),
        pytest.param("--weights /proc/network.json", "cannot write", marks=NEEDS_PROC),
        ("--weights FOLDER/taken.json", "exists already"),
    ],
)
def test_bad_options_are_one_line(image, tmp_path, capsys, options, words):
    (tmp_path / "taken.json").write_text("mine")
    before = sorted(tmp_path.iterdir())
    options = [one.replace("FOLDER", str(tmp_path)) for one in options.split()]
    assert call(image, "--out", tmp_path / "out", "--backend", "native", *options) == 2
    printed, error = capsys.readouterr()
    assert printed == "" and words in error and error.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before
