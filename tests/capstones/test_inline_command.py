"""Lesson 14's command: what it leaves behind, what it refuses, and what it counts."""

import csv
import importlib
import json

import numpy as np
import pytest
from PIL import Image

from kernels.files.images import save_image
from lessons.capstones import run as page
from tests.training.test_page import data_of

LESSON = "lessons.14_inline"


def module(name):
    return importlib.import_module(f"{LESSON}.{name}")


@pytest.fixture
def image(tmp_path):
    y, x = np.mgrid[0:19, 0:35]
    path = tmp_path / "picture.png"
    save_image(path, np.stack([x / 34, y / 18, 0.3 + x * 0], axis=2).astype(np.float32))
    return path


def call(*arguments):
    options = "--backend", "native", *map(str, arguments)
    return module("__main__").COMMAND.main(options)


@pytest.mark.thorough
def test_a_run_leaves_its_pictures(image, tmp_path, capsys):
    out = tmp_path / "out"
    assert call(image, "--out", out, "--steps", 60, "--quiet") == 0
    printed = capsys.readouterr().out
    assert printed.startswith("PSNR ") and printed.count("\n") == 1

    summary = json.loads((out / "summary.json").read_text())
    # 3 x 4 corners of 14 numbers, and three matrices with their biases.
    assert summary["parameters"] == 3 * 4 * 14 + 816
    assert summary["psnr_db"] > 18 and 0 <= summary["best_step"] <= 60
    rows = list(csv.DictReader((out / "loss.csv").open()))
    assert [row["step"] for row in rows] == ["1", "20", "40", "60"]
    assert float(rows[-1]["loss"]) < float(rows[0]["loss"]) / 4
    with Image.open(out / "training.gif") as animation:
        assert animation.n_frames > 20
        width, height = animation.size
    assert width > 2 * height
    assert len(data_of(out / "index.html")["frames"]) == page.MOST_FRAMES
    assert (out / "panels.png").exists() and (out / "learned.png").exists()


def test_a_limit_makes_a_picture_smaller(image):
    options = module("__main__").COMMAND.parse([str(image), "--limit", "16"])
    smaller = module("__main__").picture_of_a_size(options)
    assert smaller.shape == (9, 16, 3) and smaller.dtype == np.float32
    assert abs(float(smaller.mean()) - (0.5 + 0.5 + 0.3) / 3) < 0.02

    options = module("__main__").COMMAND.parse([str(image)])
    assert module("__main__").picture_of_a_size(options).shape == (19, 35, 3)


def test_a_colour_that_has_died_is_named():
    painted = np.full((4, 5, 3), 0.5, np.float32)
    painted[:, :, 2] = 0
    sentences = module("__main__").dead_colours(painted, np.ones((4, 5, 3), np.float32))
    assert len(sentences) == 1 and sentences[0].startswith("blue is 0 in every pixel")
    assert module("__main__").dead_colours(painted, painted) == []


def test_a_picture_too_large_is_one_line(tmp_path, capsys):
    path = tmp_path / "wide.png"
    Image.new("RGB", (4097, 2)).save(path)
    assert call(path, "--out", tmp_path / "out") == 2
    printed, error = capsys.readouterr()
    assert printed == "" and error.count("\n") == 1 and "4097 x 2 pixels" in error
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_additions_are_counted(capsys):
    assert module("atomics").main(["32"]) == 0
    printed = capsys.readouterr().out
    for words in ("scatter_direct           57,344", "scatter_block               224", "2,608"):
        assert words in printed
    assert module("atomics").main(["many"]) == 2


def test_a_film_where_it_can_be_made():
    pytest.importorskip("imageio_ffmpeg")
    animation = module("animation").Animation(np.zeros((9, 15, 3), np.float32))
    animation.add(0, np.ones((9, 15, 3), np.float32))
    assert b"ftyp" in animation.film()[:16]
