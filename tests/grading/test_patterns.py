"""A diagnosis names the pattern that is there, and none that is not."""

import re

import numpy as np
import pytest
from PIL import Image

from lessons.grading.explain.clues import Clues
from lessons.grading.explain.comparison import Comparison, first_wrong
from lessons.grading.explain.patterns import diagnose
from lessons.grading.explain.picture import draw_check
from lessons.grading.explain.unwritten import left_as_it_was

SENTINEL = -7777.25
TOLERANCE = 1e-6
IMAGE_THREADS = "grid", 2, (16, 16)
LIST_THREADS = "grid", 1, 128


def values(*shape, seed=0):
    return np.random.default_rng(seed).uniform(0.1, 0.9, shape)


def code(expected, got, **options):
    return diagnose(expected, got, SENTINEL, TOLERANCE, **options).code


def spoiled(expected, change):
    got = expected.copy()
    change(got)
    return got


def fill(index, value=SENTINEL):
    def change(got):
        got[index] = value

    return change


def transpose_square(part):
    """In the square that both axes have room for; what lies beside it is all wrong."""
    side = min(part.shape)
    part[:] = np.sin(part * 7) + 3
    part[:side, :side] = values(*part.shape)[:side, :side].T


PICTURE = values(20, 37)
COLOURS = values(9, 14, 3)
LIST = values(300)
NEARLY_ZERO = np.append(values(40), [1e-6, 2e-6])  # the last add nothing to a large number

SPOILED = [
    ("nan", PICTURE, spoiled(PICTURE, fill((3, 4), np.nan))),
    ("never written", PICTURE, np.full(PICTURE.shape, SENTINEL)),
    ("tail not written", PICTURE, spoiled(PICTURE, fill(np.s_[:, 32:]))),
    ("tail not written", PICTURE, spoiled(PICTURE, fill(np.s_[16:]))),
    ("tail not written", LIST, spoiled(LIST, fill(np.s_[256:]))),
    ("first block only", LIST, spoiled(LIST, fill(np.s_[128:]))),
    ("partly written", PICTURE, spoiled(PICTURE, fill(np.s_[::2, 1::3]))),
    ("beginning not written", PICTURE, spoiled(PICTURE, fill(np.s_[:1]))),
    ("border not written", PICTURE, np.pad(PICTURE[1:-1, 1:-1], 1, constant_values=SENTINEL)),
    (
        "border not written",
        PICTURE,
        np.pad(PICTURE[1:-2], ((1, 2), (0, 0)), constant_values=SENTINEL),
    ),
    (
        "partly written",
        PICTURE,
        np.pad(PICTURE[1:-1, 5:-5], ((1, 1), (5, 5)), constant_values=SENTINEL),
    ),
    ("written in steps", PICTURE, spoiled(PICTURE, fill(np.s_[:, 1::2]))),
    ("written in steps", LIST, np.where(np.arange(300) % 3 == 1, LIST, SENTINEL)),
    ("blocks missing", values(40, 50), spoiled(values(40, 50), fill(np.s_[16:32]))),
    ("transposed", PICTURE, PICTURE.T.reshape(PICTURE.shape)),
    ("transposed", values(7, 7), values(7, 7).T),
    ("transposed", PICTURE, spoiled(PICTURE, transpose_square)),
    ("transposed", values(40, 9), spoiled(values(40, 9), transpose_square)),
    ("wrong", values(3, 9), spoiled(values(3, 9), transpose_square)),
    ("all zero", PICTURE, np.zeros(PICTURE.shape)),
    ("wrong", PICTURE - 0.5, spoiled(PICTURE - 0.5, fill(np.s_[::3, 5:7], 0))),
    ("flipped", PICTURE, PICTURE[::-1]),
    ("flipped", PICTURE, PICTURE[:, ::-1]),
    ("shifted", PICTURE, np.roll(PICTURE, 1, axis=1)),
    ("shifted", LIST, np.roll(LIST, -1)),
    ("swapped channels", COLOURS, COLOURS[:, :, ::-1]),
    ("0-255", COLOURS, COLOURS * 255),
    ("constant factor", PICTURE, PICTURE / 3),
    ("constant factor", PICTURE, PICTURE * -2),
    ("not begun at zero", PICTURE, np.float32(PICTURE) + np.float32(SENTINEL)),
    ("not begun at zero", NEARLY_ZERO, np.float32(NEARLY_ZERO) + np.float32(SENTINEL)),
    ("constant offset", PICTURE, PICTURE + 0.25),
    ("lost updates", LIST, LIST * np.random.default_rng(1).uniform(0.2, 0.9, 300)),
    ("wrong", LIST - 0.5, np.where(LIST < 0.3, 0, LIST - 0.5)),
    ("wrong", PICTURE, spoiled(PICTURE, fill(np.s_[3], values(37, seed=8)))),
    ("wrong", PICTURE, values(20, 37, seed=5)),
    ("wrong", COLOURS, values(9, 14, 3, seed=6)),
    ("wrong", values(1), values(1, seed=7) + 1),
]


def test_a_tail_of_an_array_of_no_threads_says_nothing_of_blocks():
    found = diagnose(LIST, spoiled(LIST, fill(np.s_[200:])), SENTINEL, TOLERANCE)
    assert found.code == "tail not written"
    assert "loop" in found.sentence and "block" not in found.sentence


@pytest.mark.parametrize("expected_code, expected, got", SPOILED)
def test_pattern_is_named(expected_code, expected, got):
    threads = LIST_THREADS if expected.ndim == 1 else IMAGE_THREADS
    clues = Clues(racing_sum=expected_code == "lost updates")
    diagnosis = diagnose(expected, got, SENTINEL, TOLERANCE, threads=threads, clues=clues)
    assert diagnosis.code == expected_code
    assert diagnosis.sentence.endswith((".", "?"))


def test_values_that_are_nearly_right_are_said_to_be():
    noise = np.random.default_rng(3).uniform(-1, 1, LIST.shape)
    found = diagnose(LIST, LIST * (1 + 1e-3 * noise), SENTINEL, TOLERANCE)
    assert (
        found.code == "wrong" and "nearly right, off by at most 0.001 of itself" in found.sentence
    )
    one_is_far_off = spoiled(LIST * (1 + 1e-3 * noise), fill(np.s_[7]))
    assert "nearly right" not in diagnose(LIST, one_is_far_off, SENTINEL, TOLERANCE).sentence
    assert (
        "nearly right"
        not in diagnose(PICTURE, values(20, 37, seed=5), SENTINEL, TOLERANCE).sentence
    )


def test_a_picture_written_by_the_first_row_of_threads():
    got = np.full(PICTURE.size, SENTINEL)
    got[:48] = PICTURE.ravel()[:48]  # blocks of 16, three across
    got = got.reshape(PICTURE.shape)
    assert PICTURE.shape[1] < 48
    assert code(PICTURE, got, threads=IMAGE_THREADS) == "first row of threads only"
    got.flat[47] = SENTINEL
    assert code(PICTURE, got, threads=IMAGE_THREADS) != "first row of threads only"


def test_the_lengths_of_another_array_are_asked_about():
    got = np.full(PICTURE.shape, SENTINEL)
    got[:5, :7] = 0.0
    clues = Clues(lengths=frozenset((5, 7, 20, 37)))
    found = diagnose(PICTURE, got, SENTINEL, TOLERANCE, threads=IMAGE_THREADS, clues=clues)
    assert "5 and 7 are other lengths of the arrays here" in found.sentence


def test_lost_updates_need_a_sum_that_can_race():
    smaller = LIST * np.random.default_rng(1).uniform(0.2, 0.9, 300)
    assert code(LIST, smaller) == "wrong"


@pytest.mark.parametrize(
    "written, words, own_launch",
    [
        (np.s_[:19, :36], "one too strict", False),
        (np.s_[:, :20], "compared with the same length", False),
        (np.s_[:, :32], "x and y are exchanged", False),
        (np.s_[:, :32], "the launch exchanges x and y", True),
        (np.s_[:18, :22], "gridDim", False),
        (np.s_[:16, :32], "rounded down", True),
        (np.s_[:16, :32], "look at where the block ends", False),
        (np.s_[:15, :30], "which threads does the guard send home", False),
    ],
)
def test_the_end_that_is_missing_tells_why(written, words, own_launch):
    got = np.full(PICTURE.shape, SENTINEL)
    got[written] = PICTURE[written]
    clues = Clues(own_launch=own_launch)
    found = diagnose(PICTURE, got, SENTINEL, TOLERANCE, threads=IMAGE_THREADS, clues=clues)
    assert found.code == "tail not written"
    assert words in found.sentence
    assert ("rounded down" in found.sentence) == (own_launch and "rounded" in words)


def test_numbers_that_differ_look_different():
    (line,) = first_wrong("x", np.array([0.1]), np.array([0.10000003]), TOLERANCE / 1e3)
    wanted, got = re.search(r"expected (\S+), got (\S+)", line).groups()
    assert wanted != got


def test_first_block_of_a_picture():
    got = np.full(PICTURE.shape, SENTINEL)
    got[:16, :16] = PICTURE[:16, :16]
    assert code(PICTURE, got, threads=IMAGE_THREADS) == "first block only"
    assert code(PICTURE, got) == "tail not written"


@pytest.mark.parametrize(
    "clues, words, never",
    [
        (Clues(), "cuda.threadIdx counts within a block", "guard"),
        (Clues(counts_blocks=True), "what stops the others?", "counts over all of them"),
        (Clues(own_launch=True), "start more than one block", "guard"),
    ],
)
def test_why_only_the_first_block_writes_is_not_told_against_the_file(clues, words, never):
    got = np.full(PICTURE.shape, SENTINEL)
    got[:16, :16] = PICTURE[:16, :16]
    found = diagnose(PICTURE, got, SENTINEL, TOLERANCE, threads=IMAGE_THREADS, clues=clues)
    assert words in found.sentence and never not in found.sentence


@pytest.mark.parametrize("counts_blocks", [False, True])
def test_an_end_that_is_missing_is_where_the_first_block_ends_if_none_is_asked_for(counts_blocks):
    expected = values(300)
    clues = Clues(counts_blocks=counts_blocks, stores_in_loops=False)
    got = spoiled(expected, fill(np.s_[256:]))
    found = diagnose(expected, got, SENTINEL, TOLERANCE, clues=clues)
    assert ("never asks for its block" in found.sentence) == (not counts_blocks)


@pytest.mark.parametrize("counts_blocks", [False, True])
def test_blocks_that_are_missing_are_no_missing_grid_where_the_file_has_one(counts_blocks):
    expected = values(40, 50)
    got, clues = spoiled(expected, fill(np.s_[16:32])), Clues(counts_blocks=counts_blocks)
    found = diagnose(expected, got, SENTINEL, TOLERANCE, threads=IMAGE_THREADS, clues=clues)
    assert found.code == "blocks missing"
    assert ("which cuda.grid computes" in found.sentence) == (not counts_blocks)


def test_one_element_alone_tells_nothing_of_blocks():
    expected = values(37, 2)
    got = spoiled(expected, fill(np.s_[1:]))
    found = diagnose(expected, got, SENTINEL, TOLERANCE, threads=LIST_THREADS)
    assert "only the first is" in found.sentence and "blockIdx" not in found.sentence


def test_writing_beside_the_array_is_named_when_the_rest_is_right():
    assert code(PICTURE, PICTURE, guards_intact=False) == "written outside"


@pytest.mark.parametrize("seed", range(20))
def test_garbage_is_only_wrong(seed):
    expected, got = values(11, 13, 3, seed=seed), values(11, 13, 3, seed=100 + seed)
    assert code(expected, got, threads=IMAGE_THREADS) == "wrong"


@pytest.mark.parametrize("seed", range(10))
def test_a_few_wrong_elements_among_zeros_are_only_wrong(seed):
    """Where nearly all is zero, nearly all fits whatever could have gone wrong."""
    rng = np.random.default_rng(seed)
    expected = np.zeros((40, 40))
    expected.flat[rng.choice(1600, 5, replace=False)] = rng.uniform(0.1, 0.9, 5)
    got = expected * np.where(rng.random(expected.shape) < 0.6, 2, 3)
    got.flat[rng.choice(1600, 3, replace=False)] += rng.uniform(0.1, 0.9, 3)
    for part in (np.s_[:, :], np.s_[:, :, np.newaxis], np.s_[20]):
        assert code(expected[part], got[part], threads=None) == "wrong"


def test_a_beginning_that_is_missing_is_told_for_each_axis():
    got = spoiled(PICTURE, fill(np.s_[:2]))
    got[:, :5] = SENTINEL
    sentence = diagnose(PICTURE, got, SENTINEL, TOLERANCE).sentence
    assert "axis 0: up to index 1 and axis 1: up to index 4" in sentence


def test_first_wrong_names_index_values_and_owner():
    got = spoiled(PICTURE, fill((17, 33), 0.5))
    got[18, 0] = SENTINEL
    lines = first_wrong("gray", PICTURE, got, TOLERANCE, IMAGE_THREADS, sentinel=SENTINEL)
    assert lines == [
        f"gray[17, 33]: expected {PICTURE[17, 33]:.6g}, got 0.5 (block (2, 1), thread (1, 1))",
        f"gray[18, 0]: expected {PICTURE[18, 0]:.6g}, never written (block (0, 1), thread (0, 2))",
    ]
    (line,) = first_wrong("uv", LIST, spoiled(LIST, fill(130, 7.0)), TOLERANCE, LIST_THREADS)
    assert line.endswith("(block 1, thread 2)")


SHAPES = [(), (5,), (300,), (0, 3), (2, 3, 4, 5), (900, 3), (500, 900), (4, 5, 3), (1, 1), (3, 1)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_picture_of_any_shape_is_drawn(tmp_path, shape):
    expected = values(*shape)
    got = np.where(values(*shape, seed=1) < 0.3, SENTINEL, expected)
    if got.size > 1:
        got.flat[0] = np.inf
    path = tmp_path / "check.png"
    draw_check("x", expected, got, SENTINEL, TOLERANCE, path, "a title")
    with Image.open(path) as picture:
        assert picture.width < 1400 and picture.height < 1000


def test_picture_shows_what_was_never_written(tmp_path):
    path = tmp_path / "check.png"
    got = spoiled(PICTURE, fill(np.s_[:, 32:]))
    draw_check("gray", PICTURE, got, SENTINEL, TOLERANCE, path, "a title", IMAGE_THREADS)
    with Image.open(path) as picture:
        colours = np.asarray(picture.convert("RGB")).reshape(-1, 3)
    pink = (colours == (255, 0, 200)).all(axis=1).sum()
    cell = 300 // 37
    assert pink >= 20 * 5 * cell * cell * 0.9


@pytest.mark.parametrize("got", [15.0, 0.0, -3.0, np.nan])
def test_a_single_number_has_no_pattern(got):
    assert code(np.array(3.0), np.array(got)) == "wrong"


def left_as_it_was_with(rows, columns, spoil=0.0):
    """What is told if so many rows and columns of an array are changed where it lies."""
    expected, initial = values(40, 17), values(40, 17, seed=1)
    got = initial.copy()
    got[:rows, :columns] = expected[:rows, :columns] + spoil
    comparison = Comparison(expected, got, SENTINEL, TOLERANCE, IMAGE_THREADS)
    return left_as_it_was(initial, comparison)


def test_what_was_left_as_it_was_is_told_like_what_was_never_written():
    assert "x and y are exchanged" in left_as_it_was_with(32, 17).sentence
    assert left_as_it_was_with(16, 16).code == "first block only"


def test_something_else_that_is_wrong_is_not_told_as_left():
    assert left_as_it_was_with(32, 17, spoil=0.1) is None
    assert left_as_it_was_with(40, 17) is None


def test_atomic_additions_to_garbage_are_not_told_to_be_stores():
    expected = values(30)
    told = [
        diagnose(expected, expected + SENTINEL, SENTINEL, TOLERANCE, clues=clues).sentence
        for clues in (Clues(adds_atomically=True), Clues())
    ]
    assert "zero before" in told[0] and "one thread" in told[0]
    assert told[1].startswith("The right values") and "store them with `=`" in told[1]
