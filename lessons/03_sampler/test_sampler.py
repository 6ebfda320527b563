"""Checks of lesson 3. Random numbers have known answers, and are compared bit for bit."""

import numpy as np

from lessons import reference
from lessons.grading.case import check

THREADS = ("grid", 1, 128)
SMALL_BATCH, RAGGED_BATCH, FULL_BATCH = 37, 150, 16_384
BIG = (1 << 40) + 12345  # a seed and a step that need more than 32 bits


@check("random_uv")
def test_random_uv(case):
    for seed, step in ((case.seed, 7), (BIG, BIG + 1)):
        got = np.array([draw(case, sample, step, seed) for sample in range(12)])
        expected = reference.draw_uv(12, step, seed)
        again = np.array([draw(case, sample, step, seed) for sample in range(12)])
        case.require(
            bool((got == again).all()),
            "not a function",
            "the same sample, step and seed gave other numbers when asked again: a generator with "
            "a state (random, np.random) does that. Make them with philox4x32.",
        )
        candidates = {
            code: (alter(12, step, seed), sentence)
            for code, (alter, sentence) in KNOWN_DRAWS.items()
        }
        case.expect(got, expected, name="uv", candidates=candidates)


@check("batch")
def test_batch(case):
    for batch, step, shape in ((SMALL_BATCH, 1, (9, 14, 3)), (RAGGED_BATCH, 400, (12, 5, 3))):
        check_batch(case, batch, step, shape)


@check("float32")
def test_float32(case):
    check_batch(case, SMALL_BATCH, 2, (6, 7, 3))
    check_centres(case, 0, 11, 17)


@check("large_batch")
def test_large_batch(case):
    batch = case.size(native=FULL_BATCH, checked=700)
    check_batch(case, batch, 3, (15, 10, 3), engine="native")


@check("pixel_centres")
def test_pixel_centres(case):
    for first, height, width in ((0, 11, 17), (30, 11, 17), (7, 29, 6)):
        check_centres(case, first, height, width)


def check_centres(case, first, height, width):
    uv = case.output((RAGGED_BATCH, 2))
    counts = case.measure("launch_pixel_centres", first, width, height, uv)
    part = slice(first, first + RAGGED_BATCH)
    expected = reference.pixel_centres(width, height)[part]
    number = np.arange(RAGGED_BATCH)
    numbers = number + first
    half = np.array([0.5 / width, 0.5 / height])
    candidates = {
        "corner": (
            expected - half,
            "These are the corners of the pixels: their centres are half a pixel further.",
        ),
        "axes exchanged": (expected[:, ::-1], "u and v are exchanged."),
        "divided by height": (
            centres(numbers % width, np.minimum(numbers // height, height - 1), width, height),
            "The row is pixel // width: a row has `width` pixels.",
        ),
        "column by column": (
            centres(numbers // height, numbers % height, width, height),
            "The pixels are counted down the columns: they go row by row.",
        ),
        "not divided": (
            expected * [width, height],
            "These are numbers of pixels: divide by the width and by the height.",
        ),
        "one column late": (
            expected + np.array([1 / width, 0]),
            "Everything is one pixel too far to the right: pixels are counted from 0.",
        ),
    }
    if width != 17:
        candidates["always 17 wide"] = (
            centres(numbers % 17, np.minimum(numbers // 17, height - 1), 17, height),
            f"The width 17 is written in; this picture is {width} wide.",
        )
    if first:
        candidates["first pixel ignored"] = (
            centres(number % width, number // width, width, height),
            "The pixels are counted from 0: the first one of this part is first_pixel.",
        )
        for code, start in (("offset from the front", 0), ("offset twice", first)):
            moved = np.full(expected.shape, float(uv.sentinel))
            later = number[: len(moved) - first] + start
            moved[first:] = centres(later % width, later // width, width, height)
            candidates[code] = (
                moved,
                "first_pixel belongs to the number of the pixel; the results begin at uv[0].",
            )
        candidates["first pixel subtracted"] = (
            centres((number - first) % width, (number - first) // width, width, height),
            "first_pixel is subtracted: add it.",
        )
    case.expect(uv, expected, name="uv", threads=THREADS, candidates=candidates)
    case.require_many_threads(counts, uv)


def centres(column, row, width, height):
    return np.stack([(column + 0.5) / width, (row + 0.5) / height], axis=1)


def check_batch(case, batch, step, shape, engine=None):
    image = case.photo(shape)
    uv, target = case.output((batch, 2)), case.output((batch, 3))
    arguments = image, case.seed, step, uv, target
    counts = None
    if engine:
        case.run("launch_sample_batch", *arguments, engine=engine)
    else:
        counts = case.measure("launch_sample_batch", *arguments)
    expected_uv, expected = reference.sample(image, step, case.seed, batch)
    known = {
        code: (alter(batch, step, case.seed), sentence)
        for code, (alter, sentence) in KNOWN_DRAWS.items()
        if batch <= RAGGED_BATCH
    }
    case.expect(uv, expected_uv, name="uv", threads=THREADS, tolerance=0, candidates=known)
    height, width, _ = shape
    rows = np.minimum((expected_uv[:, 1] * height).astype(int), height - 1)
    columns = np.minimum((expected_uv[:, 0] * width).astype(int), width - 1)
    candidates = {
        "nearest pixel": (
            image[rows, columns],
            "Each sample got the colour of the nearest pixel: it should be a blend of four.",
        ),
        "axes exchanged": (
            reference.bilinear(image, expected_uv[:, ::-1]),
            "u and v are exchanged in the lookup: u goes to the right, v down.",
        ),
        "red and blue exchanged": (expected[:, ::-1], "Red and blue are exchanged."),
        "nothing but red": (expected[:, [0, 0, 0]], "All three channels hold red."),
    }
    if batch <= RAGGED_BATCH:
        _, next_colours = reference.sample(image, step + 1, case.seed, batch)
        candidates["colours of other points"] = (
            next_colours,
            "These are the colours of the next step's points: draw once, and look up that point.",
        )
    case.expect(target, expected, name="target", threads=THREADS, candidates=candidates)
    if counts:
        case.require_many_threads(counts, uv)


# ---------------------------------------------------------------- draws, right and wrong


def draw(case, sample, step, seed):
    numbers = map(np.uint64, (sample, step, seed))
    return [float(number) for number in case.call("random_uv", *numbers)]


def words(batch, step, seed, counter=None):
    """(B, 4) random words; counter: sample -> the four counters."""
    low = 0xFFFFFFFF
    key = seed & low, seed >> 32
    counter = counter or (lambda sample: (sample, step & low, step >> 32, 0))
    return np.array([reference.philox4x32(counter(sample), key) for sample in range(batch)])


def as_unit(pair, bits=24):
    return np.asarray(pair, np.float64) // 2 ** (32 - bits) / 2**bits


def step_ignored(batch, step, seed):
    return as_unit(words(batch, 0, seed)[:, :2])


def seed_ignored(batch, step, seed):
    return as_unit(words(batch, step, 0)[:, :2])


def one_word(batch, step, seed):
    return as_unit(words(batch, step, seed)[:, [0, 0]])


def exchanged(batch, step, seed):
    return as_unit(words(batch, step, seed)[:, [1, 0]])


def all_bits(batch, step, seed):
    values = words(batch, step, seed)[:, :2].astype(np.float32) * np.float32(2.0**-32)
    return values.astype(np.float64)


def one_block(batch, step, seed):
    drawn = words(batch, step, seed, lambda i: (i % 128, step % 2**32, step >> 32, 0))
    return as_unit(drawn[:, :2])


def other_order(batch, step, seed):
    drawn = words(batch, step, seed, lambda i: (step % 2**32, i, step >> 32, 0))
    return as_unit(drawn[:, :2])


def upper_halves_lost(batch, step, seed):
    return as_unit(words(batch, step % 2**32, seed % 2**32)[:, :2])


def other_words(batch, step, seed):
    return as_unit(words(batch, step, seed)[:, 2:])


def not_shifted(batch, step, seed):
    values = words(batch, step, seed)[:, :2].astype(np.float32) * np.float32(2.0**-24)
    return values.astype(np.float64)


def lower_bits(batch, step, seed):
    return (words(batch, step, seed)[:, :2] % 2**24) / 2**24


def too_many_bits(batch, step, seed):
    values = (words(batch, step, seed)[:, :2] // 2**7).astype(np.float32) * np.float32(2.0**-25)
    return values.astype(np.float64)


def whole_numbers(batch, step, seed):
    return (words(batch, step, seed)[:, :2] // 2**8).astype(np.float64)


def seed_and_step_exchanged(batch, step, seed):
    return as_unit(words(batch, seed, step)[:, :2])


def sample_ignored(batch, step, seed):
    drawn = words(batch, step, seed, lambda i: (0, step % 2**32, step >> 32, 0))
    return as_unit(drawn[:, :2])


def from_one(batch, step, seed):
    return as_unit(words(batch + 1, step, seed)[1:, :2])


KNOWN_DRAWS = {
    "other words": (other_words, "These are the third and fourth word: take the first two."),
    "not shifted": (
        not_shifted,
        "The words are not shifted: a word has 32 bits, and >> 8 keeps the upper 24.",
    ),
    "lower bits": (lower_bits, "These are the lower 24 bits of a word: word >> 8 keeps the upper."),
    "25 bits": (too_many_bits, "25 bits are kept: a float32 holds 24, so shift by 8."),
    "whole numbers": (
        whole_numbers,
        "These are whole numbers: float32(word >> 8) times 2**-24 lies in [0, 1).",
    ),
    "seed and step exchanged": (
        seed_and_step_exchanged,
        "Seed and step are exchanged: the seed is the key, the step the second and third counter.",
    ),
    "sample ignored": (
        sample_ignored,
        "All samples are the same point: the first counter has to be the sample.",
    ),
    "counted from one": (from_one, "The samples are counted from 1: the first is number 0."),
    "step ignored": (
        step_ignored,
        "The same points in every step: the step has to be one of Philox's counters.",
    ),
    "seed ignored": (
        seed_ignored,
        "The same points for every seed: the seed is Philox's key.",
    ),
    "one word": (one_word, "u and v are the same number: take two of the four words."),
    "axes exchanged": (exchanged, "u and v are exchanged: u is made from the first word."),
    "32 bits": (
        all_bits,
        "A float32 holds 24 bits: more are rounded, sometimes up to 1.0, outside the picture.",
    ),
    "counters exchanged": (
        other_order,
        "The first counter is the sample, the second and third are the step.",
    ),
    "upper halves lost": (
        upper_halves_lost,
        "Only the lower 32 bits of step and seed are used: larger ones repeat what was there.",
    ),
    "same in every block": (
        one_block,
        "Every block draws the same points: threadIdx counts within a block.",
    ),
}
