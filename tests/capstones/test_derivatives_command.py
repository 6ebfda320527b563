"""Lesson 15's command, and PyTorch's word about written kernels, if there is PyTorch."""

import importlib
import importlib.util
import json
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from numba.extending import register_jitable

from kernels.derivatives import comparison, functions
from kernels.derivatives.learner import WrittenSiren
from kernels.files.images import save_image
from kernels.plumbing.errors import InputError
from lessons.capstones import run as runs
from lessons.capstones.device import native_device
from lessons.course.lesson import ROOT
from tests.engines import launch_checked
from tests.training.test_page import data_of

LESSON = "lessons.15_derivatives"


@pytest.fixture
def command(monkeypatch):
    """Everything small, and on the checked simulator, which does not compile."""
    monkeypatch.setattr(runs, "choose_device", lambda name: small)
    small = native_device()._replace(launch=launch_checked)
    lake = partial(comparison.compare_lake, batch=20, layers=1)
    siren = partial(comparison.compare_siren, batch=20, width=6, layers=2)
    monkeypatch.setattr(comparison, "compare_lake", lake)
    monkeypatch.setattr(comparison, "compare_siren", siren)
    return importlib.import_module(f"{LESSON}.__main__").COMMAND


@pytest.fixture
def call(command, tmp_path):
    picture = tmp_path / "picture.png"
    save_image(picture, np.random.default_rng(1).random((5, 7, 3)).astype(np.float32))
    sizes = "--layers", "2", "--width", "4", "--batch", "16", "--steps", "2"

    def run(*options):
        return command.main([str(picture), *sizes, "--out", str(tmp_path / "out"), *options])

    return run


@pytest.mark.slow
def test_without_the_device_that_is_asked_for_nothing_is_written(call, monkeypatch, tmp_path):
    def none(name):
        raise InputError("no GPU")

    monkeypatch.setattr(runs, "choose_device", none)
    assert call() == 2 and not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize("loss, status", [(0.0, 0), (float("nan"), 2)])
def test_a_loss_without_a_logarithm(call, monkeypatch, capsys, loss, status):
    monkeypatch.setattr(WrittenSiren, "loss", lambda self: loss)
    monkeypatch.setattr(comparison, "slopes_of_the_loss", lambda learner: [])
    assert call() == status
    assert ("the loss is nan at step 1" in capsys.readouterr().err) == (status == 2)


@pytest.mark.slow
def test_the_command_compares_trains_and_leaves_its_files(call, tmp_path, capsys):
    assert call() == 0
    printed = capsys.readouterr().out
    assert "def find_grad_wave_2(" in printed and "def sine_backward(" in printed
    out = tmp_path / "out"
    assert {path.name for path in out.iterdir()} >= {
        "written_siren.py", "written_lake.py", "side_by_side.txt", "differences.txt",
        "derivatives.png", "learned.png", "panels.png", "loss.csv", "loss.png", "summary.json",
    }  # fmt: skip
    page = data_of(out / "index.html")
    assert [step for step, _, _ in page["frames"]] == [1, 2, 2] and len(page["more"]) == 1
    summary = json.loads((out / "summary.json").read_text())
    assert summary["largest_relative_difference"] < 1e-5
    assert summary["wrong_derivatives"] == [] and summary["steps"] == 2
    for name in ("written_siren.py", "written_lake.py"):
        compile((out / name).read_text(), name, "exec")


@pytest.mark.thorough
@pytest.mark.parametrize("width, fits", [("4", True), ("70", False)])
def test_fused_kernels_are_written_or_the_reason_is_told(
    call, width, fits, monkeypatch, tmp_path, capsys
):
    device = native_device()._replace(launch=launch_checked, fused=True)
    monkeypatch.setattr(runs, "choose_device", lambda name: device)
    assert call("--backend", "fused", "--width", width, "--steps", "1") == 0
    printed, out = capsys.readouterr().out, tmp_path / "out"
    reason = "this network cannot be fused: sum_1 = linear(positions, weights_1, biases_1): its"
    assert (out / "written_fused.py").exists() == fits != (reason in printed)
    assert "fused   weights_1" in (out / "differences.txt").read_text()


def test_a_wrong_derivative_is_named(call, monkeypatch, capsys):
    monkeypatch.setattr(functions, "sine_derivative", lambda x, gradient: gradient * np.sin(x))
    assert call("--quiet") == 2
    assert "the derivative of sine is wrong" in capsys.readouterr().err


@pytest.mark.slow
def test_gradients_unlike_those_by_hand_are_named(call, monkeypatch, tmp_path, capsys):
    """What takes whole arrays has no finite differences: the whole network tells."""

    @register_jitable
    def first_unit_only(weights, gradients, row, column):
        return gradients[row, 0] * weights[column, 0]

    monkeypatch.setattr(functions, "inputs_derivative", first_unit_only)
    assert call("--quiet") == 2
    assert "the gradient of grid of the lake differs by" in capsys.readouterr().err
    assert "weights_1" in (tmp_path / "out" / "differences.txt").read_text()


@pytest.mark.slow
def test_pytorch_is_asked_or_missed_in_one_line():
    there = importlib.util.find_spec("torch") is not None
    done = subprocess.run(
        [sys.executable, "-m", f"{LESSON}.with_pytorch"], cwd=ROOT, capture_output=True, text=True
    )
    if there:
        assert done.returncode == 0, done.stderr
        assert "gradcheck passed" in done.stdout
    else:
        assert done.returncode == 2
        assert done.stderr.startswith("error: PyTorch is not installed: python -m pip install")
        assert done.stderr.count("\n") == 1
