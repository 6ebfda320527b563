"""Every text in a figure is drawn with letters that the typeface has; problems stand in red."""

import ast
import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from numba import cuda, float32
from PIL import Image, ImageDraw

from images import draw
from kernels.files import pictures, plot
from kernels.files import style as style_of_the_files
from lessons.grading.explain.picture import draw_check
from lessons.lab import checked_run, example
from lessons.lab.simulator import style as style_of_the_lab
from lessons.lab.simulator.picture_array import WRONG
from lessons.lab.simulator.style import drawable, has_glyph
from tests.lab.browser import browser

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("kernels", "lessons", "benchmarks")
DRAWING = [
    path.relative_to(ROOT)
    for room in ROOMS
    for path in sorted((ROOT / room).rglob("*.py"))
    if "style import" in path.read_text(encoding="utf-8")
]


def texts_of(path):
    """The strings of a file, without docstrings."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) not in docstrings:
                yield node.value


def test_all_that_draw_are_looked_at():
    names = {path.name for path in DRAWING}
    assert {"plot.py", "pictures.py", "picture.py", "picture_panels.py", "scaling.py"} <= names
    assert sum(path.parts[0] == "lessons" and path.name == "picture.py" for path in DRAWING) >= 8


def test_the_pictures_of_the_lab_look_like_all_others():
    for name in ("PAPER", "INK", "MUTED", "GRID"):
        assert getattr(style_of_the_lab, name) == getattr(style_of_the_files, name)
    assert style_of_the_lab.font(14).getname() == style_of_the_files.font(14).getname()


@pytest.mark.parametrize("path", DRAWING, ids=str)
def test_no_file_that_draws_has_text_that_cannot_be_drawn(path):
    for text in texts_of(path):
        missing = [c for c in text if not has_glyph(c) and c not in "\n\r\t\uffff"]
        assert missing == [], text


@pytest.fixture
def drawn(monkeypatch):
    """The texts that are drawn in a test."""
    texts = []
    for name in ("text", "multiline_text"):
        original = getattr(ImageDraw.ImageDraw, name)

        def record(draw, xy, text, *arguments, original=original, **options):
            texts.append(text)
            return original(draw, xy, text, *arguments, **options)

        monkeypatch.setattr(ImageDraw.ImageDraw, name, record)
    yield texts
    assert texts
    for text in texts:
        assert all(has_glyph(character) for character in text), text


@pytest.mark.slow
def test_letters_that_the_typeface_lacks_are_replaced():
    assert drawable("plain text: 3 x (4 + 5) = 27 %") == "plain text: 3 x (4 + 5) = 27 %"
    assert drawable("größe über é") == r"gro\xdfe uber e"
    assert drawable("λ → 2\tµ\0\n") == r"\u03bb \u2192 2 \xb5\x00 "
    assert not has_glyph("\n") and not has_glyph("→") and has_glyph(" ") and has_glyph("~")
    for code in range(0x3000):
        assert all(map(has_glyph, drawable(chr(code))))


def test_texts_of_a_run(drawn, tmp_path):
    image = np.full((5, 8, 3), 0.5)
    pictures.contact_sheet([1, 40_000], [image] * 2, [image] * 2, [-3.0, np.inf], "2 of 3")
    pictures.training_gif(tmp_path / "a.gif", [image] * 2, [1, 2], [None, 3.0])
    plot.loss_plot([1, 1e6], [1e-12, 0.5], [-5.0, 20.0], 19.0, 22.0)


@cuda.jit
def größer(ä, λ):
    i = cuda.grid(1)
    ä[i] = λ[i] + float32(2)  # µ → ∞


def test_names_in_any_alphabet(drawn, tmp_path):
    ones = np.ones(4, np.float32)
    checked_run(größer, 1, 4, ones.copy(), ones, record=True).picture(tmp_path / "a.png")
    expected = np.zeros((3, 3))
    draw_check("größe λ", expected, expected + 1, -1.0, 0.1, tmp_path / "b.png", "Prüfung: λ")


def test_two_arrays_with_foreign_names_stay_apart(drawn, tmp_path):
    ones = np.ones(4, np.float32)
    checked_run(größer, 1, 4, ones.copy(), ones, record=True).picture(tmp_path / "a.png")
    assert {"a", r"\u03bb"} <= set(drawn)


# ---------------------------------------------------------------- pictures of the README


README = (ROOT / "README.md").read_text(encoding="utf-8")


def words_on(name):
    """What `images.draw` says that can be read on a picture."""
    with Image.open(ROOT / "images" / name) as picture:
        comment = picture.info.get("comment") or picture.info.get("Comment")
    return comment.decode() if isinstance(comment, bytes) else comment


def test_the_picture_of_the_race_shows_what_the_readme_and_the_lab_say():
    kernel = example.turn_around_too_early
    values = np.zeros(2 * example.THREADS, np.float32)
    (finding,) = checked_run(kernel, 2, example.THREADS, values, values.copy()).problems
    words = " ".join(words_on("replay.png").split())
    assert finding.message in words and f"race, line {finding.line}" in words
    assert " ".join(str(finding).split()) in " ".join(README.split())
    lines, first = inspect.getsourcelines(kernel.py_func)
    for number, line in enumerate(lines, first):
        assert re.search(rf"\b{number} (A |B )?{re.escape(line.strip())}", words), (number, line)
        assert line in README


@pytest.mark.parametrize("name", ["hero.jpg", "bilinear_and_learned.jpg"])
def test_the_decibels_on_a_picture_are_those_of_the_text(name):
    words = words_on(name)
    text = re.search(rf"!\[([^]]*)\]\(images/{name}\)", README)[1]
    for decibels in re.findall(r"[\d.]+ dB", text):
        assert decibels in words, decibels
    for step in re.findall(r"[\d,]+\d|\b\d+\b", text.partition("steps ")[2]):
        assert f"step {step}: " in words, step


def test_every_picture_is_shown_and_drawn_by_a_command():
    drawn = (ROOT / "images" / "draw.py").read_text(encoding="utf-8")
    for path in (ROOT / "images").iterdir():
        if path.suffix in (".png", ".jpg"):
            assert path.stem in drawn and (path.stem == "lake" or f"images/{path.name}" in README)


@pytest.mark.slow
def test_the_sheets_of_a_run_keep_the_words_that_stand_on_them(tmp_path, monkeypatch):
    monkeypatch.setattr(draw, "STEPS", (1, 4))
    monkeypatch.setattr(draw, "TO", tmp_path)
    draw.draw_run(tmp_path / "run")
    decibels = float((tmp_path / "run" / "loss.csv").read_text().splitlines()[-1].split(",")[2])
    with Image.open(tmp_path / "hero.jpg") as picture:
        words = picture.info["comment"].decode()
    assert words.endswith(f"step 4: {decibels:.2f} dB; bilinear: 22.70 dB")


def test_the_command_replaces_the_lake_too_and_takes_no_arguments(tmp_path, monkeypatch):
    monkeypatch.setattr(draw, "TO", tmp_path)
    for name in ("draw_run", "draw_replay"):
        monkeypatch.setattr(draw, name, lambda folder: None)
    monkeypatch.setattr(draw.paint_lake, "paint", lambda: np.zeros((2, 3, 3), np.uint8))
    (tmp_path / "lake.png").write_text("an older one")
    with pytest.raises(SystemExit):
        draw.main(["--steps"])
    assert (tmp_path / "lake.png").read_text() == "an older one"
    draw.main([])
    with Image.open(tmp_path / "lake.png") as picture:
        assert picture.size == (3, 2)


@pytest.mark.slow
def test_the_picture_of_the_replay_says_what_the_page_says_now(tmp_path):
    with browser(tmp_path) as window:
        assert draw.open_replay(window, tmp_path) == words_on("replay.png")


# ---------------------------------------------------------------- problems


@cuda.jit
def without_a_guard(values, result):
    i = cuda.grid(1)
    result[i] = values[i]


@cuda.jit
def without_a_barrier(values):
    tile = cuda.shared.array(8, float32)
    thread = cuda.threadIdx.x
    tile[thread] = values[thread]
    values[thread] = tile[7 - thread]


@cuda.jit
def a_barrier_for_some(values):
    thread = cuda.threadIdx.x
    values[thread] = float32(0)
    if thread < 3:
        cuda.syncthreads()


@cuda.jit
def a_late_race(values, rounds):
    for _ in range(rounds):
        values[cuda.threadIdx.x + 900] = float32(1)
    values[990] = float32(cuda.threadIdx.x)


def red(path):
    """Pixels of the colour of what is wrong."""
    return int((np.asarray(Image.open(path).convert("RGB")) == WRONG).all(axis=-1).sum())


def test_accesses_outside_an_array_are_in_the_picture(drawn, tmp_path):
    path, values = tmp_path / "a.png", np.zeros(6, np.float32)
    report = checked_run(without_a_guard, 1, 8, values, values.copy(), record=True)
    outside = [event for event in report.events if event.kind == "outside"]
    assert [event.array for event in outside] == ["values", "result"]
    assert all(event.thread.tolist() == [6, 7] for event in outside)
    report.picture(path)
    assert red(path) > 300
    assert "reaches outside of values (global)" in drawn
    assert any("values[6] is outside its shape" in text for text in drawn)


def test_a_race_is_marked_at_its_element(drawn, tmp_path):
    path = tmp_path / "a.png"
    report = checked_run(without_a_barrier, 1, 8, np.zeros(8, np.float32), record=True)
    (event,) = [event for event in report.events if event.problem]
    assert event.kind == "read" and event.array == "tile" and len(event.marked) == 1
    element = event.element[event.marked[0]]
    assert f"tile[{element}]" in event.problem and report.findings[0].message == event.problem
    report.picture(path)
    assert red(path) > 300


def test_what_has_no_place_in_an_array_stands_at_the_end(drawn, tmp_path):
    report = checked_run(a_barrier_for_some, 1, 8, np.zeros(8, np.float32), record=True)
    assert not any(event.problem for event in report.events)
    report.picture(tmp_path / "a.png")
    assert red(tmp_path / "a.png") > 300
    assert any("barrier" in text for text in drawn[-3:])


def test_a_problem_far_down_and_far_right_is_seen(drawn, tmp_path):
    """After more accesses than are kept, in a part of the array that would not be drawn."""
    values = np.zeros(1000, np.float32)
    report = checked_run(a_late_race, 1, 8, values, 500, record=True)
    report.picture(tmp_path / "a.png")
    assert any("earlier rows" in text for text in drawn)
    assert any("values[990]" in text for text in drawn) and "990" in drawn


def test_a_run_without_problems_has_no_red(tmp_path):
    values = np.zeros(8, np.float32)
    checked_run(without_a_guard, 1, 8, values, values.copy(), record=True).picture(
        tmp_path / "a.png"
    )
    assert red(tmp_path / "a.png") == 0


# ---------------------------------------------------------------- axes and scales of a check


@pytest.mark.parametrize(
    "shape", [(9, 14), (50, 37, 3), (1000,), (3, 2), (4, 3, 20, 16), (900, 700)]
)
def test_a_failure_has_indices_and_scales(drawn, tmp_path, shape):
    expected = np.random.default_rng(0).random(shape)
    got = expected.copy()
    got[..., -1] += 0.5
    draw_check("x", expected, got, -7777.25, 1e-6, tmp_path / "a.png", "title")
    wrong = expected.size // shape[-1]
    assert any(f"{wrong:,} of {expected.size:,} wrong" in text for text in drawn)
    assert drawn.count("0") >= 6  # the first row and the first column of three panels
    assert {"1e-06", "0.5"} <= set(drawn)
    # Indices are whole numbers in order, and none is written twice on an axis.
    indices = [int(text) for text in drawn if text.isdigit()]
    assert max(indices) >= {(1000,): 63}.get(shape, min(shape[-2:]) // 2)


def test_the_scale_of_colours_goes_from_the_lowest_to_the_highest(drawn, tmp_path):
    expected = np.array([[-2.5, 0.0, 4.0]])
    draw_check("x", expected, -expected, -7777.25, 1e-6, tmp_path / "a.png", "title")
    assert drawn.count("-2.5") == drawn.count("4") >= 2 and "8" in drawn


def test_nothing_but_missing_numbers_has_no_scale_of_errors(drawn, tmp_path):
    expected, got = np.ones((4, 4)), np.full((4, 4), -7777.25)
    draw_check("x", expected, got, -7777.25, 1e-6, tmp_path / "a.png", "title")
    assert "never written, NaN or infinite" in drawn
