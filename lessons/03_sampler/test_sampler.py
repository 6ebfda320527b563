"""Checks of lesson 3. Random numbers have known answers, and are compared bit for bit."""

import numpy as np

from lessons import reference
from lessons.grading.judge.case import check

THREADS = "grid", 1, 128  # one per sample
DRAWS = 12  # samples whose coordinates are asked for, one by one
BIG_SEED, BIG_STEP = 0xB5297A4D_9B56C4E9, 0x68E31DA4_9E3779B9  # all of their 64 bits matter
# Three blocks have no equal shares of 257, and blocks that overlap do not reach its end.
SMALL_BATCH, RAGGED_BATCH = 37, 257  # samples
MANY_BLOCKS = 4_200  # samples: work that each block does again for all after it is too often
FULL_BATCH, FEW_SAMPLES = 16_384, 700
BATCHES = (SMALL_BATCH, 5, (9, 14, 3)), (RAGGED_BATCH, 400, (12, 5, 3))  # samples, step, image
PIXELS = (0, 19, 17), (30, 19, 17), (7, 47, 6)  # first pixel, height, width
BELOW = 30, 61, 67  # the same, with fewer pixels than MANY_BLOCKS


@check("random_uv")
def test_random_uv(case):
    for seed, step in ((BIG_SEED, BIG_STEP), (case.seed, 7)):
        got, again = draws(case, step, seed), draws(case, step, seed)
        case.require(
            bool((got == again).all()),
            "not a function",
            "the same sample, step and seed gave other numbers when asked again: a generator with "
            "a state (random, np.random) does that. Make them with philox4x32.",
        )
        case.expect(got, reference.draw_uv(DRAWS, step, seed), "uv")


@check("batch")
def test_batch(case):
    for batch, step, shape in BATCHES:
        check_batch(case, batch, step, shape)


@check("pixel_centres")
def test_pixel_centres(case):
    for first, height, width in PIXELS:
        check_centres(case, RAGGED_BATCH, first, height, width)
    check_centres(case, MANY_BLOCKS, *BELOW)


@check("float32")
def test_float32(case):
    check_batch(case, SMALL_BATCH, 2, (6, 7, 3))
    check_centres(case, RAGGED_BATCH, 0, 19, 17)


@check("large_batch")
def test_large_batch(case):
    check_batch(case, MANY_BLOCKS, 3, (15, 10, 3))
    batch = case.size(large=FULL_BATCH, small=FEW_SAMPLES)
    check_batch(case, batch, 3, (15, 10, 3), engine="large")


def draws(case, step, seed):
    """(DRAWS, 2): u and v of the first samples."""
    numbers = [tuple(map(np.uint64, (sample, step, seed))) for sample in range(DRAWS)]
    found = [[float(one) for one in case.call("random_uv", *given)] for given in numbers]
    return np.array(found)


def check_batch(case, batch, step, shape, engine=None):
    image = case.photo(shape)
    uv, target = case.output((batch, 2)), case.output((batch, 3))
    arguments = "launch_sample_batch", image, case.seed, step, uv, target
    counts = case.run(*arguments, engine=engine) if engine else case.measure(*arguments)
    expected_uv, expected = reference.sample(image, step, case.seed, batch)
    case.expect(uv, expected_uv, name="uv", threads=THREADS, tolerance=0)
    case.expect(target, expected, name="target", threads=THREADS)
    if counts:
        case.require_many_threads(counts, uv, THREADS)


def check_centres(case, batch, first, height, width):
    uv = case.output((batch, 2))
    counts = case.measure("launch_pixel_centres", first, width, height, uv)
    expected = reference.pixel_centres(width, height)[first : first + batch]
    below = uv.array[len(expected) :]
    case.expect(uv.array[: len(expected)] if len(below) else uv, expected, "uv", THREADS)
    case.require(
        not (below == uv.sentinel).any() and bool(np.isfinite(below).all()),
        "below the picture",
        f"uv[{len(expected)}] and later rows belong to pixels below the picture of {width} x "
        f"{height}. uv has a row for each, and the network is asked about all rows: any finite "
        "coordinate will do, but one has to be stored. The guard is about uv alone.",
    )
    case.require_many_threads(counts, uv, THREADS)
