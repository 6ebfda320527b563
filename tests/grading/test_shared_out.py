"""Which numbers of a sum are taken too often, or by nobody, and in which words that is told."""

import numpy as np
import pytest

from lessons.grading.advice.shared_out import Launch, covered, shared_out, told


def prefix(size, length):
    return (np.arange(size) < length).astype(int)


@pytest.mark.parametrize(
    ("launch", "times", "words"),
    [
        (
            Launch(4097, 2, 256, 16),
            covered(256, 4096, Launch(4097, 2, 256, 16)),
            "Pixels 256 to 4095 are counted twice. So it is if block b begins at number 256 * b "
            "and goes over 4,096",
        ),
        (
            Launch(8269, 3, 256, 16),
            3 * prefix(8269, 2816),
            "Pixels 2816 to 8268 are counted by no thread; pixels 0 to 2815 are counted 3 times. "
            "So it is if every block goes over the first 2,816.",
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
    assert any((way == times).all() for way in shared_out(launch))
    assert told(times, launch, "pixels", "counted").startswith(words)


@pytest.mark.parametrize(("size", "blocks"), [(1, 1), (1000, 1), (4097, 2), (12188, 3)])
def test_the_right_way_is_none_of_the_wrong_ones(size, blocks):
    for times in shared_out(Launch(size, blocks, 256, 16)):
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
