"""The ladder's command: what it counts and draws without a GPU, and what it refuses."""

import importlib
import json

import numpy as np
import pytest

from kernels.matmul import launch_matmul_naive, launch_matmul_tiled

main = importlib.import_module("lessons.12_product_ladder.__main__")
rungs = importlib.import_module("lessons.12_product_ladder.rungs")
roofline = importlib.import_module("lessons.12_product_ladder.roofline")
H200 = rungs.H200


def call(out, *options):
    return main.COMMAND.main(["--backend", "native", "--quiet", "--out", str(out), *options])


@pytest.fixture
def short(monkeypatch):
    """A ladder of two rungs, and sizes that are quickly counted."""
    found = [rungs.Rung("one", launch_matmul_naive), rungs.Rung("tiles", launch_matmul_tiled)]
    monkeypatch.setattr(rungs, "COUNTED_SIZES", ((16, 16, 32), (16, 32, 32)))
    monkeypatch.setattr(main, "ladder", lambda mine: found)
    return found


@pytest.mark.slow
def test_what_is_counted(short, tmp_path, capsys):
    assert call(tmp_path / "out") == 0
    assert capsys.readouterr().out.startswith("from 4 bytes per product to 0.5, counted; in ")
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    one, tiles = summary["rungs"]
    assert (one["bytes_fetched"], one["shared_reads"], one["barriers"]) == (4, 0, 0)
    assert (tiles["bytes_fetched"], tiles["shared_reads"], tiles["barriers"]) == (0.5, 2, 2)
    assert one["problems"] == tiles["problems"] == [] and one["gflops"] == {}
    assert "tiles" in (tmp_path / "out" / "ladder.txt").read_text()
    assert (tmp_path / "out" / "ladder.png").read_bytes().startswith(b"\x89PNG")


def test_a_wrong_product_is_one_line_and_leaves_nothing(short, tmp_path, capsys):
    def launch(a, b, c, launch):
        launch_matmul_naive(a, b, c, launch)
        c[3, 4] += 0.01

    short[1] = rungs.Rung("tiles", launch)
    assert call(tmp_path / "out") == 2
    printed, error = capsys.readouterr()
    assert printed == "" and "the product of 'tiles' is wrong" in error and error.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("sizes", ["63", "4097", "many", "1e3"])
def test_sizes_that_cannot_be_used(sizes, tmp_path, capsys):
    assert call(tmp_path / "out", "--sizes", sizes) == 2
    assert "from 64 to 4,096" in capsys.readouterr().err


def test_sizes_are_for_a_gpu_alone(tmp_path, capsys):
    assert call(tmp_path / "out", "--sizes", "128") == 2
    assert "--sizes is for what is measured on a GPU" in capsys.readouterr().err


def test_errors_are_measured_against_what_rounding_explains():
    operands, rung = rungs.Operands(1, 20, 33, 24), rungs.Rung("one", launch_matmul_naive)
    exact = operands.a.astype(np.float64) @ operands.b
    assert operands.error(rung, exact) < 0.2
    assert operands.error(rung, exact + 1e-3) > 1
    assert operands.error(rung, np.full_like(exact, np.nan)) == np.inf
    halves = rungs.Rung("halves", launch_matmul_naive, "nt", halves=True)
    assert operands.error(halves, exact) > 1  # the factors should have been rounded


@pytest.mark.parametrize("speed", [None, 30_000.0])
def test_the_picture(speed):
    point = roofline.Point(1, "one", 16.0, speed, False, 0.5, 2.0)
    low = roofline.Point(2, "two", 0.5, speed, True, 0.0, 0.0)
    picture = roofline.ladder_picture([point, low], H200, 2048 if speed else None)
    assert picture.shape == (roofline.HEIGHT, roofline.WIDTH, 3)
    blue = (picture == roofline.FLOATS).all(axis=-1)
    assert blue[:, : roofline.RIGHT].any() and blue[:, roofline.BARS :].any()


def test_the_roof():
    point = roofline.Point(1, "one", 4.0, None, False, 0.0, 2.0)
    assert H200.over(point) == 4 * H200.memory
    assert H200.over(point._replace(intensity=100.0)) == H200.float32
    assert 8_300 < H200.over(point._replace(intensity=100.0, shared_reads=2.0)) < 8_400
    assert H200.over(point._replace(intensity=1000.0, halves=True)) == H200.halves
    assert H200._replace(halves=0).over(point._replace(intensity=1e4, halves=True)) == H200.float32


@pytest.mark.thorough
def test_the_whole_ladder(tmp_path):
    assert call(tmp_path / "out") == 0
    found = json.loads((tmp_path / "out" / "summary.json").read_text())["rungs"]
    counted = {
        row["rung"]: (row["bytes_fetched"], row["shared_reads"], row["barriers"]) for row in found
    }
    assert counted["4 x 4 registers"] == (0.125, 0.5, 2)
    assert counted["two rounds"] == (0.125, 0.5, 1)
    assert counted["8 x 8 registers (to read)"] == (0.0625, 0.25, 2)
    assert counted["tensor cores, halves"] == (0.03125, 0.0234375, 0.5)
