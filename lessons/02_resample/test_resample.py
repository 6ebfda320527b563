"""Checks of lesson 2. No size is a multiple of another, and no picture is square."""

from functools import partial

import numpy as np

from lessons import reference
from lessons.grading.judge.case import check

THREADS = "grid", 2, (16, 16)  # one per pixel of the result
NEIGHBOURS_OF = 7, 4, 1, 50  # pixels in a row
COORDINATES = 0.0, 0.12, 0.3, 0.5, 0.75, 0.85, 0.999  # and four random ones
OVERLAPS = (5, 14), (3, 4), (4, 4)  # cells, texels
# (height, width) in pixels, of the small picture and of the large one.
UPSAMPLED = ((5, 7), (20, 33)), ((4, 3), (9, 14)), ((1, 1), (3, 5))
# Of the last two a cell touches 20 pixels in a row: more than a thread would keep.
DOWNSAMPLED = (
    ((19, 23), (7, 9)),
    ((8, 40), (4, 20)),
    ((33, 20), (18, 17)),
    ((4, 59), (3, 3)),
    ((59, 4), (3, 3)),
)
COUNTED = (36, 51), (12, 17)  # a small pixel covers 3 x 3 large ones, which no other covers
THIN = (3, 530), (530, 3)  # 34 blocks in a row: work done again per block is too often
ALLOWED_READS = 4  # of each number of the image, where one is enough
LARGE_PHOTO, SMALL_PHOTO = ((137, 203), (37, 51)), ((33, 41), (9, 13))


@check("between_pixels")
def test_between_pixels(case):
    for size in NEIGHBOURS_OF:
        coordinates = np.append(COORDINATES, case.random(4)).astype(np.float32)
        got = np.array([case.call("neighbours", u, size) for u in coordinates], np.float64)
        case.expect(got, neighbours(coordinates, size), "neighbours")
    fractions = case.random((5, 2))
    got = np.array([case.call("corner_weights", x, y) for x, y in fractions])
    x, y = fractions.astype(np.float64).T
    corners = np.stack([(1 - x) * (1 - y), x * (1 - y), (1 - x) * y, x * y], axis=1)
    case.expect(got, corners, "corner_weights")


@check("upsample")
def test_upsample(case):
    for small_shape, shape in UPSAMPLED:
        small = case.photo((*small_shape, 3))
        counts, large = upsample(case, small, shape, case.measure)
        case.require_many_threads(counts, large)
    share_thin_pictures(case, "upsample", (2, 3, 3))


@check("overlap")
def test_overlap(case):
    for cells, texels in OVERLAPS:
        pairs = [(c, t) for c in range(cells) for t in range(texels)]
        pairs = [(c, t) for c, t in pairs if length(c, cells, t, texels) > 0]
        got = np.array([case.call("overlap", c, cells, t, texels) for c, t in pairs])
        expected = np.array([length(c, cells, t, texels) for c, t in pairs])
        case.expect(got, expected, "overlap")


@check("downsample")
def test_downsample(case):
    for shape, small_shape in DOWNSAMPLED:
        counts, image, small = downsample(case, shape, small_shape, case.measure)
        case.require_many_threads(counts, small)
    got = [case.call("area_average", image, x, 1, *small_shape[::-1], 2) for x in range(3)]
    case.expect(got, small.array[1, :, 2], "area_average")
    share_thin_pictures(case, "downsample", (4, 4, 3))


@check("only_its_cell")
def test_only_its_cell(case):
    counts, image, _ = downsample(case, *COUNTED, case.measure)
    reads = counts.of(image).reads / image.size
    case.budget(
        "reads of each number of the image",
        yours=reads,
        ours=1,
        allowed=ALLOWED_READS,
        diagnosis="read again and again",
        sentence=f"each number of the image is read {reads:.0f} times. Does a thread look at "
        "pixels that its cell does not touch, or at each of its own again and again? One thread "
        "needs each number of its cell once, and the others need none.",
        line=counts.busiest_line("reads", image),
    )


@check("float32")
def test_float32(case):
    downsample(case, (9, 8), (4, 5), case.run)
    upsample(case, case.photo((9, 8, 3)), (7, 9), case.run)


@check("baseline")
def test_baseline(case):
    shape, small_shape = case.size(large=LARGE_PHOTO, small=SMALL_PHOTO)
    run = partial(case.run, engine="large")
    _, _, small = downsample(case, shape, small_shape, run)
    upsample(case, small.array.copy(), shape, run)


def upsample(case, small, shape, run):
    """Returns (counts, if `run` is `case.measure`; the result)."""
    large = case.output((*shape, 3))
    counts = run("launch_over_pixels", case.student("upsample"), small, large)
    height, width = shape
    case.expect(large, reference.bilinear_upsample(small, width, height), "large", THREADS)
    return counts, large


def downsample(case, shape, small_shape, run):
    """Returns (counts, if `run` is `case.measure`; the image; the result)."""
    image, small = case.photo((*shape, 3)), case.output((*small_shape, 3))
    counts = run("launch_over_pixels", case.student("downsample"), image, small)
    height, width = small_shape
    case.expect(small, reference.area_downsample(image, width, height), "small", THREADS)
    return counts, image, small


def share_thin_pictures(case, kernel, source):
    for shape in THIN:
        image, result = case.photo(source), case.output((*shape, 3))
        counts = case.measure("launch_over_pixels", case.student(kernel), image, result)
        case.require_many_threads(counts, result, THREADS)


def neighbours(coordinates, size):
    """(number, 3): low, high and the fraction between their centres."""
    position = coordinates.astype(np.float64) * size - 0.5
    low = np.floor(position)
    clamped = np.maximum(low, 0), np.minimum(low + 1, size - 1)
    return np.stack([*clamped, position - low], axis=1)


def length(cell, cells, texel, texels):
    """How much of a texel a cell covers, in texels; both fill the line from 0 to 1."""
    begin = max(cell / cells, texel / texels)
    end = min((cell + 1) / cells, (texel + 1) / texels)
    return (end - begin) * texels if end - begin > 1e-9 else 0.0
