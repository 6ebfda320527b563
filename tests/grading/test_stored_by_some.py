"""Why nobody has written what is read from shared memory: as far as a kernel's text tells it."""

import pytest

from lessons.grading.advice.messages import lines_of_findings
from lessons.grading.exchange.outcome import Found

HELPER = """
def fetch(a, tile, row):
    if row >= a.shape[0]:
        return
    tile[cuda.threadIdx.x] = a[row]

def kernel(a, own):
    fetch(a, own, cuda.grid(1))
    x = own[3]
""".splitlines()[1:]
BY_BLOCK = """
def kernel(a):
    own = cuda.shared.array((2, 32), float32)
    unit = cuda.blockIdx.y * 16 + cuda.threadIdx.x
    own[1 - now, {index}] = a[unit]
    x = own[0, 3]
""".splitlines()[1:]


def advice(source, line, array="own"):
    said = f"{array}[3] is read by thread 0, but nobody has written it yet; shared memory starts"
    return " ".join(lines_of_findings([Found("uninitialised", line, said, True)], source)[2:])


def test_threads_that_return_before_they_store_are_named():
    told = advice(HELPER, 8)
    assert "return in line 3 never come to line 4" in told
    plain = [line.replace("return", "pass") for line in HELPER]
    assert not advice(plain, 8)


@pytest.mark.parametrize(
    "index, told", [("unit", True), ("unit % 16", False), ("unit - first", False)]
)
def test_an_index_of_the_grid_in_shared_memory_is_named(index, told):
    source = [line.replace("{index}", index) for line in BY_BLOCK]
    found = advice(source, 5)
    assert ("made of cuda.blockIdx.y (line 3)" in found) == told


def test_a_guard_of_one_block_is_told_as_that():
    source = [
        "def kernel(a):",
        "    if cuda.blockIdx.x == 0:",
        "        own[t] = 0",
        "    x = own[t]",
    ]
    said = "own[3] is read by thread 0 of block 1; shared memory starts with garbage"
    told = lines_of_findings([Found("uninitialised", 4, said, True)], source)[-1]
    assert "each has to store" in told
    source[1] = "    if t < 3:"
    told = lines_of_findings([Found("uninitialised", 4, said, True)], source)[-1]
    assert "what is to stand there" in told
