"""Lesson 18's command: what it paints, and what it leaves behind."""

import importlib
import json

import numpy as np
import pytest
from PIL import Image

from kernels.files.images import load_image, save_image

COMMAND = importlib.import_module("lessons.18_palette.__main__").COMMAND


@pytest.fixture
def image(tmp_path):
    """Three colours, and a little noise."""
    colours = np.array([[0.9, 0.1, 0.1], [0.1, 0.2, 0.8], [0.8, 0.8, 0.2]], np.float32)
    labels = np.random.default_rng(0).integers(0, 3, (20, 30))
    picture = colours[labels] + np.random.default_rng(1).uniform(-0.02, 0.02, (20, 30, 3))
    path = tmp_path / "picture.png"
    save_image(path, picture.astype(np.float32))
    return path


@pytest.mark.slow
def test_a_picture_of_three_colours_is_painted_in_them(image, tmp_path, capsys):
    out = tmp_path / "out"
    arguments = image, "--out", out, "--colours", 3, "--steps", 4, "--quiet", "--backend", "native"
    assert COMMAND.main([*map(str, arguments)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("PSNR ") and "with 3 colours after 4 rounds" in printed
    summary = json.loads((out / "summary.json").read_text())
    # What is left is the noise: uniform, 0.04 wide.
    assert summary["psnr_db"] == pytest.approx(-10 * np.log10(0.04**2 / 12), abs=0.5)
    assert summary["psnr_db"] >= summary["baseline_psnr_db"] - 0.1
    assert len(np.unique(load_image(out / "painted.png").reshape(-1, 3), axis=0)) == 3
    with Image.open(out / "palette.png") as palette:
        assert len(palette.convert("RGB").getcolors()) == 3
    assert (out / "panels.png").exists() and "median cut" in (out / "index.html").read_text()
