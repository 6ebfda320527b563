"""Ours in the place of a function that is wrong, so that one mistake costs once.

A function that a check has found wrong costs that check. Checks after it that call it run again
with ours in its place, and get their points if they pass then. Nobody gains by a function that
fails on purpose: of the functions that a check is about, the ones that no other of its functions
calls, the file's own has to be left. No word of ours gets into the file: the worker puts the
function of kernels/ there. A handout has none, and there a check waits for the function.
"""

import ast
import functools
import time
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from lessons.course.exercises import START, names_in, solution_text
from lessons.course.lesson import Check, Lesson
from lessons.course.source_text import parsed
from lessons.grading.judge.case import CheckFunction
from lessons.grading.judge.changed_texts import OF_DOUBLES, PASSED, Runner, checks_beside
from lessons.grading.judge.result import GRADER_FAILED, Attempt, Result
from lessons.grading.judge.waiting import failed, functions_in, passed_functions
from lessons.grading.judge.worker_pool import WorkerPool
from lessons.grading.walls.identifiers import reached

NOT_BLAMED = ("not written", "no file", "too long to read", GRADER_FAILED, *OF_DOUBLES)
MOST_KEPT = 500  # what was found of so many checks is kept, for those after them

Wrong = Mapping[str, Sequence[str]]  # check -> which of its functions are wrong
FOUND: dict[tuple[str, int, str, str], tuple[str, ...]] = {}  # file, seed, lesson, check


class Blame(NamedTuple):
    """Finds the functions that are wrong, given the results of the checks so far."""

    function: CheckFunction  # of a check of the lesson, beside which the others stand
    attempt: Attempt
    workers: WorkerPool  # gives what starts a worker; its own one is left alone
    patience: float

    def wrong(self, before: Sequence[Result]) -> dict[str, tuple[str, ...]]:
        """The wrong functions of each check that has failed, in the order of the checks.

        None if no such check needs what this one needs.
        """
        lesson, mine, submission, seed, _ = self.attempt
        found: dict[str, tuple[str, ...]] = {}
        lost = failed(lesson, before)
        if not any({*lesson.check(one.check).needs} & {*mine.needs} for one in lost):
            return {}
        for result in lost:
            if result.status == "skipped" or result.diagnosis in NOT_BLAMED:
                continue
            key = submission.digest, seed, lesson.name, result.check
            if key not in FOUND:
                if len(FOUND) >= MOST_KEPT:
                    FOUND.clear()
                FOUND[key] = self.found_by(result, found, before[: before.index(result)])
            found[result.check] = FOUND[key]
        return found

    def found_by(self, result: Result, known: Wrong, before: Sequence[Result]) -> tuple[str, ...]:
        """Those of a failed check: each with which, if ours stands in its place, the check passes.

        known: what the checks before it have found. If no single function mends it, or nothing can
        be tried, all that no check has shown to be right.
        """
        lesson = self.attempt.lesson
        check = lesson.check(result.check)
        placed = replaceable(lesson, check, known)
        rest = [name for name in check.needs if name not in placed]
        again = tuple(name for name in rest if name in names_of(known))
        if again:
            return again
        right = passed_functions(lesson, before)
        suspects = [name for name in rest if name not in right] or rest
        named = functions_in(result.message, check)
        if not has_solutions(lesson):
            return (named,) if named else tuple(suspects)
        if len(rest) > 1 and result.status != "timeout":
            for name in sorted(rest, key=lambda one: (one != named, one not in suspects)):
                if self.passes(check, (*placed, name)):
                    return (name,)
        return tuple(suspects)

    def passes(self, check: Check, ours: tuple[str, ...]) -> bool:
        """Whether a check passes with our functions in place of these."""
        lesson, _, submission, seed, _ = self.attempt
        pool = self.workers.beside()
        runner = Runner(lesson, submission._replace(ours=ours), pool)
        function = checks_beside(self.function)[check.name]
        until = time.monotonic() + check.timeout * self.patience
        text = (submission.text or b"").decode("utf-8", "replace")
        try:
            return runner.run(function, check, text, seed, until, quick=False) == PASSED
        finally:
            pool.stop()


def names_of(wrong: Wrong) -> set[str]:
    return {name for names in wrong.values() for name in names}


def has_solutions(lesson: Lesson) -> bool:
    return not (lesson.folder / START).exists()


def replaceable(lesson: Lesson, check: Check, wrong: Wrong) -> tuple[str, ...]:
    """The wrong functions that a check needs, if ours may stand in their place; none otherwise."""
    placed = tuple(name for name in check.needs if name in names_of(wrong))
    if not placed or not has_solutions(lesson):
        return ()
    return placed if main_functions(lesson, check.needs) - {*placed} else ()


def main_functions(lesson: Lesson, names: Collection[str]) -> set[str]:
    """Those of `names` that none of the others calls, or what the others call."""
    calls = calls_in(solution_text(lesson))
    called = {
        name: reached({name}, lambda new: set().union(*(calls[one] for one in new)))
        for name in names
    }
    return {one for one in names if not any(one in called[other] - {other} for other in names)}


@functools.lru_cache(maxsize=8)
def calls_in(text: str) -> dict[str, set[str]]:
    """The functions of a text -> which of them each one names."""
    nodes = {node.name: node for node in parsed(text).body if isinstance(node, ast.FunctionDef)}
    return {name: nodes.keys() & names_in(node) for name, node in nodes.items()}


def without_replaced(before: Sequence[Result], wrong: Wrong, ours: Collection[str]) -> list[Result]:
    """The results without those of checks that have failed for these functions alone."""
    return [one for one in before if not {*wrong.get(one.check, ["?"])} <= {*ours}]


def only_doubles(lesson: Lesson, check: Check) -> bool:
    """Whether it is only about doubles: other checks look at the values of all its functions."""
    others = {name for one in lesson.checks if not one.doubles for name in one.needs}
    return check.doubles and others >= {*check.needs}


def told_already(lesson: Lesson, check: Check, before: Sequence[Result]) -> str:
    """The check that tells already what is wrong in one of doubles; "" if none.

    It has failed for a function of this one, and another such check has passed.
    """
    if not only_doubles(lesson, check):
        return ""
    sharing = [
        one for one in before
        if one.lesson == lesson.name and {*lesson.check(one.check).needs} & {*check.needs}
    ]  # fmt: skip
    lost = [one.check for one in sharing if one.status not in ("passed", "skipped")]
    return lost[0] if lost and any(one.status == "passed" for one in sharing) else ""
