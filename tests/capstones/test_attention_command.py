"""Lesson 19's command: what it trains, and what it leaves behind."""

import importlib
import json

import numpy as np
import pytest
from PIL import Image

from lessons.capstones import run
from lessons.capstones.device import native_device

main = importlib.import_module("lessons.19_attention.__main__")


@pytest.mark.thorough
@pytest.mark.parametrize("fused", [False, True])
def test_a_few_steps_leave_maps_and_what_was_measured(fused, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(run, "choose_device", lambda name: native_device()._replace(fused=fused))
    arguments = "--layers", "1", "--steps", "2", "--out", str(tmp_path / "a")
    assert main.COMMAND.main([*arguments, "--quiet"]) == 0
    assert "held out: " in capsys.readouterr().out
    summary = json.loads((tmp_path / "a" / "summary.json").read_text())
    assert (summary["parameters"], summary["steps"], summary["fused"]) == (6176, 2, fused)
    assert summary["points_where_layer_norm_disagrees"] == 0
    assert summary["points_where_the_printed_formula_disagrees"] == summary["of_points"]
    with Image.open(tmp_path / "a" / "maps.png") as maps:
        assert maps.width > 300
    assert "held out" in (tmp_path / "a" / "index.html").read_text()


def test_the_guess_without_a_look_is_the_most_frequent_digit():
    row = [0, 26 + 7, 1, 26 + 3, 2, 26 + 7, 3, 26, 4, 26 + 1, 5, 26 + 2, 6, 26 + 4, 7, 26 + 5, 1]
    tokens = np.array([row, row])
    assert main.most_frequent(tokens, np.array([7, 3])) == 50


def test_a_map_is_darkest_where_a_place_looks():
    words = list("a1b2c3d4e5f6g7h8c")
    weights = np.tri(17) * 0.01
    weights[16, 5] = 0.9
    picture = main.draw_maps([weights], words)
    middle = [main.TOP + 16.4 * main.CELL, 20 + main.LEFT + 5.4 * main.CELL]
    assert tuple(picture[tuple(map(round, middle))]) == main.mixed(0.9)
