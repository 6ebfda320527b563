"""What the checks before say about this one: it waits for them, or fails in the same way.

A student who reads five messages about one mistake looks for five mistakes.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from lessons.course.lesson import Check, Lesson
from lessons.grading.judge.result import Result

ENDLESS = ("endless", "endless or too slow")
WASTEFUL = ("one thread for all", "same work again")  # large inputs would take minutes
UNKNOWN = "wrong"  # the diagnosis of values in no pattern that is known
OUTSIDE = ("out-of-bounds", "IndexError")  # as an index that an earlier function returns may be
NO_NUMBER = r"\b(a|the) \w+ is no number"  # as wrong numbers may become, where inputs are large
SHORT = 120  # characters: a message that may stand there again
NOT_THE_MISTAKE = ("picture: ", "replay: ", "printed: ", "stuck? ", "look at ")


def endless_before(check: Check, lesson: Lesson, before: Iterable[Result]) -> str | None:
    """The message for a check that need not begin: it would run what has not ended before."""
    for result in failed(lesson, before):
        needed = lesson.check(result.check).needs
        if not set(needed) <= set(check.needs):
            continue
        before_it = f"not begun: in the check {result.check}, "
        if result.diagnosis in ENDLESS:
            return f"{before_it}a loop of {' or '.join(needed)} did not end; this one runs it, too"
        if result.diagnosis in WASTEFUL:
            return f"{before_it}{result.diagnosis}: see what it says first"
    return None


def told_once(
    check: Check,
    lesson: Lesson,
    diagnosis: str,
    message: str,
    before: Sequence[Result],
    wrong: Mapping[str, Sequence[str]],
) -> tuple[str, str]:
    """(diagnosis, message) of a check that has failed, given the results of those before it.

    Values that are wrong because a function is wrong that another check looks at wait for it. What
    an earlier check has said already is not said again. wrong: check -> its functions that are.
    """
    for result in failed(lesson, before):
        earlier = lesson.check(result.check)
        builds_on_it = set(earlier.needs) < set(check.needs) and about_values(result.message)
        if builds_on_it and (about_values(message) or diagnosis in OUTSIDE):
            names = " and ".join(wrong.get(earlier.name, earlier.needs))
            waits = f"waits for {names}: the check {earlier.name} fails, and this one builds on it"
            besides = "" if about_values(message) else f"\n{message}"
            return f"waits for {names}", waits + besides
        if same_mistake(message, result.message):
            return diagnosis, f"as in {earlier.name}, above: {diagnosis}"
        named = result.diagnosis != UNKNOWN and about_values(result.message)
        unclear = diagnosis == UNKNOWN or bool(re.search(NO_NUMBER, message))
        if unclear and named and set(earlier.needs) == set(check.needs):
            waits = f"waits for {earlier.name}: that check fails, and runs the same functions"
            return f"waits for {earlier.name}", waits
    return diagnosis, message


def not_begun_either(lesson: Lesson, diagnosis: str, message: str, before: Iterable[Result]) -> str:
    """The message of a check that ran nothing; where it stands, if it has been told and is long."""
    for result in failed(lesson, before):
        if message == result.message and len(message) > SHORT:
            return f"as in {result.check}, above: {diagnosis}"
    return message


def failed(lesson: Lesson, before: Iterable[Result]) -> list[Result]:
    known = {check.name for check in lesson.checks}
    return [
        result
        for result in before
        if result.lesson == lesson.name and result.check in known and result.status != "passed"
    ]


def passed_functions(lesson: Lesson, before: Iterable[Result]) -> frozenset[str]:
    """The functions of all checks that this submission has passed."""
    known = {check.name: check.needs for check in lesson.checks}
    passed = (one for one in before if one.lesson == lesson.name and one.status == "passed")
    return frozenset(name for one in passed for name in known.get(one.check, ()))


def functions_in(message: str, check: Check) -> str:
    """Which of a check's functions its message speaks of; "" if it names none."""
    found = re.search(r"elements? of (\w+) (is|are) wrong", message)
    return found[1] if found and found[1] in check.needs else ""


def about_values(message: str) -> bool:
    """Whether a check has compared values, and found them wrong."""
    return bool(re.search(r"elements? of \w[\w ]* (is|are) wrong \(allowed", message))


def tells_a_line(message: str) -> bool:
    """Whether a message says in which line of the file something is wrong, or quotes one."""
    lines = message.splitlines()[1:]
    return any(re.match(r"\s*(line \d+:|\w+\.py, line|\d+ \| )", line) for line in lines)


def same_mistake(message: str, other: str) -> bool:
    """Whether a message tells what an earlier one has told, which may have found out more."""
    mine = substance(message)
    return bool(mine) and mine == substance(other)[: len(mine)]


def substance(message: str) -> list[str]:
    """The lines that tell the mistake: not which call it was, and no elements of this one run."""
    lines = [line for line in message.splitlines()[1:] if not line.startswith(NOT_THE_MISTAKE)]
    told = [
        line for line in lines if not line.startswith("  ") and "are wrong (allowed" not in line
    ]
    return [re.sub(r"^((?:\w+\.py, )?line \d+: [a-z-]+): .*", r"\1", line) for line in told]
