"""Which numbers of a sum are taken too often, or by nobody, and in which words that is told."""

import numpy as np
import pytest

from lessons.grading.advice.shared_out import Launch, Way, covered, shared_out, taken, told


def prefix(size, length):
    return (np.arange(size) < length).astype(int)


@pytest.mark.parametrize(
    ("launch", "times", "words"),
    [
        (
            Launch(4097, 2, 256, 16),
            covered(256, 4096, Launch(4097, 2, 256, 16)),
            "Pixels 256 to 4095 are counted twice. It is so if block b begins at number 256 * b "
            "and goes over 4,096",
        ),
        (
            Launch(8269, 3, 256, 16),
            3 * prefix(8269, 2816),
            "Pixels 2816 to 8268 are counted by no thread; pixels 0 to 2815 are counted 3 times. "
            "It is so if every block goes over the first 2,816.",
        ),
        (
            Launch(1000, 1, 256, 16),
            prefix(1000, 768),
            "Pixels 768 to 999 are counted by no thread. Does each thread take as many as all "
            "others? What is left over is needed, too.",
        ),
        (
            Launch(8269, 3, 256, 16),
            prefix(8269, 4096),
            "Pixels 4096 to 8268 are counted by no thread. Those are all but the first block's",
        ),
        (
            Launch(1000, 1, 256, 16),
            1 - prefix(1000, 1),
            "Number 0 of the pixels is counted by no thread.",
        ),
        (
            Launch(1000, 1, 256, 16),
            1 + prefix(1000, 256),
            "Pixels 0 to 255 are counted twice.",
        ),
        (
            Launch(1000, 1, 256, 16),
            2 - prefix(1000, 128),
            "Pixels 128 to 999 are counted twice.",
        ),
    ],
)
def test_usual_ways_are_found_and_told(launch, times, words):
    (ways,) = [ways for way, ways in shared_out(launch) if (way == times).all()]
    assert told(times, launch, "pixels", "counted", ways).startswith(words)


@pytest.mark.parametrize(
    ("launch", "first", "step", "rounds", "words"),
    [
        (
            Launch(1000, 1, 256, 16), lambda block, thread: thread, 1, 16,
            " It is so if a thread begins at its own number and takes 16 in a row from there: "
            "threads that take 16 in a row begin 16 apart.",
        ),
        (
            Launch(12188, 3, 256, 16), lambda block, thread: block * 256 + thread, 1, 16,
            " It is so if a thread begins at its number in the grid and takes 16 in a row",
        ),
        (
            Launch(12188, 3, 256, 16), lambda block, thread: block * 256 + thread + 1, 768, 16,
            " It is so if a thread begins at its number in the grid plus 1 and takes all in steps "
            "of 768.",
        ),
    ],
)  # fmt: skip
def test_the_only_way_that_fits_is_told(launch, first, step, rounds, words):
    block, thread = (part.ravel() for part in np.indices((launch.blocks, launch.threads)))
    times = taken(first(block, thread), step, rounds, launch.size)
    (ways,) = [ways for way, ways in shared_out(launch) if (way == times).all()]
    assert words in told(times, launch, "pixels", "counted", ways)


def test_no_way_is_told_of_two_that_fit():
    launch = Launch(1000, 1, 256, 16)
    two = [Way("its own number", 2, 16), Way("16 times its own number", 1, 16)]
    assert told(1 + prefix(1000, 5), launch, "pixels", "counted", two).endswith("counted twice.")


@pytest.mark.parametrize(("size", "blocks"), [(1, 1), (1000, 1), (4097, 2), (12188, 3)])
def test_the_right_way_is_none_of_the_wrong_ones(size, blocks):
    for times, _ in shared_out(Launch(size, blocks, 256, 16)):
        assert len(times) == size and (times != 1).any()


def test_scattered_numbers_are_told_by_their_step_or_counted():
    launch = Launch(1000, 1, 256, 16)
    times = np.ones(1000, int)
    times[15::16] = 0
    said = told(times, launch, "values", "added")
    assert said == "Values 15, 31, 47 and so on up to 991 are added by no thread."
    times[[1, 2, 8]] = 0
    said = told(times, launch, "values", "added")
    assert said == "65 of 1,000 values, from number 1 on, are added by no thread."
