"""Lesson 16's command: what data it takes and refuses, what is held out, what it draws."""

import gzip
import importlib
import json

import numpy as np
import pytest

from kernels.plumbing.errors import InputError
from lessons.capstones import run
from lessons.capstones.device import native_device
from tests.training.test_page import data_of

data = importlib.import_module("lessons.16_classifier.data")
drawing = importlib.import_module("lessons.16_classifier.drawing")
IMAGES = np.arange(6 * 3 * 2, dtype=np.uint8).reshape(6, 3, 2)
LABELS = np.array([0, 1, 2, 9, 4, 5], np.uint8)


def write_idx(path, array):
    header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
    content = header + array.tobytes()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


@pytest.fixture
def folder(tmp_path):
    """The four files of MNIST, small; two of them zipped."""
    folder = tmp_path / "fashion-mnist"
    folder.mkdir()
    arrays = IMAGES, LABELS, IMAGES[:2], LABELS[:2]
    for name, suffix, array in zip(data.FILES, ("", "", ".gz", ".gz"), arrays, strict=True):
        write_idx(folder / (name + suffix), array)
    return folder


def test_a_folder_of_idx_files_says_what_is_held_out(folder):
    found = data.load(str(folder), seed=1)
    assert found.shape == (3, 2) and found.names == data.CLOTHES
    assert found.training.images.shape == (6, 6) and found.held_out.images.shape == (2, 6)
    assert found.training.images.max() == np.float32(35 / 255)
    assert found.training.labels.tolist() == LABELS.tolist()


def test_a_missing_file_is_named_with_what_gets_it(folder):
    (folder / data.FILES[1]).unlink()
    with pytest.raises(InputError, match=rf"{data.FILES[1]}.*apt install dataset-fashion-mnist"):
        data.load(str(folder), seed=1)


def test_a_missing_folder_is_named_with_what_gets_it(tmp_path):
    with pytest.raises(InputError, match=r"no such folder.*segments, digits, mnist.*apt install"):
        data.load(str(tmp_path / "nothing"), seed=1)


@pytest.mark.parametrize("name", ["digits", "mnist"])
def test_a_missing_package_is_named_with_the_command_that_gets_it(name, monkeypatch):
    def nothing(module):
        raise ModuleNotFoundError(f"No module named {module!r}")

    monkeypatch.setattr(importlib, "import_module", nothing)
    with pytest.raises(InputError, match=r"pip install -r lessons/requirements\.txt") as refusal:
        data.load(name, seed=1)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "which, array, words",
    [
        (0, IMAGES[0], "not \\(images, height, width\\)"),
        (1, LABELS[:5], "5 labels, and .* 6 images"),
        (1, LABELS + 1, "has a label 10"),
        (2, IMAGES[:2, :2], "of another size"),
    ],
)
def test_files_that_do_not_belong_together_are_refused(folder, which, array, words):
    for path in folder.glob(f"{data.FILES[which]}*"):
        write_idx(path, np.ascontiguousarray(array))
    with pytest.raises(InputError, match=words):
        data.load(str(folder), seed=1)


@pytest.mark.slow
def test_drawn_digits_are_held_out_by_seed():
    first, again, other = (data.load("segments", seed) for seed in (1, 1, 2))
    assert len(first.training.labels) == 4000 and len(first.held_out.labels) == 1000
    assert np.array_equal(first.held_out.images, again.held_out.images)
    assert not np.array_equal(first.held_out.images, other.held_out.images)


def test_the_table_counts_each_answer():
    counts = drawing.confusion(np.array([0, 0, 2]), np.array([0, 1, 1]), 3)
    assert counts.tolist() == [[1, 1, 0], [0, 0, 0], [0, 1, 0]]


@pytest.mark.parametrize("images", [0, 1, 60])
def test_wrong_answers_are_drawn_however_many_there_are(images):
    probabilities = np.tile(np.float32([0.8, 0.2]), (images, 1))
    labels = np.ones(images, np.int32)
    picture = drawing.draw_wrong(np.zeros((images, 3, 2)), labels, probabilities, ("0", "1"))
    assert picture.ndim == 3 and picture.dtype == np.uint8


@pytest.mark.slow
@pytest.mark.parametrize("fused", [False, pytest.param(True, marks=pytest.mark.thorough)])
def test_a_run_tells_both_accuracies_and_leaves_its_pictures(fused, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(run, "choose_device", lambda name: native_device()._replace(fused=fused))
    command = importlib.import_module("lessons.16_classifier.__main__").COMMAND
    out = tmp_path / "out"
    options = "--epochs", "3", "--backend", "native", "--quiet", "--out", str(out)
    assert command.main(options) == 0
    assert capsys.readouterr().out.startswith("held out: ")
    assert {path.name for path in out.iterdir()} == {
        "accuracy.png", "confusion.png", "index.html", "loss.csv", "loss.png", "run.json",
        "summary.json", "units.png", "wrong.png",
    }  # fmt: skip
    page = data_of(out / "index.html")
    assert [step for step, _, _ in page["frames"]] == [16, 32, 48] and len(page["more"]) == 2
    summary = json.loads((out / "summary.json").read_text())
    assert (summary["epochs"], summary["steps"], summary["fused"]) == (3, 48, fused)
    assert page["measured"][-1] == [48, 100 * summary["held_out_accuracy"]]
    assert 0.5 < summary["held_out_accuracy"] < 1 and 0.5 < summary["seen_accuracy"] < 1
