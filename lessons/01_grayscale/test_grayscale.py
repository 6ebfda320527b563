"""Checks of lesson 1. Pictures are not square, no multiple of a block, and all pixels differ."""

import numpy as np

from lessons import reference
from lessons.grading.case import check

THREADS = ("grid", 2, (16, 16))


@check("luminance")
def test_luminance(case):
    colours = np.vstack([np.eye(3, dtype=np.float32), case.random((5, 3), low=0, high=1)])
    got = np.array([case.call("luminance", *map(float, colour)) for colour in colours])
    candidates = {
        "plain mean": colours.mean(axis=1),
        "swapped channels": reference.grayscale(colours[:, ::-1]),
    }
    case.expect(got, reference.grayscale(colours), name="luminance", candidates=candidates)


@check("every_pixel")
def test_every_pixel(case):
    # The last is as large as a block: there the guard has nothing to do, and must not do anything.
    for height, width in ((9, 14), (1, 1), (16, 16)):
        make_gray(case, height, width)


@check("many_blocks")
def test_many_blocks(case):
    for height, width in ((20, 37), (37, 21), (33, 64)):
        make_gray(case, height, width)


@check("whole_photo")
def test_whole_photo(case):
    make_gray(case, 549, 803, engine="native")


def make_gray(case, height, width, engine=None):
    image = case.random((height, width, 3), low=0, high=1)
    gray = case.output((height, width))
    case.run("launch_over_pixels", case.student("grayscale"), image, gray, engine=engine)
    case.expect(gray, reference.grayscale(image), name="gray", threads=THREADS)
