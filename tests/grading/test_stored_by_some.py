"""Why nobody has written what is read from shared memory: as far as a kernel's text tells it."""

import pytest

from lessons.grading.explain.messages import lines_of_findings
from lessons.grading.worker.outcome import Found

HELPER = """
def fetch(a, tile, row):
    if row >= a.shape[0]:
        return
    tile[cuda.threadIdx.x] = a[row]

def kernel(a, own):
    fetch(a, own, cuda.grid(1))
    x = own[3]
""".splitlines()[1:]


def advice(source, line, array="own"):
    said = f"{array}[3] is read by thread 0, but nobody has written it yet; shared memory starts"
    return " ".join(lines_of_findings([Found("uninitialised", line, said, True)], source)[2:])


def test_threads_that_return_before_they_store_are_named():
    told = advice(HELPER, 8)
    assert "return in line 3 never come to line 4" in told
    plain = [line.replace("return", "pass") for line in HELPER]
    assert not advice(plain, 8)


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


LOADING = """
def kernel(a):
    for s in range(row, 64, 16):
        if first + s >= a.shape[0]:
            {leave}
        own[s] = a[first + s]
    {wait}
    x = own[3]
""".splitlines()[1:]


def loading(leave, wait="cuda.syncthreads()"):
    return [line.replace("{leave}", leave).replace("{wait}", wait) for line in LOADING]


@pytest.mark.parametrize("leave", ["break", "continue"])
def test_rounds_that_are_left_out_are_told(leave):
    told = advice(loading(leave), 7)
    assert f"`{leave}` of line 4" in told and "line 5, which stores into own" in told
    assert not advice(loading("pass"), 7)


def test_of_two_reasons_the_nearer_is_told_and_of_ones_own_memory_none_elsewhere():
    body = [f"    {line}" for line in loading("continue")[1:5]]
    source = ["def kernel(a):", "    if busy:", *body, "    x = own[3]"]
    message = "own[3] is read by thread 0, but nobody has written it yet"
    told = lines_of_findings([Found("uninitialised", 7, message, True)], source, {7: "given"})
    assert "`continue` of line 5" in told[-1]  # and not the line that `given` is right
    outside = [*source[:6], "", "def use(own):", "    x = own[3]"]
    assert "line 6" in advice(outside, 9)
    local = [Found("uninitialised", 9, f"{message}; local memory", True)]
    assert "line 6" not in "".join(lines_of_findings(local, outside))


def test_the_end_of_an_endless_loop_leaves_nothing_out():
    endless = [line.replace("for s in range(row, 64, 16)", "while True") for line in LOADING]
    assert not advice([line.replace("{leave}", "break") for line in endless], 7)


def said(source, question):
    message = (
        f"own[3] is read by thread 0, but nobody has written it yet; shared memory: {question}"
    )
    return lines_of_findings([Found("uninitialised", 7, message, True)], source)[0]


def test_a_barrier_is_not_asked_for_where_one_stands():
    question = "is a barrier or a store missing?"
    assert question not in said(loading("break"), question)
    assert question in said(loading("break", "pass"), question)
    assert question in said(loading("pass"), question)  # nothing else is told


def test_a_guard_is_not_asked_for_where_none_stands():
    question = "is it stored at other places, or does a guard stop the store?"
    without = ["def kernel(a):", "    own[a] = 0", "", "", "", "", "    x = own[3]"]
    assert "guard" not in said(without, question)
    without[1] = "    if a < 3: own[a] = 0"
    without[4] = "    own[7 - a] = 0"
    assert "guard" in said(without, question)


def test_a_barrier_of_a_warp_between_the_lines_of_a_race_is_told():
    source = ["def kernel(a):", "    own[t] = 0", "    cuda.syncwarp()", "    x = own[3]"]
    race = "thread 0 of block 0 reads own[3], thread 40 of block 0 writes it (line 2), and nothing "
    race += "puts the two in order: put cuda.syncthreads() between them"
    told = lines_of_findings([Found("race", 4, race, True)], source)[-1]
    assert "cuda.syncwarp() in line 3" in told
    source[2] = "    pass"
    assert len(lines_of_findings([Found("race", 4, race, True)], source)) == 2


CALLED = """
def fill(s, t, value):
    for channel in range(3):
        s[channel, t] = value

def kernel(gradient):
    own = cuda.shared.array((3, 32), float32)
    if cuda.grid(1) < 5:
        fill(own, cuda.threadIdx.x, 1)
    x = own[0, 3]
""".splitlines()[1:]


def test_a_call_that_stores_is_a_store():
    assert "line 8 stores into own only where the `if` of line 7 lets it" in advice(CALLED, 9)
    every_thread = [line.replace("if cuda.grid(1) < 5:", "while True:") for line in CALLED]
    assert not advice(every_thread, 9)
    elsewhere = [line.replace("s[channel, t] =", "total =") for line in CALLED]
    assert not advice(elsewhere, 9)
