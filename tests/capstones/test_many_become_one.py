"""The command of lesson 11: what it finds in a picture, and what it refuses."""

import importlib
import json

import numpy as np
import pytest

from kernels.files.images import load_image, save_image
from lessons.capstones.device import native_device
from lessons.reference import reductions as reference

LESSON = "lessons.11_many_become_one"
COMMAND = importlib.import_module(f"{LESSON}.__main__")
BIAS = importlib.import_module(f"{LESSON}.bias_gradient")


def call(*arguments):
    return COMMAND.COMMAND.main([*map(str, arguments), "--backend", "native", "--quiet"])


def test_fog_is_laid_over_the_picture_in_steps_of_a_camera():
    image = np.random.default_rng(0).random((9, 14, 3), dtype=np.float32)
    seen = COMMAND.in_fog(image, 60)
    np.testing.assert_allclose(seen, 0.4 * image + 0.48, atol=0.5 / 255 + 1e-6)
    np.testing.assert_allclose(seen * 255, np.round(seen * 255), atol=1e-4)
    np.testing.assert_allclose(COMMAND.in_fog(image, 0), image, atol=0.5 / 255 + 1e-6)


@pytest.mark.thorough
def test_the_levels_and_the_picture_are_those_of_numpy(tmp_path, capsys):
    noise = np.random.default_rng(1).random((37, 53, 3), dtype=np.float32)
    path, out = tmp_path / "picture.png", tmp_path / "out"
    for number, picture in enumerate((noise * 0.4 + 0.3, np.full((1, 1, 3), 0.7))):
        save_image(path, picture.astype(np.float32))
        assert call(path, "--out", out, *["--overwrite"] * number) == 0
        printed, error = capsys.readouterr()
        assert error == "" and printed.startswith("bin ") and printed.count("\n") == 1
        image = load_image(path)
        expected, levels = reference.auto_contrast(image, 256, (5, 995))
        result = load_image(out / "auto_contrast.png")
        np.testing.assert_allclose(result, expected, atol=0.5 / 255 + 1e-4)
        summary = json.loads((out / "summary.json").read_text())
        assert (summary["dark_bin"], summary["bright_bin"]) == levels
        brightness = image.astype(np.float64) @ (0.2126, 0.7152, 0.0722)
        assert summary["mean_brightness"] == pytest.approx(brightness.mean(), rel=1e-5)
        assert summary["mean_colour"] == pytest.approx(image.mean(axis=(0, 1)).tolist(), rel=1e-5)
        place = np.unravel_index(brightness.argmax(), brightness.shape)
        assert tuple(summary["brightest_at"]) == tuple(map(int, place))
        assert {file.name for file in out.iterdir()} == {
            "lake.png", "auto_contrast.png", "histogram.png", "run.json", "summary.json",
        }  # fmt: skip
    assert call(path, "--out", out) == 2  # unasked, nothing is replaced
    assert "--overwrite" in capsys.readouterr().err


@pytest.mark.thorough
def test_the_table_counts_what_the_lesson_says():
    from kernels.reductions import columns

    rows = BIAS.count_and_time(native_device(), columns)
    assert [row["atomics"] for row in rows] == [4_194_304, 131_072, 16_384, 0]
    errors = [row["largest_error"] for row in rows]
    assert errors == sorted(errors, reverse=True) and errors[-1] < 1e-3
    lines = BIAS.lines_of_table(rows, native_device())
    assert any("4,194,304" in line for line in lines)
