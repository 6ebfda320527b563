"""How alike submissions are, to each other and to our solution: by what their code does.

Compared is the structure: the syntax tree of the functions that a student writes, without comments,
docstrings and formatting, all names of their own numbered in the order in which they come. So
renaming and moving changes nothing. A file is a set of runs of `RUN` neighbouring nodes; two files
are as alike as the share of runs that they have in common. What every exercise gives counts for
nobody.

A number is no verdict: short kernels have few ways to be right. Look at pairs that stand out in
several lessons, and at mistakes that two have in common.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from lessons.course.exercises import exercise_text, solution_text
from lessons.course.lesson import Lesson
from lessons.grading.classroom.intake import Handed
from lessons.grading.walls.fingerprint import MIN_RUNS, Fingerprint, fingerprint, similarity

SHOWN = 0.6  # pairs less alike are not listed
SOLUTION = "(our solution)"


class Pair(NamedTuple):
    """Two submissions to a lesson; the second may be our solution."""

    lesson: str
    first: str
    second: str
    alike: float  # 0 to 1
    same_mistakes: int  # checks that both failed with the same diagnosis


def similar_pairs(
    class_: Sequence[Handed],
    lessons: Sequence[Lesson],
    diagnoses: Mapping[tuple[str, str], Mapping[str, str]],
) -> list[Pair]:
    """The pairs that stand out, the most alike first.

    diagnoses: (student, lesson) -> check -> diagnosis, of the checks that failed.
    """
    pairs: list[Pair] = []
    for lesson in lessons:
        given = fingerprint(exercise_text(lesson))
        prints = {SOLUTION: fingerprint(solution_text(lesson)) - given}
        for handed in class_:
            file = handed.files.get(lesson.name)
            if file and file.text:
                found = fingerprint(file.text.decode("utf-8", "replace")) - given
                if len(found) >= MIN_RUNS:
                    prints[handed.student] = found
        pairs += pairs_in(lesson.name, prints, diagnoses)
    return sorted(pairs, key=lambda pair: (-pair.alike, pair))


def pairs_in(
    lesson: str,
    prints: Mapping[str, Fingerprint],
    diagnoses: Mapping[tuple[str, str], Mapping[str, str]],
) -> Iterator[Pair]:
    names = sorted(prints)
    for number, first in enumerate(names):
        for second in names[number + 1 :]:
            alike = similarity(prints[first], prints[second])
            if alike < SHOWN:
                continue
            student, other = (second, first) if first == SOLUTION else (first, second)
            mine, theirs = (diagnoses.get((name, lesson), {}) for name in (student, other))
            same = sum(theirs.get(check) == diagnosis for check, diagnosis in mine.items())
            yield Pair(lesson, student, other, round(alike, 3), same)
