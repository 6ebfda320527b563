"""A diagnosis names the pattern that is there, and none that is not."""

import re

import numpy as np
import pytest
from PIL import Image

from lessons.grading.advice.comparison import (
    Clues,
    Comparison,
    first_wrong,
)
from lessons.grading.advice.counted import counted_otherwise
from lessons.grading.advice.diagnosis import diagnose
from lessons.grading.advice.untouched import left_as_it_was
from lessons.grading.advice.written_again import (
    stored_by_all,
    stored_by_blocks_before,
    stored_by_others,
    why_again,
)
from lessons.grading.pictures.picture import draw_check

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


def inside(expected, rows, columns):
    """What is written if so many rows and columns are left out at either end."""
    got = np.full_like(expected, SENTINEL)
    part = tuple(
        slice(first, size - last)
        for size, (first, last) in zip(expected.shape, (rows, columns), strict=True)
    )
    got[part] = expected[part]
    return got


def add(part, number):
    part += number


def square(part):
    part *= part


def halve(part):
    part /= 2


def transpose_square(part):
    """In the square that both axes have room for; what lies beside it is all wrong."""
    side = min(part.shape)
    part[:] = np.sin(part * 7) + 3
    part[:side, :side] = values(*part.shape)[:side, :side].T


PICTURE = values(20, 37)
COLOURS = values(9, 14, 3)
LIST = values(300)
NEARLY_ZERO = np.append(values(40), [1e-6, 2e-6])  # the last add nothing to a large number
WAVE = np.append(np.cos(9 * LIST[1:]), 1e-4)  # of the last one a root is not exact

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
    ("zero in a part", PICTURE - 0.5, spoiled(PICTURE - 0.5, fill(np.s_[:, 16:], 0))),
    ("zero in a part", COLOURS, spoiled(COLOURS, fill(np.s_[2:4, 3:], 0))),
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
    ("not begun at zero", PICTURE, np.float32(4 * PICTURE + SENTINEL) / 4),
    ("not begun at zero", PICTURE, PICTURE + SENTINEL / np.rint(4 + 5 * PICTURE)),
    ("constant offset", PICTURE, PICTURE + 0.25),
    ("constant offset", PICTURE, PICTURE + 0.9 * SENTINEL),
    ("constant offset", PICTURE, 0.5 * PICTURE + 0.9 * SENTINEL),
    ("signs of some", LIST - 0.5, (LIST - 0.5) * np.sign(values(300, seed=5) - 0.5)),
    ("wrong in every round", PICTURE, spoiled(PICTURE, fill(np.s_[2::4], values(37, seed=3)))),
    ("lost updates", LIST, LIST * np.random.default_rng(1).uniform(0.2, 0.9, 300)),
    ("not begun at zero", PICTURE, spoiled(PICTURE, lambda got: add(got[::2], SENTINEL))),
    ("to a power", PICTURE, np.sqrt(PICTURE)),
    ("to a power", COLOURS, COLOURS**2.2),
    ("signs lost", LIST - 0.5, np.abs(LIST - 0.5)),
    ("signs lost", WAVE, np.sqrt(WAVE**2 + 2e-9)),
    ("cut off", LIST - 0.5, np.maximum(LIST - 0.5, 0)),
    ("cut off", LIST, np.minimum(LIST, 0.5)),
    ("rounded", PICTURE, np.floor(PICTURE * 255) / 255),
    ("rounded", 9 * PICTURE, np.rint(9 * PICTURE)),
    ("another range", PICTURE, PICTURE * 2 - 1),
    ("turned round", PICTURE, 1 - PICTURE),
    ("wrong", LIST - 0.5, np.where(LIST < 0.3, 0, LIST - 0.5)),
    ("zeros and ones", LIST, np.rint(LIST)),
    ("cut off", COLOURS, spoiled(COLOURS, lambda got: np.minimum(got, 0.5, out=got))),
    ("of another index", PICTURE, PICTURE[np.arange(20) // 4 * 4]),
    ("of another index", PICTURE, PICTURE[:, np.arange(37) // 8]),
    ("to a power", COLOURS - 0.5, spoiled(COLOURS - 0.5, lambda got: square(got[..., 1]))),
    ("constant factor", COLOURS, spoiled(COLOURS, lambda got: halve(got[..., ::2]))),
    ("wrong", PICTURE, spoiled(PICTURE, fill(np.s_[3], values(37, seed=8)))),
    ("wrong", PICTURE, values(20, 37, seed=5)),
    ("wrong", COLOURS, values(9, 14, 3, seed=6)),
    ("wrong", values(1), values(1, seed=7) + 1),
]


def test_a_known_mistake_that_makes_infinities_is_named():
    expected, got = np.array([2.0, -8.0]), np.array([1.0, -np.inf])
    known = {"smaller": (np.array([1.0, -np.inf]), "This is the smaller one.")}
    assert code(expected, got, candidates=known) == "smaller"
    other = {"smaller": (np.array([1.0, np.inf]), "This is the smaller one.")}
    assert code(expected, got, candidates=other) != "smaller"


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


def test_what_the_array_held_before_is_told_only_where_it_can_be_that():
    for got in (PICTURE + 0.9 * SENTINEL, 0.5 * PICTURE + 0.9 * SENTINEL):
        found = diagnose(PICTURE, got, SENTINEL, TOLERANCE)
        assert "held before" in found.sentence and "range" not in found.sentence
    for got in (PICTURE + 40, PICTURE - 1, 2 * PICTURE - 1, 2 * PICTURE + 100):
        assert "held before" not in diagnose(PICTURE, got, SENTINEL, TOLERANCE).sentence
    apart = PICTURE + SENTINEL / values(20, 37, seed=4)
    assert code(PICTURE, apart) == "wrong"


def test_rounds_of_zeros_tell_nothing():
    # All that is not zero is wrong: the zeros between would be right whatever the mistake is.
    zeros = spoiled(PICTURE, lambda got: np.multiply(got, np.arange(37) % 4 == 2, out=got))
    got = zeros * values(20, 37, seed=3)
    assert code(zeros, got) == "wrong"


def test_a_picture_written_by_the_first_row_of_threads():
    got = np.full(PICTURE.size, SENTINEL)
    got[:48] = PICTURE.ravel()[:48]  # blocks of 16, three across
    got = got.reshape(PICTURE.shape)
    assert PICTURE.shape[1] < 48
    assert code(PICTURE, got, threads=IMAGE_THREADS) == "first row of threads only"
    got.flat[47] = SENTINEL
    assert code(PICTURE, got, threads=IMAGE_THREADS) != "first row of threads only"


@pytest.mark.parametrize("written, told", [(192, "begins 32 after"), (193, "which threads")])
def test_blocks_that_overlap_end_too_early(written, told):
    expected = np.random.default_rng(0).random((257, 2))
    got = np.full(expected.shape, SENTINEL)
    got[:written] = expected[:written]
    found = diagnose(expected, got, SENTINEL, TOLERANCE, threads=("grid", 1, 128))
    assert told in found.sentence


def test_whole_blocks_that_stop_at_an_edge_are_asked_about():
    expected = values(257, 2)
    found = diagnose(
        expected, inside(expected, (0, 1), (0, 0)), SENTINEL, TOLERANCE, threads=LIST_THREADS
    )
    assert "the last one is left out" in found.sentence
    expected = values(300, 2)
    found = diagnose(
        expected, inside(expected, (0, 44), (0, 0)), SENTINEL, TOLERANCE, threads=LIST_THREADS
    )
    assert "whole blocks were written" in found.sentence and "each 64 after" in found.sentence
    for shape, asked in (((9, 14), True), ((16, 32), False)):
        nothing = np.full(shape, SENTINEL)
        options = {"threads": IMAGE_THREADS, "clues": Clues(asks_for_ends=True)}
        found = diagnose(values(*shape), nothing, SENTINEL, TOLERANCE, **options)
        assert ("stop the whole block" in found.sentence) == asked


def test_the_lengths_of_another_array_are_asked_about():
    got = np.full(PICTURE.shape, SENTINEL)
    got[:5, :7] = 0.0
    clues = Clues(lengths=frozenset((5, 7, 20, 37)))
    found = diagnose(PICTURE, got, SENTINEL, TOLERANCE, threads=IMAGE_THREADS, clues=clues)
    assert "5 and 7 are other lengths of the arrays here" in found.sentence


def test_blocks_with_the_usual_numbers_do_not_overlap():
    expected = np.random.default_rng(0).random((257, 2))
    got = np.full(expected.shape, SENTINEL)
    got[:192] = expected[:192]  # 384 threads, a number each
    clues = Clues(usual_numbers=True)
    found = diagnose(expected, got, SENTINEL, TOLERANCE, threads=("grid", 1, 128), clues=clues)
    assert "takes 2 to write a row" in found.sentence and "overlap" not in found.sentence


@pytest.mark.parametrize("rows, told", [(8, True), (9, False)])
def test_a_row_that_takes_several_threads(rows, told):
    expected = np.random.default_rng(0).random((100, 16))
    got = np.full(expected.shape, SENTINEL)
    got[:rows] = expected[:rows]
    found = diagnose(expected, got, SENTINEL, TOLERANCE, threads=("grid", 1, 128))
    assert ("takes 16 to write a row" in found.sentence) == told


def test_what_all_channels_make_together_is_known_in_each():
    colours = np.random.default_rng(0).random((9, 7, 3))
    mean = np.repeat(colours.mean(axis=2, keepdims=True), 3, axis=2)
    assert code(colours, mean, threads=IMAGE_THREADS) == "of all channels"


def test_equal_shares_of_the_blocks_leave_some_over():
    got = np.full(257, SENTINEL)
    got[:255] = expected = np.random.default_rng(0).random(257)[:255]
    expected = np.append(expected, [0.1, 0.2])
    found = diagnose(expected, got, SENTINEL, TOLERANCE, threads=("grid", 1, 128))
    assert "the last 2 are left over" in found.sentence


def test_a_later_tile_over_the_first_is_no_guard():
    got = np.full(PICTURE.shape, SENTINEL)
    got[:, :12] = PICTURE[:, 24:36]
    found = diagnose(PICTURE, got, SENTINEL, TOLERANCE, threads=IMAGE_THREADS)
    assert "belongs to index 24" in found.sentence and "guard" not in found.sentence


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


@pytest.mark.parametrize("own_launch, words", [(True, "too few blocks"), (False, "a guard")])
def test_the_end_that_is_missing_where_no_threads_are_known(own_launch, words):
    got = np.full(PICTURE.shape, SENTINEL)
    got[:16] = PICTURE[:16]
    found = diagnose(PICTURE, got, SENTINEL, TOLERANCE, clues=Clues(own_launch=own_launch))
    assert words in found.sentence
    assert "gridDim" not in found.sentence


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


def test_a_channel_of_the_opposite_sign_has_lost_no_sign():
    colours = COLOURS - 0.5
    got = spoiled(colours, lambda got: np.negative(got[..., 1], out=got[..., 1]))
    found = diagnose(colours, got, SENTINEL, TOLERANCE, threads=IMAGE_THREADS)
    assert found.code == "wrong sign" and found.sentence.startswith("Where the last index is 1")


def test_channels_in_which_alone_no_value_is_negative_are_told():
    waves = values(20, 4) - 0.5
    got = spoiled(waves, lambda got: np.abs(got[:, 1::2], out=got[:, 1::2]))
    found = diagnose(waves, got, SENTINEL, TOLERANCE)
    assert found.code == "signs of some" and "where the last index is 1, 3, and only" in found[1]
    got[:, 1::2] *= -1  # none is positive: a root does not do that
    assert "the last index" not in diagnose(waves, got, SENTINEL, TOLERANCE).sentence


@pytest.mark.parametrize(("most", "code_of"), [(3, "rounded"), (30, "wrong")])
def test_a_sum_of_numbers_that_were_made_whole_is_told(most, code_of):
    off = np.random.default_rng(3).integers(0, most, LIST.shape)
    got = (np.floor(LIST * 255) - off) / 255
    found = diagnose(LIST, got, SENTINEL, TOLERANCE)
    assert found.code == code_of
    assert ("some are off by more than one of these" in found.sentence) == (code_of == "rounded")


def test_candidates_come_first_and_have_to_fit_everywhere():
    candidates = {"plain sum": (PICTURE * 3, "Divide by three."), "other": PICTURE + 0.5}
    diagnosis = diagnose(PICTURE, PICTURE * 3, SENTINEL, TOLERANCE, candidates=candidates)
    assert diagnosis == ("plain sum", "Divide by three.")
    spoiled_once = spoiled(PICTURE * 3, fill((0, 0), 9.0))
    assert code(PICTURE, spoiled_once, candidates=candidates) == "constant factor"
    assert code(PICTURE, PICTURE + 0.5, candidates=candidates) == "other"


def test_candidate_equal_to_the_expected_is_no_mistake():
    got = spoiled(PICTURE, fill((0, 0)))
    assert code(PICTURE, got, candidates={"nothing": PICTURE}) == "partly written"


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
        assert code(expected[part], got[part], threads=None) in ("wrong", "of another index")


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


# ---------------------------------------------------------------- which terms are counted


def products(times):
    """The matrix products in which each product counts so often, and their terms."""
    rng = np.random.default_rng(3)
    a, b = rng.uniform(-1, 1, (7, len(times))), rng.uniform(-1, 1, (len(times), 9))
    return (a * times) @ b, a.T[:, :, np.newaxis] * b[:, np.newaxis, :]


@pytest.mark.parametrize(
    "times, words",
    [
        ([1, 1, 0, 1, 1, 0], "left out: number 2, 5"),
        ([1, 0, 0, 0, 1, 1], "left out: number 1 to 3"),
        ([1, 0] * 8, "left out: number 1, 3, 5 and so on up to 15"),
        ([3, 3, 2, 1], "added 2 to 3 times, and not once: number 0 to 2"),
        ([2, 2], "added 2 times, and not once: number 0, 1"),
    ],
)
def test_products_left_out_or_counted_again_are_told(times, words):
    got, terms = products(times)
    ((result, sentence),) = counted_otherwise(got, terms, "products").values()
    assert np.allclose(result, got) and sentence.endswith(f"{words} (the first is number 0).")


@pytest.mark.parametrize("times", [[1, 1, 1], [1, 0.5, 1], [1, -1, 1], [0, 0, 0], [0, 2, 1]])
def test_nothing_is_told_of_sums_that_are_wrong_in_another_way(times):
    got, terms = products(times)
    assert counted_otherwise(got, terms, "products") == {}


def test_nothing_is_told_of_sums_that_fewer_elements_do_not_tell():
    got, terms = products([1, 0, 1])
    assert counted_otherwise(got[:1, :5], terms[:, :1, :5], "products") == {}
    assert counted_otherwise(np.full_like(got, np.nan), terms, "products") == {}


def test_how_often_all_threads_store_if_none_is_sent_home():
    assert stored_by_all((1, 1), IMAGE_THREADS) == 256
    assert stored_by_all((9, 17), IMAGE_THREADS) == 512
    assert stored_by_all((16, 33, 3), IMAGE_THREADS) == 16 * 48 * 3
    assert stored_by_all((129,), LIST_THREADS) == 256
    assert stored_by_all((37, 2), LIST_THREADS) == 256


def test_how_often_loops_store_that_go_on_by_a_block():
    assert stored_by_blocks_before((100, 2), LIST_THREADS) == set()
    assert stored_by_blocks_before((130, 2), LIST_THREADS) == {2 * (128 + 2 * 2)}
    assert stored_by_blocks_before((17, 16), IMAGE_THREADS) == {(16 + 2) * 16}
    down, across = 16 + 2, 16 + 2 * 16
    assert stored_by_blocks_before((17, 32), IMAGE_THREADS) == {
        down * 32, 17 * across, down * across,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (np.s_[:17], "multiplied: blockIdx.y * blockDim.y + threadIdx.y."),
        (np.s_[:, :18], "multiplied: blockIdx.x * blockDim.x + threadIdx.x."),
        (np.s_[:17, :18], "multiplied: blockIdx.x * blockDim.x + threadIdx.x."),
        (np.s_[:, :3], "as many are written as there are blocks"),
        (np.s_[:15], "which threads does the guard send home"),
    ],
)
def test_numbers_of_blocks_that_are_not_multiplied(written, words):
    got = np.full_like(PICTURE, SENTINEL)
    got[written] = PICTURE[written]
    found = diagnose(PICTURE, got, SENTINEL, TOLERANCE, threads=IMAGE_THREADS)
    assert found.code == "tail not written" and words in found.sentence


def test_values_that_calls_have_returned_have_no_rounds():
    got = spoiled(LIST, fill(np.s_[2::4], 0.95))
    assert code(LIST, got) == "wrong in every round"
    assert code(LIST, got, clues=Clues(answers=True)) == "wrong"


def test_who_stores_what_belongs_to_others():
    size = 20 * 37
    known = stored_by_others((20, 37), IMAGE_THREADS)
    assert {number // size: words.split()[0] for number, words in known.items()} == {
        48: "so", 37: "so", 32: "so", 20: "so", 48 * 32: "by", size: "by", 6: "by"
    }  # fmt: skip
    assert "along x" in known[48 * size] and "along y" in known[32 * size]


def stores(shape, loop=None, guard=None):
    """How often such threads store; loop: the indices of a thread along an axis, by its own."""
    count = 0
    for y, x in np.ndindex(*(-(-n // 16) * 16 for n in shape)):
        if guard:
            count += guard(y, x)
        else:
            count += len(loop(y, shape[0], 0)) * len(loop(x, shape[1], 1))
    return count


def test_a_guard_of_a_flat_number_lets_threads_beyond_the_edge_write():
    rows = stores((20, 3), guard=lambda y, x: y * 3 + x < 60)
    assert "earlier row" in why_again(rows, (20, 3), IMAGE_THREADS)
    columns = stores((20, 37), guard=lambda y, x: x * 20 + y < 740)
    assert "x * height + y" in why_again(columns, (20, 37), IMAGE_THREADS)
    assert why_again(rows + 1, (20, 3), IMAGE_THREADS) == ""
    assert why_again(2 * rows, (20, 3, 2), IMAGE_THREADS) != ""


@pytest.mark.parametrize("shape", [(9, 14), (20, 37), (40, 70)])
def test_loops_that_go_on_by_the_blocks_or_by_one(shape):
    blocks = [-(-n // 16) for n in shape]
    by_blocks = stores(shape, lambda i, n, axis: range(i, n, blocks[axis]))
    told = why_again(by_blocks, shape, IMAGE_THREADS, steps_by_blocks=True)
    assert "goes on by cuda.gridDim" in told
    by_one = stores(shape, lambda i, n, axis: range(i, n))
    assert "goes on by 1." in why_again(by_one, shape, IMAGE_THREADS)
    assert "gridDim" not in why_again(by_blocks, shape, IMAGE_THREADS)


def test_nothing_is_told_of_numbers_that_come_about_in_two_ways():
    known = stored_by_others((20, 30), IMAGE_THREADS)
    assert 32 * 600 not in known and known[30 * 600] != known[20 * 600]
    assert stored_by_others((130, 2), LIST_THREADS).keys() == {256 * 260, 130 * 260, 2 * 260}
    assert stored_by_others((5,), IMAGE_THREADS) == {}


@pytest.mark.parametrize("got", [15.0, 0.0, -3.0, np.nan])
def test_a_single_number_has_no_pattern(got):
    assert code(np.array(3.0), np.array(got)) == "wrong"
    twice = {"twice": (np.array(15.0), "This is five times as much.")}
    assert code(np.array(3.0), np.array(15.0), candidates=twice) == "twice"


@pytest.mark.parametrize(
    "loops, conditions, words",
    [
        (True, True, "does a loop end too early, or does a guard"),
        (True, False, "does a loop end too early?"),
        (False, False, "no loop stores results here"),
        (False, True, "Or does a condition stop"),
    ],
)
def test_a_missing_end_is_asked_of_what_the_file_has(loops, conditions, words):
    expected = values(4, 33)
    got = spoiled(expected, fill(np.s_[:, 32:]))
    got[:, 3] += 0.1
    clues = Clues(stores_in_loops=loops, has_conditions=conditions)
    found = diagnose(expected, got, SENTINEL, TOLERANCE, clues=clues)
    assert found.code == "tail not written" and words in found.sentence


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


def test_blocks_on_the_diagonal_alone_are_told_as_one_number_for_both():
    expected = values(40, 35)
    got = np.full_like(expected, SENTINEL)
    for first in (0, 16, 32):
        part = np.s_[first : first + 16, first : first + 16]
        got[part] = expected[part]

    def sentence():
        return diagnose(expected, got, SENTINEL, TOLERANCE, IMAGE_THREADS).sentence

    assert "same number of the block" in sentence()
    got[:16, 16:32] = expected[:16, 16:32]
    assert "same number of the block" not in sentence()
