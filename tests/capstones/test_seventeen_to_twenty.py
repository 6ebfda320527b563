"""The commands of lessons 17 to 20: what they learn, and what they leave behind."""

import importlib
import json

import numpy as np
import pytest
from PIL import Image

from kernels.bits import lake_file
from kernels.classifier import digits
from kernels.config import Config
from kernels.files.images import load_image, save_image
from kernels.neighbours import learner
from kernels.state import initial_state
from lessons.capstones import run
from lessons.capstones.device import native_device
from lessons.native_launch import launch as native
from lessons.reference import encode, mlp_forward, split_weights
from lessons.reference import neighbours as reference
from lessons.reference.classifier import cross_entropy
from tests.test_reference import central_difference
from tests.training.test_few_bits import decoded

neighbours, palette, attention, few_bits = (
    importlib.import_module(f"lessons.{name}.__main__")
    for name in ("17_neighbours", "18_palette", "19_attention", "20_few_bits")
)
others = importlib.import_module("lessons.20_few_bits.others")


@pytest.fixture
def trained(tmp_path, capsys):
    """trained(lesson, picture or None, options): (its folder, what it has printed, its summary)."""

    def train(lesson, picture, options):
        given = []
        if picture is not None:
            save_image(tmp_path / "picture.png", picture.astype(np.float32))
            given.append(str(tmp_path / "picture.png"))
        out = tmp_path / "out"
        given += ["--out", str(out), "--quiet", "--backend", "native", *options.split()]
        assert lesson.COMMAND.main(given) == 0
        return out, capsys.readouterr().out, json.loads((out / "summary.json").read_text())

    return train


# ---------------------------------------------------------------- lesson 17


@pytest.mark.thorough
def test_a_picture_is_filtered_and_digits_are_read(trained, monkeypatch):
    monkeypatch.setattr(digits, "DRAWN", 1200)
    monkeypatch.setitem(neighbours.USUAL, "segments", (3, 200))
    picture = np.full((20, 30, 3), 0.25)
    picture[:, 15:] = 0.75
    out, printed, summary = trained(neighbours, picture, "--seed 1")
    assert "3,818 parameters; 3 epochs" in printed
    # Guessing has 10 %.
    assert summary["held_out_accuracy"] > 0.4
    edges, blurred = (load_image(out / f"{name}.png") for name in ("edges", "blurred"))
    # At the step the centre has 8 of 8 parts, and three of its neighbours are 0.5 lower.
    assert edges[10, 15] == pytest.approx(1) and edges[10, 5] == pytest.approx(0)
    assert blurred[10, 14] == pytest.approx(0.375, abs=0.005)
    assert (out / "filters.png").exists()


@pytest.mark.slow
def test_the_gradient_is_that_of_differences():
    """Of the loss, in float64, along 12 parameters, one of each part of the network at least."""
    shapes = learner.shapes_of(8, 10)
    parameters = learner.initial_parameters(shapes, 2)
    images = np.random.default_rng(0).random((3, 8, 8, 1), np.float32)
    labels, losses = np.array([3, 0, 9], np.int32), np.zeros(3, np.float32)
    network = learner.new_network(parameters, shapes, 8, 3)
    learner.training_step(learner.Stages(), images, labels, losses, network, 0.0, native)

    def loss(values):
        x = images
        for layer in learner.new_network(values, shapes, 8, 3).layers:
            x = reference.convolve(x, layer.filters, layer.bias, 1, layer.padding)
            if layer.padding:
                x, _ = reference.max_pool(x, 0)
        return cross_entropy(x[:, 0, 0], labels).sum()

    values = parameters.astype(float)
    assert losses.sum() == pytest.approx(loss(values), rel=1e-5)
    for i in np.linspace(0, len(parameters) - 1, 12).astype(int):
        slope = central_difference(loss, values, i, width=1e-5)
        assert network.gradients[i] == pytest.approx(slope, abs=1e-4), i


# ---------------------------------------------------------------- lesson 18


@pytest.mark.slow
def test_a_picture_of_three_colours_is_painted_in_them(trained):
    """Three colours, and a little noise."""
    colours = np.array([[0.9, 0.1, 0.1], [0.1, 0.2, 0.8], [0.8, 0.8, 0.2]])
    random = np.random.default_rng(0)
    picture = colours[random.integers(0, 3, (20, 30))] + random.uniform(-0.02, 0.02, (20, 30, 3))
    out, printed, summary = trained(palette, picture, "--colours 3 --steps 4")
    assert printed.startswith("PSNR ") and "with 3 colours after 4 rounds" in printed
    # What is left is the noise: uniform, 0.04 wide.
    assert summary["psnr_db"] == pytest.approx(-10 * np.log10(0.04**2 / 12), abs=0.5)
    assert summary["psnr_db"] >= summary["baseline_psnr_db"] - 0.1
    assert len(np.unique(load_image(out / "painted.png").reshape(-1, 3), axis=0)) == 3
    with Image.open(out / "palette.png") as drawn:
        assert len(drawn.convert("RGB").getcolors()) == 3
    assert (out / "panels.png").exists() and "median cut" in (out / "index.html").read_text()


# ---------------------------------------------------------------- lesson 19


@pytest.mark.thorough
@pytest.mark.parametrize("fused", [False, True])
def test_a_few_steps_leave_maps_and_what_was_measured(fused, trained, monkeypatch):
    monkeypatch.setattr(run, "choose_device", lambda name: native_device()._replace(fused=fused))
    out, printed, summary = trained(attention, None, "--layers 1 --steps 2")
    assert "held out: " in printed
    assert (summary["parameters"], summary["steps"], summary["fused"]) == (6176, 2, fused)
    assert summary["points_where_layer_norm_disagrees"] == 0
    assert summary["points_where_the_printed_formula_disagrees"] == summary["of_points"]
    with Image.open(out / "maps.png") as maps:
        assert maps.width > 300
    assert "held out" in (out / "index.html").read_text()


def test_the_guess_without_a_look_is_the_most_frequent_digit():
    row = [0, 26 + 7, 1, 26 + 3, 2, 26 + 7, 3, 26, 4, 26 + 1, 5, 26 + 2, 6, 26 + 4, 7, 26 + 5, 1]
    assert attention.most_frequent(np.array([row, row]), np.array([7, 3])) == 50


def test_a_map_is_darkest_where_a_place_looks():
    weights = np.tri(17) * 0.01
    weights[16, 5] = 0.9
    picture = attention.draw_maps([weights], list("a1b2c3d4e5f6g7h8c"))
    middle = attention.TOP + 16.4 * attention.CELL, 20 + attention.LEFT + 5.4 * attention.CELL
    assert tuple(picture[tuple(map(round, middle))]) == attention.mixed(0.9)


# ---------------------------------------------------------------- lesson 20


@pytest.mark.slow
def test_a_picture_is_learned_in_few_bits_and_read_from_its_file(trained):
    y, x = np.mgrid[:24, :36] / 36
    image = np.stack([x, y, 0.4 + 0 * x], axis=2)
    out, printed, summary = trained(few_bits, image, "--bits 5 --grid 9x6 --steps 60")
    assert "bits per pixel" in printed
    content = (out / "picture.lake").read_bytes()
    assert summary["file_bytes"] == len(content) == 24 + 4 * -(-54 * 15 // 32) + 2 * 1568
    picture = decoded(content, 36, 24)
    np.testing.assert_allclose(load_image(out / "decoded.png"), picture, atol=0.003)
    error = np.mean((picture - load_image(out.parent / "picture.png")) ** 2)
    assert summary["psnr_db"] == pytest.approx(-10 * np.log10(error), abs=0.01)
    assert summary["psnr_db"] > 20


def test_weights_that_are_stored_are_those_that_count():
    state = initial_state(Config(grid_width=3, grid_height=2))
    features = encode(np.random.default_rng(0).random((50, 2)), state.feature_grid)
    right, _ = mlp_forward(features, split_weights(state.weights, 32, 2))
    kept = lake_file.weights_to_store(state.weights)
    first, second, third = np.split(kept, [14 * 32, 46 * 32])
    hidden = np.maximum(features[:, :14] @ first.reshape(14, 32), 0)
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
