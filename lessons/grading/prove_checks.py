"""Prove the checks: the reference passes, every wrong kernel is caught, the naive lose points.

    python -m lessons.grading.prove_checks             all lessons, as a table
    python -m lessons.grading.prove_checks 4 7         some
    python -m lessons.grading.prove_checks --jobs 8    eight rows at a time

    python -m lessons.grading.prove_checks --points    how many points each mistake costs, and at
                                                       the end the median and the most per lesson;
                                                       with --every 12, of each twelfth mistake

`mistakes.diff` of a lesson holds mistakes that students make: each has to be caught by the check
that it names, and told: with the words of its head, or else with its own sentence. In
`other_ways.diff`, what solves the lesson in another way than ours gets all points. What gives right
results without what the lesson is about, or cheats, gets the points that it names. The format:
`lessons/course/mistakes.py`. Exits with status 1 unless all is as the entries say; with --points,
if a mistake costs more than half of a lesson that has three functions or more.
"""

import argparse
import functools
import itertools
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

from kernels.plumbing.errors import InputError
from lessons.course.exercises import exercise_text, solution_text
from lessons.course.lesson import Check, Lesson, find_lesson, lessons
from lessons.course.mistakes import Entry, entries, file_of
from lessons.grading.judge.explain_failure import NO_EFFORT
from lessons.grading.judge.result import Result
from lessons.grading.judge.run import checks_of, run_check
from lessons.grading.judge.worker_pool import WorkerPool, workers_of_process
from lessons.grading.walls.submission import Submission

SEED = 20260
PATIENCE = 4.0  # nothing is measured here, and the machine may be busy with other tests


class Row(NamedTuple):
    lesson: str
    kernel: str
    caught_by: str  # the check that has to fail, and what came of it
    diagnosis: str
    ok: bool  # what fails or passes is what should
    message: str
    told: bool = True  # the message has the words of a mistake, or its sentence


def tasks(lesson: Lesson, every: int = 0) -> list[Callable[[WorkerPool], Row]]:
    """What makes the rows: of the skeleton, the reference, and each entry of the lesson.

    every: if it is not 0, the points of each such mistake (3: each third), and nothing else.
    """
    if every:
        mistakes = [entry for entry in entries(lesson) if entry.kind == "wrong"]
        return [partial(points_row, lesson, entry) for entry in mistakes[::every]]
    return [
        *(partial(skeleton_row, lesson, check) for check in lesson.checks),
        *(partial(reference_row, lesson, check) for check in lesson.checks),
        *(
            partial(wrong_row if entry.kind == "wrong" else points_row, lesson, entry)
            for entry in entries(lesson)
        ),
    ]


def all_rows(chosen: Sequence[Lesson], jobs: int, every: int = 0) -> Iterator[Row]:
    """The rows of these lessons, in order. jobs: how many at a time; every: see `tasks`."""
    rows = [(one.number, every, row) for one in chosen for row in range(len(tasks(one, every)))]
    with ProcessPoolExecutor(jobs) as processes:
        yield from processes.map(row_of, *zip(*rows, strict=True))


def row_of(number: str, every: int, row: int) -> Row:
    """One row of a lesson, in a process that makes many."""
    return tasks_of(number, every)[row](workers_of_process())


@functools.cache
def tasks_of(number: str, every: int) -> list[Callable[[WorkerPool], Row]]:
    return tasks(find_lesson(number), every)


def skeleton_row(lesson: Lesson, check: Check, workers: WorkerPool) -> Row:
    result = run(exercise_text(lesson), lesson, check, workers)
    return row("(skeleton)", result, result.diagnosis == "not written")


def reference_row(lesson: Lesson, check: Check, workers: WorkerPool) -> Row:
    result = run(solution_text(lesson), lesson, check, workers)
    return row("(reference)", result, result.status == "passed")


def wrong_row(lesson: Lesson, entry: Entry, workers: WorkerPool) -> Row:
    """The check that should catch a mistake."""
    result = run(file_of(lesson, entry), lesson, lesson.check(entry.check), workers)
    made = row(entry.name, result, result.status != "passed")
    return made._replace(told=is_told(entry, result))


def is_told(entry: Entry, result: Result) -> bool:
    """Whether a failed check says what the mistake is: by its sentence, or by its words."""
    said = [" ".join(text.lower().split()) for text in (result.diagnosis, result.message)]
    wanted = [text.lower() for text in (entry.sentence, entry.words) if text]
    return any(text in heard for text in wanted for heard in said)


def points_row(lesson: Lesson, entry: Entry, workers: WorkerPool) -> Row:
    """All checks of an entry that should get so many points; of a mistake, at least half.

    In a lesson of one or two functions a mistake may cost more.
    """
    results: list[Result] = []
    text = file_of(lesson, entry)
    for check in lesson.checks:
        results.append(run(text, lesson, check, workers, results))
    got = sum(result.score for result in results)
    lost = [result for result in results if result.status != "passed"]
    names = ", ".join(f"{result.check} ({result.diagnosis})" for result in lost)
    message = "\n".join(result.message for result in lost)
    kernel, points = f"{entry.kind}/{entry.name}", f"{got} of {lesson.points}"
    enough = got == entry.points
    if entry.kind == "wrong":
        enough = 2 * got >= lesson.points or len(lesson.blank) < 3
    return Row(lesson.name, kernel, points, names, enough, message)


def points_lost(row: Row) -> int:
    got, _, most = row.caught_by.split()
    return int(most) - int(got)


def table_of_points(rows: Sequence[Row]) -> Iterator[str]:
    """Per lesson: how many points its mistakes cost, one by one."""
    yield f"{'lesson':<22} {'mistakes':>8} {'median':>7} {'most':>5}  of"
    for lesson, group in itertools.groupby(rows, lambda row: row.lesson):
        lost = {row.kernel: points_lost(row) for row in group}
        median, most = statistics.median(lost.values()), max(lost.values())
        worst = [name.partition("/")[2] for name, points in lost.items() if points == most]
        more = f" and {len(worst) - 3} more" * (len(worst) > 3)
        yield f"{lesson:<22} {len(lost):>8} {median:>7g} {most:>5}  {', '.join(worst[:3])}{more}"


def run(
    text: str, lesson: Lesson, check: Check, workers: WorkerPool, before: Sequence[Result] = ()
) -> Result:
    function = checks_of(lesson)[check.name]
    submission = Submission(Path("exercise.py"), text.encode("utf-8"))
    return run_check(
        function, lesson, check, submission, workers, SEED, PATIENCE,
        draw=False, before=before, effort=NO_EFFORT,
    )  # fmt: skip


def row(kernel: str, result: Result, ok: bool) -> Row:
    diagnosis = result.diagnosis or result.status
    return Row(result.lesson, kernel, result.check, diagnosis, ok, result.message)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m lessons.grading.prove_checks",
        description=(__doc__ or "").partition("\n")[0],
    )
    parser.add_argument("lessons", nargs="*", help="their numbers (default: all)")
    parser.add_argument("--jobs", type=int, default=1, help="rows at a time (default: 1)")
    parser.add_argument("--points", action="store_true", help="what each mistake costs instead")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="of each Nth mistake")
    options = parser.parse_args()
    for name in ("jobs", "every"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} {getattr(options, name)}: at least 1")
    try:
        chosen = [find_lesson(number) for number in options.lessons] or lessons()
    except InputError as error:
        parser.error(f"{error}; or give nothing for all of them")
    print(f"{'lesson':<22} {'wrong kernel':<34} {'caught by, points':<22} diagnosis")
    rows = []
    for entry in all_rows(chosen, options.jobs, options.every * options.points):
        rows.append(entry)
        print(line_of(entry), flush=True)
    if options.points:
        print("\n".join(table_of_points(rows)))
    missed = [entry for entry in rows if not entry.ok]
    untold = [entry for entry in rows if entry.ok and not entry.told]
    print(f"{len(rows)} rows, {len(missed)} not as expected, {len(untold)} not told")
    return 1 if missed or untold else 0


def line_of(entry: Row) -> str:
    line = f"{entry.lesson:<22} {entry.kernel:<34} {entry.caught_by:<22} {entry.diagnosis}"
    if entry.ok and entry.told:
        return line
    problem = "NOT TOLD" if entry.ok else "NOT AS EXPECTED"
    return f"{line}   <-- {problem}\n    " + entry.message.replace("\n", "\n    ")


if __name__ == "__main__":
    sys.exit(main())
