"""Checks of lesson 3. Random numbers have known answers, and are compared bit for bit."""

import numpy as np

from lessons import reference
from lessons.grading.case import check

THREADS = ("grid", 1, 128)
SMALL_BATCH, RAGGED_BATCH, FULL_BATCH = 37, 150, 16_384
IMAGE_SHAPE = 9, 14, 3
BIG = (1 << 40) + 12345  # a seed and a step that need more than 32 bits


@check("random_uv")
def test_random_uv(case):
    for seed, step in ((case.seed, 7), (BIG, BIG + 1)):
        got = np.array([draw(case, sample, step, seed) for sample in range(12)])
        expected = reference.draw_uv(12, step, seed)
        candidates = {
            code: (alter(12, step, seed), sentence)
            for code, (alter, sentence) in KNOWN_DRAWS.items()
        }
        case.expect(got, expected, name="uv", candidates=candidates)


@check("batch")
def test_batch(case):
    for batch, step in ((SMALL_BATCH, 1), (RAGGED_BATCH, 400)):
        check_batch(case, batch, step)


@check("large_batch")
def test_large_batch(case):
    check_batch(case, FULL_BATCH, 3, engine="native")


@check("pixel_centres")
def test_pixel_centres(case):
    height, width = 11, 17
    for first in (0, 30):
        uv = case.output((RAGGED_BATCH, 2))
        case.run("launch_pixel_centres", first, width, height, uv)
        centres = reference.pixel_centres(width, height)
        candidates = {
            "corner": (
                centres[:RAGGED_BATCH] - [0.5 / width, 0.5 / height],
                "These are the corners of the pixels: their centres are half a pixel further.",
            ),
            "axes exchanged": (
                centres[first : first + RAGGED_BATCH, ::-1],
                "u and v are exchanged.",
            ),
        }
        if first:
            candidates["first pixel ignored"] = (
                centres[:RAGGED_BATCH],
                "The pixels are counted from 0: the first one of this part is first_pixel.",
            )
        expected = centres[first : first + RAGGED_BATCH]
        case.expect(uv, expected, name="uv", threads=THREADS, candidates=candidates)


def check_batch(case, batch, step, engine=None):
    image = case.random(IMAGE_SHAPE)
    uv, target = case.output((batch, 2)), case.output((batch, 3))
    case.run("launch_sample_batch", image, case.seed, step, uv, target, engine=engine)
    expected_uv, expected = reference.sample(image, step, case.seed, batch)
    known = {
        code: (alter(batch, step, case.seed), sentence)
        for code, (alter, sentence) in KNOWN_DRAWS.items()
        if batch <= RAGGED_BATCH
    }
    case.expect(uv, expected_uv, name="uv", threads=THREADS, tolerance=0, candidates=known)
    height, width, _ = IMAGE_SHAPE
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
    }
    case.expect(target, expected, name="target", threads=THREADS, candidates=candidates)


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


KNOWN_DRAWS = {
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
