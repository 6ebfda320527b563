"""Lesson 17's command: what it filters and learns, and what it leaves behind."""

import importlib
import json

import numpy as np
import pytest

from kernels.classifier import digits
from kernels.files.images import load_image, save_image
from kernels.neighbours import learner
from lessons.native_launch import launch as native
from lessons.reference import neighbours as reference

COMMAND = importlib.import_module("lessons.17_neighbours.__main__")


@pytest.fixture
def image(tmp_path):
    picture = np.full((20, 30, 3), 0.25, np.float32)
    picture[:, 15:] = 0.75
    path = tmp_path / "picture.png"
    save_image(path, picture)
    return path


@pytest.mark.thorough
def test_a_picture_is_filtered_and_digits_are_read(image, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(digits, "DRAWN", 1200)
    monkeypatch.setitem(COMMAND.USUAL, "segments", (3, 200))
    out = tmp_path / "out"
    arguments = image, "--out", out, "--quiet", "--backend", "native", "--seed", 1
    assert COMMAND.COMMAND.main([*map(str, arguments)]) == 0
    assert "3,818 parameters; 3 epochs" in capsys.readouterr().out
    summary = json.loads((out / "summary.json").read_text())
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
    shapes = learner.shapes_of(8, 10, widths=(3, 5))
    parameters = learner.initial_parameters(shapes, 2)
    random = np.random.default_rng(0)
    images = random.random((3, 8, 8, 1), np.float32)
    labels = np.array([3, 0, 9], np.int32)
    network = learner.new_network(parameters, shapes, 8, 3)
    losses = np.zeros(3, np.float32)
    learner.training_step(learner.Stages(), images, labels, losses, network, 0.0, native)

    def loss(values):
        x, first = images, 0
        for shape, padding in zip(shapes, (1, 1, 0), strict=True):
            size = int(np.prod(shape))
            filters = values[first : first + size].reshape(shape)
            bias = values[first + size : first + size + shape[3]]
            x, first = reference.convolve(x, filters, bias, 1, padding), first + size + shape[3]
            if padding:
                x, _ = reference.max_pool(x, 0)
        logits = x[:, 0, 0]
        return (np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(3), labels]).sum()

    assert losses.sum() == pytest.approx(loss(parameters.astype(float)), rel=1e-5)
    for i in np.linspace(0, len(parameters) - 1, 12).astype(int):
        ends = []
        for sign in (1, -1):
            moved = parameters.astype(float)
            moved[i] += sign * 1e-5
            ends.append(loss(moved))
        slope = (ends[0] - ends[1]) / 2e-5
        assert network.gradients[i] == pytest.approx(slope, abs=1e-4), i
