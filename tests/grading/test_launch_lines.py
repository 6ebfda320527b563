"""Which line is shown of a launch that has too many blocks."""

import pytest

from lessons.grading.advice.launch_lines import line_of_blocks

LAUNCH = """def shrink_on_gpu(image):
    {first}
    {second}
    shrink[{configured}](image)
"""


@pytest.mark.parametrize(
    ("first", "second", "configured", "line"),
    [
        ("blocks = cover(image)", "pass", "blocks, BLOCK", 2),
        ("pass", "blocks = cover(image)", "blocks, BLOCK, queue", 3),
        ("blocks = cover(image)", "blocks = blocks[::-1]", "blocks, BLOCK", 4),
        ("blocks = cover(image)", "threads = 8, 8", "blocks, threads", 4),
        ("pass", "pass", "cover(image), BLOCK", 4),
    ],
)
def test_the_line_that_counts_the_blocks(first, second, configured, line):
    text = LAUNCH.format(first=first, second=second, configured=configured)
    assert line_of_blocks(4, text.splitlines()) == line


def test_a_file_that_cannot_be_read():
    assert line_of_blocks(4, ["def shrink(:"]) == 4
