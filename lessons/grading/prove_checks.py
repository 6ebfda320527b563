"""Prove the checks: the reference passes, every wrong kernel is caught, the naive lose points.

    python -m lessons.grading.prove_checks             all lessons, as a table
    python -m lessons.grading.prove_checks 4 7         some
    python -m lessons.grading.prove_checks --jobs 8    eight rows at a time

Each file of a lesson's folder `wrong/` holds a mistake that students make, and names the check
that must fail for it ("# caught by:") and the words that must be in the diagnosis
("# diagnosis:"). Each file of `right/` solves the lesson in another way than ours: it gets all
points. Each file of `naive/` gives right results without what the lesson is about, or cheats: it
gets the points that it names ("# points:"). A file is put in the place of our functions of the same
names; with a line "# whole file" it is taken as it is. Exits with status 1 unless all is as it
says.
"""

import argparse
import functools
import multiprocessing.util
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

from kernels.errors import InputError
from lessons.course.exercises import exercise_text, solution_text, wrong_text
from lessons.course.lesson import Check, Lesson, find_lesson, lessons
from lessons.grading.checks.explain import NO_EFFORT
from lessons.grading.checks.result import Result
from lessons.grading.checks.run import checks_of, run_check
from lessons.grading.supervisor.worker_pool import WorkerPool
from lessons.grading.untrusted.submission import Submission

SEED = 20260
PATIENCE = 4.0  # nothing is measured here, and the machine may be busy with other tests


class Row(NamedTuple):
    lesson: str
    kernel: str
    caught_by: str  # the check that has to fail, and what came of it
    diagnosis: str
    ok: bool
    message: str


class WrongKernel(NamedTuple):
    path: Path
    caught_by: str
    diagnosis: str


def wrong_kernels(lesson: Lesson) -> list[WrongKernel]:
    """The files of `wrong/`. Raises `InputError` for one that does not say what it expects."""
    return [read_wrong_kernel(path) for path in sorted((lesson.folder / "wrong").glob("*.py"))]


def read_wrong_kernel(path: Path) -> WrongKernel:
    text = path.read_text(encoding="utf-8")
    caught_by = re.search(r"^# caught by: (\w+)$", text, re.MULTILINE)
    diagnosis = re.search(r"^# diagnosis: (.+)$", text, re.MULTILINE)
    if not (caught_by and diagnosis and text.startswith('"""')):
        raise InputError(f"{path} lacks a docstring, '# caught by: CHECK' or '# diagnosis: WORDS'")
    return WrongKernel(path, caught_by[1], diagnosis[1].strip())


def right_kernels(lesson: Lesson) -> list[Path]:
    """The files of `right/`."""
    return sorted((lesson.folder / "right").glob("*.py"))


def naive_kernels(lesson: Lesson) -> list[tuple[Path, int]]:
    """The files of `naive/`, with their points. Raises `InputError` for one that names none."""
    found = []
    for path in sorted((lesson.folder / "naive").glob("*.py")):
        points = re.search(r"^# points: (\d+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        if not points:
            raise InputError(f"{path} lacks '# points: NUMBER'")
        found.append((path, int(points[1])))
    return found


def text_of(lesson: Lesson, path: Path) -> str:
    """The file to grade that a file of `wrong/`, `right/` or `naive/` stands for."""
    text = path.read_text(encoding="utf-8")
    return text if re.search("^# whole file$", text, re.MULTILINE) else wrong_text(lesson, path)


def tasks(lesson: Lesson) -> list[Callable[[WorkerPool], Row]]:
    """What makes the rows: of the skeleton, the reference, and each wrong, right and naive file."""
    wrong, right, naive = wrong_kernels(lesson), right_kernels(lesson), naive_kernels(lesson)
    return [
        *(partial(skeleton_row, lesson, check) for check in lesson.checks),
        *(partial(reference_row, lesson, check) for check in lesson.checks),
        *(partial(wrong_row, lesson, kernel) for kernel in wrong),
        *(partial(points_row, lesson, path, lesson.points) for path in right),
        *(partial(points_row, lesson, path, points) for path, points in naive),
    ]


def all_rows(chosen: Sequence[Lesson], jobs: int) -> Iterator[Row]:
    """The rows of these lessons, in order. jobs: how many are made at a time."""
    if jobs > 1:
        numbers = [(one.number, row) for one in chosen for row in range(len(tasks(one)))]
        with ProcessPoolExecutor(jobs) as processes:
            yield from processes.map(row_of, *zip(*numbers, strict=True))
        return
    workers = WorkerPool(trusted=True)
    try:
        for lesson in chosen:
            for task in tasks(lesson):
                yield task(workers)
    finally:
        workers.stop()


def row_of(number: str, row: int) -> Row:
    """One row of a lesson, in a process that makes many."""
    return tasks_of(number)[row](workers_of_process())


@functools.cache
def tasks_of(number: str) -> list[Callable[[WorkerPool], Row]]:
    return tasks(find_lesson(number))


@functools.cache
def workers_of_process() -> WorkerPool:
    """Its workers, which end with it."""
    workers = WorkerPool(trusted=True)
    multiprocessing.util.Finalize(None, workers.stop, exitpriority=1)
    return workers


def skeleton_row(lesson: Lesson, check: Check, workers: WorkerPool) -> Row:
    result = run(exercise_text(lesson), lesson, check, workers)
    return row("(skeleton)", result, result.diagnosis == "not written")


def reference_row(lesson: Lesson, check: Check, workers: WorkerPool) -> Row:
    result = run(solution_text(lesson), lesson, check, workers)
    return row("(reference)", result, result.status == "passed")


def wrong_row(lesson: Lesson, wrong: WrongKernel, workers: WorkerPool) -> Row:
    check = lesson.check(wrong.caught_by)
    result = run(text_of(lesson, wrong.path), lesson, check, workers)
    words = wrong.diagnosis.lower()
    named = words in result.diagnosis.lower() or words in result.message.lower()
    return row(wrong.path.stem, result, result.status != "passed" and named)


def points_row(
    lesson: Lesson, path: Path, points: int, workers: WorkerPool, seed: int = SEED
) -> Row:
    """All checks of a file that should get so many points."""
    results: list[Result] = []
    for check in lesson.checks:
        text = text_of(lesson, path)
        results.append(run(text, lesson, check, workers, results, seed))
    got = sum(result.score for result in results)
    lost = [result for result in results if result.status != "passed"]
    names = ", ".join(f"{result.check} ({result.diagnosis})" for result in lost)
    kernel = f"{path.parent.name}/{path.stem}"
    message = "\n".join(result.message for result in lost)
    return Row(lesson.name, kernel, f"{got} of {lesson.points}", names, got == points, message)


def run(
    text: str,
    lesson: Lesson,
    check: Check,
    workers: WorkerPool,
    before: Sequence[Result] = (),
    seed: int = SEED,
) -> Result:
    function = checks_of(lesson)[check.name]
    submission = Submission(Path("exercise.py"), text.encode("utf-8"))
    return run_check(
        function, lesson, check, submission, workers, seed, PATIENCE,
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
    options = parser.parse_args()
    if options.jobs < 1:
        parser.error(f"--jobs {options.jobs}: at least 1")
    try:
        chosen = [find_lesson(number) for number in options.lessons] or lessons()
    except InputError as error:
        parser.error(f"{error}; or give nothing for all of them")
    print(f"{'lesson':<22} {'wrong kernel':<34} {'caught by, points':<22} diagnosis")
    rows = []
    for entry in all_rows(chosen, options.jobs):
        rows.append(entry)
        print(line_of(entry), flush=True)
    missed = [entry for entry in rows if not entry.ok]
    print(f"{len(rows)} rows, {len(missed)} not as expected")
    return 1 if missed else 0


def line_of(entry: Row) -> str:
    line = f"{entry.lesson:<22} {entry.kernel:<34} {entry.caught_by:<22} {entry.diagnosis}"
    if entry.ok:
        return line
    return f"{line}   <-- NOT AS EXPECTED\n    " + entry.message.replace("\n", "\n    ")


if __name__ == "__main__":
    sys.exit(main())
