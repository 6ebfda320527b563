"""The pictures of the lessons' pages can be drawn again."""

import importlib
from pathlib import Path

import pytest
from PIL import Image

ROOT = Path(__file__).parents[2]
LESSONS = sorted(path.parent.name for path in ROOT.glob("lessons/[0-9]*/picture.py"))
TRAINED = ("19_attention",)  # whose picture shows what networks have learned; one takes minutes
LONG = ("18_palette", *TRAINED)


def test_every_lesson_has_one():
    assert LESSONS == sorted(path.parent.name for path in ROOT.glob("lessons/*/lesson.toml"))


@pytest.mark.parametrize("lesson", LESSONS)
def test_what_draws_a_picture_finds_what_it_needs(lesson):
    assert callable(importlib.import_module(f"lessons.{lesson}.picture").main)


@pytest.mark.each(6)
@pytest.mark.parametrize(
    "lesson",
    [pytest.param(n, marks=pytest.mark.thorough) if n in LONG else n for n in LESSONS],
)
def test_a_picture_is_drawn_again(lesson, tmp_path, monkeypatch):
    module = importlib.import_module(f"lessons.{lesson}.picture")
    if lesson in TRAINED:
        monkeypatch.setattr(module, "STEPS", module.EVERY)
    monkeypatch.setattr(module, "HERE", tmp_path)
    module.main()
    with Image.open(tmp_path / "picture.png") as drawn:
        with Image.open(ROOT / "lessons" / lesson / "picture.png") as kept:
            assert drawn.size == kept.size
