"""Lesson 20's command: what it trains, and the file that it writes."""

import importlib
import json

import numpy as np
import pytest

from kernels.bits import lake_file
from kernels.files.images import load_image, save_image
from kernels.state import initial_state
from lessons.reference import encode, mlp_forward, split_weights
from tests.training.test_few_bits import decoded

command = importlib.import_module("lessons.20_few_bits.__main__")
others = importlib.import_module("lessons.20_few_bits.others")


@pytest.fixture
def image(tmp_path):
    y, x = np.mgrid[:24, :36] / 30
    path = tmp_path / "picture.png"
    save_image(path, np.stack([x, y, 0.4 + 0 * x], axis=2).astype(np.float32).clip(0, 1))
    return path


@pytest.mark.slow
def test_a_picture_is_learned_in_few_bits_and_read_from_its_file(image, tmp_path, capsys):
    out = tmp_path / "out"
    arguments = image, "--out", out, "--bits", 5, "--grid", "9x6", "--steps", 60, "--quiet"
    assert command.COMMAND.main([*map(str, arguments), "--backend", "native"]) == 0
    assert "bits per pixel" in capsys.readouterr().out
    summary = json.loads((out / "summary.json").read_text())
    content = (out / "picture.lake").read_bytes()
    assert summary["file_bytes"] == len(content) == 24 + 4 * -(-54 * 15 // 32) + 2 * 1568
    picture = decoded(content, 36, 24)
    np.testing.assert_allclose(load_image(out / "decoded.png"), picture, atol=0.003)
    error = np.mean((picture - load_image(image)) ** 2)
    assert summary["psnr_db"] == pytest.approx(-10 * np.log10(error), abs=0.01)
    assert summary["psnr_db"] > 20


def test_weights_that_are_stored_are_those_that_count():
    config = command.Config(grid_width=3, grid_height=2)
    state = initial_state(config)
    uv = np.random.default_rng(0).random((50, 2))
    right, _ = mlp_forward(encode(uv, state.feature_grid), split_weights(state.weights, 32, 2))
    kept = lake_file.weights_to_store(state.weights)
    features = encode(uv, state.feature_grid)[:, :14]
    first, second, third = np.split(kept, [14 * 32, 46 * 32])
    hidden = np.maximum(features @ first.reshape(14, 32), 0)
    sums = np.maximum(hidden @ second.reshape(32, 32), 0) @ third.reshape(32, 3)
    np.testing.assert_allclose(1 / (1 + np.exp(-sums)), right[:, :3], atol=2e-3)


# Of BC1 green has six bits, and is 0 here; BC7 has seven, and one for all three.
@pytest.mark.parametrize(("name", "step"), [("BC1", np.array([1, 0, 1]) / 31), ("BC7", 8 / 255)])
def test_two_colours_of_each_block_are_kept_exactly(name, step):
    random = np.random.default_rng(0)
    pairs = random.integers(0, 32, (2, 3, 2, 3)) * step
    chosen = random.integers(0, 2, (8, 12)).repeat(3).reshape(8, 12, 3)
    low, high = (pairs[..., i, :].repeat(4, axis=0).repeat(4, axis=1) for i in range(2))
    image = np.where(chosen == 0, low, high)
    np.testing.assert_allclose(others.in_blocks(image, name), image, atol=1e-6)
    noise = random.random((10, 9, 3))
    painted = others.in_blocks(noise, name)
    assert painted.shape == noise.shape and np.mean((painted - noise) ** 2) < noise.var()
