"""Checks of lesson 1. Pictures are not square, no multiple of a block, and all pixels differ."""

import numpy as np

from lessons import reference
from lessons.grading.judge.case import check

THREADS = "grid", 2, (16, 16)  # one per pixel
# (height, width) in pixels.
ONE_BLOCK = (9, 14), (1, 1), (16, 16)  # in the last, no thread lies beyond the edge
SEVERAL_BLOCKS = (20, 37), (37, 21), (33, 64)
COUNTED = 85, 70  # six blocks down and five across: work done again per block is too often
TEN_BLOCKS = (3, 150), (150, 3)  # in a row: the same along one direction
WHOLE_PHOTO, SMALL_PHOTO = (549, 803), (49, 83)
ALLOWED_WRITES = 4  # per pixel; a sum in gray itself, channel by channel, is slow but right
ALLOWED_SHARE = 8  # times that 32 threads write, per 32 pixels
OUR_WRITES = 32 * 5 * 43 / (85 * 70)  # at the edges, some of the 32 threads have no pixel
OUR_SECTORS = 11.5  # per request, in the picture that is counted


@check("luminance")
def test_luminance(case):
    colours = np.vstack([np.eye(3, dtype=np.float32), case.random((13, 3))])
    got = np.array([case.call("luminance", *map(float, colour)) for colour in colours])
    case.expect(got, reference.grayscale(colours), name="luminance")


@check("every_pixel")
def test_every_pixel(case):
    for shape in ONE_BLOCK:
        check_picture(case, shape)


@check("many_blocks")
def test_many_blocks(case):
    for shape in SEVERAL_BLOCKS:
        check_picture(case, shape)


@check("one_thread_per_pixel")
def test_one_thread_per_pixel(case):
    counts, image, gray = measure(case, COUNTED)
    expect_gray(case, image, gray)
    limit_writes(case, counts, gray)
    limit_idle_threads(case, counts, gray)
    image_reads = counts.of(image)
    case.compare(
        "sectors per request, where image is read",
        yours=image_reads.sectors / max(1, image_reads.requests),
        ours=OUR_SECTORS,
    )
    for shape in TEN_BLOCKS:
        counts, _, gray = measure(case, shape)
        limit_writes(case, counts, gray)


@check("float32")
def test_float32(case):
    check_picture(case, (18, 37))


@check("whole_photo")
def test_whole_photo(case):
    image, gray = picture(case, case.size(large=WHOLE_PHOTO, small=SMALL_PHOTO))
    case.run("launch_over_pixels", case.student("grayscale"), image, gray, engine="large")
    expect_gray(case, image, gray)


def check_picture(case, shape):
    counts, image, gray = measure(case, shape)
    expect_gray(case, image, gray)
    case.require_many_threads(counts, gray)


def measure(case, shape):
    image, gray = picture(case, shape)
    return case.measure("launch_over_pixels", case.student("grayscale"), image, gray), image, gray


def picture(case, shape):
    return case.photo((*shape, 3)), case.output(shape)


def expect_gray(case, image, gray):
    case.expect(gray, reference.grayscale(image), name="gray", threads=THREADS)


def limit_writes(case, counts, gray):
    writes = counts.of(gray).writes / gray.array.size
    case.budget(
        "writes per pixel",
        yours=writes,
        ours=1,
        allowed=ALLOWED_WRITES,
        diagnosis="written again and again",
        sentence=f"each pixel of gray is written {writes:.3g} times on average: a thread writes "
        "its own pixel, once, and no other. Does a loop go over pixels of other threads?",
        line=counts.busiest_line("writes", gray),
    )


def limit_idle_threads(case, counts, gray):
    together = counts.of(gray).writes / counts.of(gray).requests
    case.budget(
        "times that 32 threads write together, per 32 pixels",
        yours=32 / together,
        ours=OUR_WRITES,
        allowed=ALLOWED_SHARE,
        diagnosis="threads without work",
        sentence=f"of 32 threads that run together, {together:.1f} write a pixel: a thread should "
        "have its own pixel, and no loop over a row or over the picture; and blocks should have "
        "many threads.",
        line=counts.busiest_line("writes", gray),
    )
