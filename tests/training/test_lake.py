"""The lake: painted by its program, the same every time, and as hard to learn as a photograph."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kernels.files.images import load_image
from lessons import reference

IMAGES = Path(__file__).resolve().parents[2] / "images"


@pytest.mark.thorough
def test_the_program_paints_the_lake_that_is_kept(tmp_path):
    painted = tmp_path / "lake.png"
    command = [sys.executable, IMAGES / "paint_lake.py", "--out", painted]
    subprocess.run(command, check=True)
    # Another processor may round a few values the other way before they become bytes.
    difference = np.abs(load_image(painted) - load_image(IMAGES / "lake.png"))
    assert (difference > 0).mean() < 0.01


@pytest.mark.slow
def test_the_lake_is_as_hard_as_a_photograph():
    image = load_image(IMAGES / "lake.png")
    assert image.shape == (550, 800, 3)
    assert 19 <= reference.baseline_psnr(image, 200, 137) <= 23
