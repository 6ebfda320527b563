"""Sizes that follow from one another, and what is refused where they do not fit."""

import importlib.util
from pathlib import Path

import pytest

from kernels import config


def import_changed(tmp_path, old, new):
    """Import kernels/config.py with one line changed."""
    text = Path(config.__file__).read_text(encoding="utf-8")
    assert text.count(old) == 1
    path = tmp_path / "changed_config.py"
    path.write_text(text.replace(old, new), encoding="utf-8")
    specification = importlib.util.spec_from_file_location("changed_config", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_the_sizes_that_the_lessons_name():
    assert (config.ENCODED, config.FEATURES, config.OUTPUTS) == (13, 16, 16)
    assert (config.SAMPLES_PER_THREAD, config.TILE_PITCH, config.MAX_HIDDEN) == (4, 65, 64)


@pytest.mark.parametrize(
    "old, new, words",
    [
        ("FOURIER_OCTAVES = 2 ", "FOURIER_OCTAVES = 3 ", "17 channels .* choose fewer octaves"),
        ("GRID_CHANNELS = 3 ", "GRID_CHANNELS = 4 ", "GRID_CHANNELS = 4 must be COLOURS = 3"),
        ("HIDDEN_WIDTHS = (16,", "HIDDEN_WIDTHS = (24,", "multiples of TILE = 16"),
        ("TILE_SAMPLES = 64 ", "TILE_SAMPLES = 60 ", "multiples of TILE = 16"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(tmp_path, old, new, words):
    with pytest.raises(ValueError, match=words):
        import_changed(tmp_path, old, new)


def test_one_octave_fewer_fits(tmp_path):
    assert import_changed(tmp_path, "FOURIER_OCTAVES = 2 ", "FOURIER_OCTAVES = 1 ").ENCODED == 9


@pytest.mark.parametrize(
    ("picture", "grid"),
    [
        ((803, 549), (200, 137)),  # the lake
        ((549, 803), (137, 200)),
        ((512, 512), (166, 165)),
        ((20, 10), (10, 5)),  # a cell per four pixels
        ((1, 1), (1, 1)),
        ((7680, 4320), (1863, 1048)),  # a cell per 17 pixels
        ((30_000, 20_000), (1774, 1182)),  # no more than two million
    ],
)
def test_a_grid_has_the_shape_of_its_picture_and_grows_with_it(picture, grid):
    assert config.fitting_grid(*picture) == grid
