"""Make `fingerprints.json` of lessons: run their known mistakes, and generated ones, and keep sums.

    python -m lessons mistakes fingerprints 4 --jobs 8

A lesson whose file fits its checks, its known mistakes and our functions is left out: so who was
interrupted begins where it ended. Without its file, or with an old one, a lesson's mistakes have
fewer names; no wrong ones, since the numbers are then others.
"""

import functools
import hashlib
import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

from kernels.plumbing.errors import InputError
from lessons.course.exercises import exercise_text, solution_text
from lessons.course.lesson import ROOT, Lesson, find_lesson, lessons
from lessons.course.mistakes import MISTAKES, entries_of_kind, file_of
from lessons.grading.explain.known import FILE, Mistake, Recording, as_text, look_up
from lessons.grading.judge.recorded import PUBLIC_SEEDS, record
from lessons.grading.judge.result import Attempt
from lessons.grading.judge.run import checks_of
from lessons.grading.judge.worker_pool import workers_of_process
from lessons.grading.walls.submission import Submission
from lessons.mutations.generated import generated

OF_A_LESSON = "test_*.py", MISTAKES  # what its numbers and sentences come from
MOST_CHECKS = 5  # of a function, that are tried with a generated mistake of it
SECONDS, SECONDS_OF_GENERATED = 60.0, 4.0  # for one run, also on a busy machine
MOST_GENERATED = 400  # per lesson, the likeliest


class Tried(NamedTuple):
    """A file with a mistake, and the checks that it may fail, in order."""

    name: str
    sentence: str
    text: str
    checks: tuple[str, ...]
    generated: bool


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("lessons", nargs="*", metavar="N", help="their numbers (default: all)")
    parser.add_argument("--jobs", type=int, default=1, metavar="J", help="processes (default: 1)")


def write_fingerprints(options: Namespace) -> int:
    """The command; returns 0. Raises `InputError` for a lesson that does not exist."""
    if options.jobs < 1:
        raise InputError(f"--jobs {options.jobs}: at least 1")
    chosen = [find_lesson(number) for number in options.lessons] or lessons()
    old = [lesson for lesson in chosen if not is_fresh(lesson)]
    for lesson in chosen:
        if lesson not in old:
            print(f"{lesson.name}: fits already")
    with ProcessPoolExecutor(options.jobs) as processes:
        waiting = [(lesson, begun(lesson, processes)) for lesson in old]
        for lesson, futures in waiting:
            text = as_text(key_of(lesson), distinct(futures))
            path = lesson.folder / FILE
            path.write_text(text, encoding="utf-8")
            name, count = path.relative_to(ROOT), text.count("\n") - 2
            print(f"{name}: {count} mistakes, {len(text.encode()):,} bytes", flush=True)
    return 0


# ---------------------------------------------------------------- what is tried


def tried(lesson: Lesson) -> Iterator[Tried]:
    """The known mistakes, and then the generated ones."""
    for entry in entries_of_kind(lesson, "wrong"):
        yield Tried(entry.name, entry.sentence, file_of(lesson, entry), (entry.check,), False)
    changes = generated(solution_text(lesson), exercise_text(lesson), lesson.blank)
    for change in list(changes)[:MOST_GENERATED]:
        run = [one.name for one in lesson.checks if change.function in one.needs and not one.gpu]
        yield Tried(change.kind, change.sentence, change.text, tuple(run[:MOST_CHECKS]), True)


def key_of(lesson: Lesson) -> str:
    """Another one for other checks, known mistakes or functions of ours."""
    paths = [file for name in OF_A_LESSON for file in lesson.folder.glob(name)]
    texts = [path.read_text(encoding="utf-8") for path in sorted(paths)]
    texts += [solution_text(lesson)]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def is_fresh(lesson: Lesson) -> bool:
    """Whether the file of a lesson fits what it was made of."""
    path = lesson.folder / FILE
    return path.exists() and json.loads(path.read_text(encoding="utf-8"))["key"] == key_of(lesson)


# ---------------------------------------------------------------- runs


def begun(lesson: Lesson, processes: ProcessPoolExecutor) -> list[tuple[Tried, Future]]:
    return [(one, processes.submit(found_by, lesson.number, one)) for one in tried(lesson)]


def found_by(number: str, one: Tried) -> tuple[str, list[Recording]] | None:
    """(check, a recording per seed) of the first check that finds wrong numbers; None without."""
    lesson = find_lesson(number)
    functions, submission = checks(number), Submission(Path("exercise.py"), one.text.encode())
    seconds = SECONDS_OF_GENERATED if one.generated else SECONDS
    workers = workers_of_process()
    for name in one.checks:
        attempt = Attempt(lesson, lesson.check(name), submission, PUBLIC_SEEDS[0])
        first = record(functions[name], attempt, workers, seconds)
        if first.places or not one.generated:
            others = (attempt._replace(seed=seed) for seed in PUBLIC_SEEDS[1:])
            rest = [record(functions[name], other, workers, seconds) for other in others]
            found = [bool(recording.places) for recording in (first, *rest)]
            enough = all(found) if one.generated else any(found)
            return (name, [first, *rest]) if enough else None
        if first.ended:
            return None
    return None


def distinct(futures: Iterable[tuple[Tried, Future]]) -> list[Mistake]:
    """What was found, but for generated mistakes that leave what one before them leaves."""
    kept: list[Mistake] = []
    for one, future in futures:
        found = future.result()
        if found is None:
            continue
        check, recordings = found
        rows = tuple(recording.row() for recording in recordings)
        mistake = Mistake(one.name, check, one.sentence, rows, one.generated)
        if one.generated and look_up(check, recordings, kept):
            continue
        kept.append(mistake)
    return kept


@functools.cache
def checks(number: str) -> dict:
    return checks_of(find_lesson(number))
