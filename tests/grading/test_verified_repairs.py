"""A change that passes the failed check is told only if the function's other checks agree."""

from pathlib import Path

import pytest

from lessons.course.lesson import find_lesson
from lessons.grading.explain.repairs.beside import Place
from lessons.grading.explain.repairs.search import Found, Held, OutOfTries, Tries, find_slip
from lessons.grading.judge.changed_texts import (
    Enough,
    FailedCheck,
    OtherChecks,
    Skipping,
    checks_beside,
)
from lessons.grading.judge.explain_failure import TOLD_BY_BLOCKS, Failure, says_nothing, suspected
from lessons.grading.judge.result import Attempt, Result
from lessons.grading.judge.run import checks_of
from lessons.grading.judge.runs import Runs
from lessons.grading.judge.waiting import passed_functions

RIGHT = """def place(i, n):
    if i >= n:
        return -1
    return i + 1
"""
WRONG = RIGHT.replace("i + 1", "i + 2")


def answers(text, calls):
    names = {}
    try:
        exec(text, names)
        return [names["place"](*call) for call in calls]
    except (IndexError, NameError, SyntaxError, TypeError):
        return None


def search(text, failed, others, right=()):
    """failed: the calls of the failed check, others: those of others -> what should come."""

    def passes(changed, sure=False):
        return answers(changed, failed) == list(failed.values())

    def held(changed):
        return Held.ALL if answers(changed, others) == list(others.values()) else worst

    worst = Held.BREAKS if answers(text, others) == list(others.values()) else Held.SOME
    tries = (Tries(passes, 300) for _ in "ab")
    return find_slip(text, "", list(right), ["place"], ["place"], *tries, held)


def test_a_change_that_breaks_another_check_is_not_told():
    inside, behind = {(1, 5): 2, (3, 5): 4}, {(5, 5): -1, (9, 5): -1}
    alone = search(WRONG, inside, {})
    assert alone.places[0].line == 4
    # Without the right answer within reach, only a change that spoils the guard passes.
    far = "def place(i, n):\n    if i >= n:\n        return -1\n    return 7\n"
    only_by_luck = {(1, 5): -1}
    assert search(far, only_by_luck, {}) is not None
    assert search(far, only_by_luck, {(2, 5): 7, (0, 5): 7, **behind}) is None


def test_of_several_changes_the_one_after_which_all_checks_pass_is_told():
    # Of 1, `i * 2`, `n - 3` and others make 2, too.
    failed, others = {(1, 5): 2}, {(2, 5): 3, (4, 9): 5, (0, 5): 1, (5, 5): -1}
    alone, together = search(WRONG, failed, {}), search(WRONG, failed, others)
    assert [place.line for place in together.places] == [4]
    assert not together.partly and len(alone.places) > 1


@pytest.mark.parametrize("right", [(), (RIGHT,)])
def test_two_mistakes_are_no_reason_to_be_silent(right):
    text = WRONG.replace("return -1", "return n")
    found = search(text, {(1, 5): 2, (3, 5): 4}, {(2, 5): 3, (5, 5): -1}, right)
    assert found.places[0].line == 4


# ---------------------------------------------------------------- which checks are asked


class Run:
    """Stands for `changed_texts.Runner`: what each check says of each text."""

    def __init__(self, lesson, ended):
        self.lesson, self.path, self.pool = lesson, Path("exercise.py"), None
        self.ended = ended
        self.asked = []

    def run(self, function, check, text, seed, until, quick):
        self.asked.append((check.name, text))
        return self.ended.get((check.name, text), "")


def others(ended, failed="grid", **limits):
    lesson = find_lesson("7")
    run = Run(lesson, ended)
    functions = {check.name: None for check in lesson.checks}
    limits = {"most": 20, "seconds": 60.0, "longest": 3.0, **limits}
    return OtherChecks(run, functions, lesson.check(failed), "mine", 5, **limits), run


def test_all_other_checks_of_the_function_are_asked_and_no_others():
    checks, run = others({})
    assert checks.held("changed") == Held.ALL
    names = [name for name, _ in run.asked]
    assert {"loss", "last_layer", "all_layers"} <= set(names)
    assert not {"grid", "relu_backward", "add_weight_gradients"} & set(names)
    assert checks.held("changed") == Held.ALL and len(run.asked) == len(names)


@pytest.mark.parametrize(
    "changed, mine, held",
    [
        ("", "", Held.ALL),
        ("wrong", "", Held.BREAKS),
        ("wrong", "wrong", Held.SOME),
        ("race", "wrong", Held.SOME),
        ("slow", "", Held.BREAKS),
        ("slow", "wrong", Held.ALL),  # double precision is told by its line
        ("endless or too slow", "", Held.ALL),  # there was no time for it
    ],
)
def test_what_another_check_says_of_a_change(changed, mine, held):
    checks, _ = others({("loss", "changed"): changed, ("loss", "mine"): mine})
    assert checks.held("changed") == held


def test_a_check_of_more_functions_may_fail_for_another_one():
    fails = {(name, text): "wrong" for name in ("weights", "grid") for text in ("changed", "mine")}
    lesson = find_lesson("8")
    run = Run(lesson, fails)
    functions = {check.name: None for check in lesson.checks}
    checks = OtherChecks(run, functions, lesson.check("one_step"), "mine", 5, 20, 60.0, 3.0)
    assert checks.held("changed") == Held.ALL


@pytest.mark.parametrize("limits", [{"most": 0}, {"seconds": 0.0}])
def test_a_change_is_not_doubted_when_there_is_no_time_to_ask(limits):
    checks, run = others({("loss", "changed"): "wrong"}, **limits)
    assert checks.held("changed") == Held.ALL and not run.asked


def test_a_change_that_passes_as_the_time_ends_is_looked_at_once_more():
    lesson = find_lesson("7")
    failed = FailedCheck(Run(lesson, {}), None, lesson.check("grid"), 5, -1.0, 3.0)
    with pytest.raises(OutOfTries):
        failed.passes("changed", False)
    assert failed.passes("changed", True)


def test_of_a_check_only_the_run_that_is_asked_for_runs_and_nothing_is_counted(monkeypatch):
    ran, lesson = [], find_lesson("7")
    monkeypatch.setattr(Runs, "run", lambda self, *_, **how: ran.append((self.number, how)))
    attempt = Attempt(lesson, lesson.check("grid"), None, 5)
    runs = Skipping(attempt, None, 0.0, 1, None)
    for number in range(2):
        runs.run("checked", "f", (number,), measure=True)
    with pytest.raises(Enough):
        runs.run("checked", "f", (2,), measure=True)
    assert ran == [(1, {"measure": False})]


def test_the_checks_of_a_file_are_found_beside_one_of_them():
    functions = checks_of(find_lesson("1"))
    assert checks_beside(functions["luminance"]) == functions


# ---------------------------------------------------------------- no more than has to change


# ---------------------------------------------------------------- what says more than the message


LINE = Found((Place(3, "with another name"),), False)
LINES = Found((Place(3, "so"), Place(5, "and so")), True)
TERMS = Found((Place(3, "with one more term"), Place(5, "with one more term")), True)
REMOVED = Found((Place(3, "without this line"),), False)
FUNCTION = Found((), False, "f")
VALUES = "f(1)\n3 of 4 elements of x are wrong (allowed: 0; none)\n"


@pytest.mark.parametrize(
    "diagnosis, message, found, takes",
    [
        ("wrong", VALUES, LINES, True),
        ("wrong", VALUES, FUNCTION, True),
        ("lost updates", VALUES, LINES, True),
        ("bias forgotten", VALUES, LINE, True),
        ("bias forgotten", VALUES, LINES, False),  # the mistake has a name, and no more than that
        ("nan", VALUES, LINE, True),
        ("a wrong one passes", "f(1)\nso: it does", LINES, True),
        ("inexact", "f(1)\nso: it is", TERMS, False),  # what makes up for one line elsewhere
        ("wrong", "f(1)\nso: it is", TERMS, True),
        ("bias forgotten", VALUES, LINE._replace(partly=True), False),
        ("wrong", VALUES, LINE._replace(partly=True), True),
        ("race", "f(1)\nline 3: race: so", LINES, True),
        ("race", "f(1)\nline 3: race: so", FUNCTION, False),  # it has a line
        ("unsynchronised", "f(1)\nline 3: unsynchronised: so", LINES, True),
        ("unsynchronised", "f(1)\nline 3: unsynchronised: so", REMOVED, False),
        ("out-of-bounds", "f(1)\nline 3: out-of-bounds: so", FUNCTION, False),
        ("tail not written", f"f(1)\nso: {TOLD_BY_BLOCKS}", LINE, False),
        ("tail not written", "f(1)\nso: it does", LINE, True),
        ("added pixel by pixel", "f(1)\nso: it does\n  3 | a[i] = 1", FUNCTION, False),
    ],
)
def test_what_is_found_is_told_if_it_says_more(diagnosis, message, found, takes):
    lesson = find_lesson("1")
    failure = Failure(None, Attempt(lesson, lesson.checks[0], None, 1), diagnosis, message)
    assert failure.takes(found) == takes


def test_a_helper_of_a_function_that_has_passed_is_not_suspected():
    text = "def one(a):\n    return help(a)\n\n\ndef two(a):\n    return help(a) + more(a)\n"
    assert suspected(("help", "more"), text, {"one"}) == ("more",)
    assert suspected(("help", "more"), text, set()) == ("help", "more")


def test_only_functions_of_checks_that_have_passed_are_fine():
    lesson = find_lesson("14")
    results = [
        Result(lesson.name, name, 0, 1, status, "", "", "", "", 0.0)
        for name, status in (("corners", "passed"), ("scatter", "failed"))
    ]
    fine = passed_functions(lesson, results)
    assert "paint" in fine and "scatter_block" not in fine


def test_the_only_function_that_is_written_is_not_told():
    lesson = find_lesson("4")
    assert says_nothing(Found((), False, "encode"), lesson)
    assert not says_nothing(Found((), False, "encode", helpers=("fract",)), lesson)
    assert not says_nothing(Found((), False, "luminance"), find_lesson("1"))
