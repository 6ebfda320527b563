"""Whoever does what a message says does not read the same again, and most have mended it then."""

import pytest

from lessons.course.lesson import find_lesson, lessons
from lessons.course.mistakes import bare_functions, entries_of_kind, file_of, find_entry
from lessons.grading.explain.messages import without_atomics
from lessons.grading.worker.outcome import Found
from tests.grading.grade import grade
from tests.grading.obeying import Text, essence, obeyed

MOST_STEPS = 8
# lesson, mistake: with what is said of it mended, all is right
MENDED = """
1 double_weights
"""
MENDED_SLOWLY = """
5 total_is_an_int
5b second_barrier_missing
5b barrier_among_the_active
5b counted_without_atomic
5b old_count_stored_back
8 cells_in_steps_of_a_block
11 next_column_too_early
11 next_round_too_early
11 totals_not_waited_for
14 second_barrier_missing
"""
CHANGE = "this is a read-modify-write of c[i, j] in several steps, and one of the changes is lost"
OWNER = "let one thread have the element: it adds up in a variable, and stores once"


@pytest.fixture(scope="module")
def workers(warm):
    found = warm.new_pool(trusted=True)
    yield found
    found.stop()


def said_in_turn(lesson, entry, workers):
    """What each run says, until there is nothing that can be done; "" for one that passes."""
    text, said = Text(file_of(lesson, entry)), []
    check = lesson.check(entry.check)
    while text is not None and len(said) < MOST_STEPS:
        result = grade(str(text), [check], workers=workers, lesson=lesson)[check.name]
        if result.status == "passed":
            return [*said, ""]
        said.append(essence(text.first_lines(result.message)))
        text = obeyed(text, result.message)
    return said


def rows(text):
    return [line.split() for line in text.strip().splitlines()]


@pytest.mark.parametrize(
    ("number", "name"),
    [
        *(pytest.param(*row, marks=pytest.mark.slow) for row in rows(MENDED)),
        *(pytest.param(*row, marks=pytest.mark.each(6)) for row in rows(MENDED_SLOWLY)),
    ],
)
def test_what_a_message_says_mends_it(workers, number, name):
    lesson = find_lesson(number)
    said = said_in_turn(lesson, find_entry(lesson, name), workers)
    assert said[-1] == "" and len(said) > 1, said


@pytest.mark.thorough
@pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.number)
def test_no_message_leads_in_a_circle(workers, lesson):
    for entry in entries_of_kind(lesson, "wrong"):
        said = [one for one in said_in_turn(lesson, entry, workers) if one] if entry.words else []
        assert len(said) == len(set(said)) < MOST_STEPS, (entry.name, said)


@pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.number)
def test_atomics_are_advised_in_functions_that_have_some_in_our_solution(lesson):
    ours = {name for name, lines in bare_functions(lesson).items() if "cuda.atomic" in str(lines)}
    assert {*lesson.atomics} == ours & {*lesson.blank}


@pytest.mark.parametrize(
    ("advice", "told"),
    [
        (f"{CHANGE}: cuda.atomic.add(c, (i, j), ...) makes it one step", f"{CHANGE}: {OWNER}"),
        (f"{CHANGE}: cuda.atomic.add(c, 0, 1) is one step. Is it?", f"{CHANGE}: {OWNER}. Is it?"),
        (f"{CHANGE}: give two; or cuda.atomic.add(c, i, 1) is one step", f"{CHANGE}: give two"),
        ("blocks run; use an atomic, or one launch", "blocks run; use one launch"),
        ("let one thread store; for a sum, add with cuda.atomic.add", "let one thread store"),
        ("cuda.atomic.add(c, i, 1) is one step", OWNER),
    ],
)
def test_other_functions_are_told_another_way(advice, told):
    before = (
        "thread 0 writes c[0, 0], thread 6 reads it (line 3), and nothing puts the two in order: "
    )
    found = without_atomics(Found("race", 3, before + advice, True))
    assert found.message == before + told
    same = found._replace(message=before.replace("reads it", "changes it atomically") + advice)
    assert without_atomics(same) == same


def test_a_function_of_another_kind_is_told_so(workers):
    lesson = find_lesson(5)
    entry = find_entry(lesson, "naive_thread_per_number_of_a")
    check = lesson.check(entry.check)
    result = grade(file_of(lesson, entry), [check], workers=workers, lesson=lesson)[check.name]
    assert "race" in result.message and "atomic" not in result.message
