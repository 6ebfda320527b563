"""Findings that have one cause are told once, and a second barrier not where rounds take turns."""

from lessons.grading.explain.messages import TWO_STEPS, lines_of_findings
from lessons.grading.worker.outcome import Found

UNWRITTEN = "in total (exercise.py): {}[0, {}] is read by thread 0, but nobody has written it yet"
ONE = "this is a read-modify-write of sums[{}] in several steps: cuda.atomic.add makes it one step"
TWO = "both lines change an element in several steps, and one of the changes is lost"
BARRIER = "put cuda.syncthreads() between them"
EARLY = "the barrier between lines 3 and 5 is not enough, because the next round begins without one"
SECOND = "put a second cuda.syncthreads() at the end of the loop of line 2"


def unwritten(line, array, column):
    return Found("uninitialised", line, UNWRITTEN.format(array, column), True)


def race(line, other, advice, did="reads"):
    said = f"thread 0 writes sums[1], thread 3 {did} it (line {other}), and nothing puts the two "
    return Found("race", line, f"{said}in order: {advice}", True)


def told(*findings):
    return lines_of_findings(findings, [])


def test_an_array_that_nobody_has_written_is_told_once_with_the_other_lines():
    found = [unwritten(4, "shares", 5), unwritten(4, "deltas", 5)]
    found += [unwritten(3, "shares", 6), unwritten(2, "shares", 7), unwritten(3, "deltas", 6)]
    first, others, second, other = told(*found)
    assert "shares[0, 5]" in first and others == "  so it is in lines 2 and 3"
    assert "deltas[0, 5]" in second and other == "  so it is in line 3"


def test_arrays_of_two_functions_are_told_each():
    elsewhere = Found("uninitialised", 9, "shares[0, 5] is read by thread 0", True)
    assert len(told(unwritten(4, "shares", 5), elsewhere)) == 2


def test_one_advice_on_one_line_is_told_once():
    stays = "sums[1] is written by thread 0 and by thread 3, and only one of them stays: "
    both = Found("race", 7, stays + ONE.format(1), True)
    assert len(told(race(7, 7, ONE.format(1)), both)) == 1


def test_two_lines_that_race_by_themselves_are_not_told_as_a_pair():
    alone = [race(7, 7, ONE.format(1)), race(8, 8, ONE.format(2))]
    assert len(told(alone[0], race(8, 7, TWO), alone[1])) == 2
    assert len(told(alone[0], race(8, 7, TWO))) == 2


def test_races_of_a_line_with_several_others_are_told_each():
    assert len(told(race(7, 4, BARRIER), race(7, 9, BARRIER))) == 2
    assert len(told(race(7, 4, BARRIER), race(4, 7, BARRIER))) == 1


def test_a_race_with_an_atomic_is_told_once_for_two_lines():
    atomic = race(7, 9, BARRIER, did="changes")
    changed = atomic.message.replace("changes it", "changes it atomically")
    assert len(told(atomic._replace(message=changed), race(9, 7, BARRIER))) == 1


def test_two_steps_that_should_be_one_are_told_once():
    steps = f"cuda.atomic.add(a, 0, 0) only asks what a[0] holds, and before line 9 {TWO_STEPS}"
    assert len(told(race(9, 7, steps), race(9, 9, steps))) == 1
    assert len(told(race(9, 7, BARRIER), race(9, 9, BARRIER))) == 2


def test_what_is_left_out_is_counted_by_its_causes():
    found = [race(line, line, ONE.format(line)) for line in range(1, 7)]
    assert told(*found, *found)[-1] == "and 2 more"


def test_indices_outside_of_one_array_are_told_once_if_the_same_is_said():
    outside = "own[64] is outside its shape (64,): axis 0 has only the indices 0 to 63; thread 0"
    other = outside.replace("own", "more")
    found = [Found("out-of-bounds", line, outside, True) for line in (4, 9, 7)]
    assert told(*found)[1:] == ["  so it is in lines 7 and 9"]
    assert len(told(found[0], Found("out-of-bounds", 9, other, True))) == 2
    assert len(told(found[0], found[1]._replace(message=outside + " of block 1"))) == 2
