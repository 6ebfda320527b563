"""A race with a line of a function that is called from several places."""

import pytest

from lessons.grading.advice.race_of_a_call import where_the_barrier_belongs

SOURCE = """
def total_of(row):
    return row[0] + row[1]

def add_to(row, out):
    cuda.atomic.add(out, 0, total_of(row))

def kernel(out):
    row[t] = 1
    cuda.syncthreads()
    add_to(row, out)
    row[t] = 2
    cuda.syncthreads()
    out[1] = total_of(row)
""".splitlines()[1:]
SAID = (
    "thread 0 of block 0 writes row[0], thread 3 of block 0 reads it (line {} of {} (exercise.py))"
)
SAID += ", and nothing puts the two in order: put cuda.syncthreads() between them"


def told(source, line=11, other=2, name="total_of"):
    return where_the_barrier_belongs(line, SAID.format(other, name), source)


def test_the_call_is_told_that_no_barrier_divides():
    assert told(SOURCE) == (
        "line 2 runs here in the call of line 10: the barrier belongs between the lines 10 and 11"
    )
    assert told(SOURCE, 2, 11, "kernel") == told(SOURCE)


@pytest.mark.parametrize("line, text", [(12, "    pass"), (11, "    pass # row[t] = 2")])
def test_of_two_calls_none_is_told(line, text):
    source = list(SOURCE)
    source[line - 1] = text
    source[11] = "    pass"
    assert told(source) == ""


def test_a_loop_has_another_round():
    loop = [*SOURCE[:9], "    for n in range(3):"]
    loop += [f"    {line}" for line in SOURCE[9:12]]
    assert told(loop, 12) == ""


def test_a_barrier_within_a_call_may_be_behind_it():
    source = [*SOURCE]
    source[1] = "    a = row[0]; cuda.syncthreads(); return a"
    assert told(source) == ""


def test_another_advice_tells_nothing():
    said = SAID.format(2, "total_of").replace("between them", "before the loop")
    assert where_the_barrier_belongs(11, said, SOURCE) == ""
