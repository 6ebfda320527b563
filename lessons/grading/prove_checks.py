"""Prove the checks: the skeleton fails, the reference passes, every wrong kernel is caught.

    python -m lessons.grading.prove_checks             all lessons, as a table
    python -m lessons.grading.prove_checks 4 7         some

Each file of a lesson's folder `wrong/` holds a mistake that students make, and names the check
that must fail for it ("# caught by:") and the words that must be in the diagnosis
("# diagnosis:"). Exits with status 1 unless all is as it says.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kernels.errors import InputError
from lessons.course.exercises import exercise_text, solution_text, wrong_text
from lessons.course.lesson import Check, Lesson, find_lesson, lessons
from lessons.grading.run import Result, checks_of, run_check
from lessons.grading.submission import Submission
from lessons.grading.worker_pool import WorkerPool

SEED = 20260
PATIENCE = 10.0  # nothing is measured here, and the machine may be busy with other tests


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


def all_rows(lesson: Lesson, workers: WorkerPool) -> Iterator[Row]:
    """A `Row` for the skeleton, the reference and every wrong kernel of a lesson."""
    for check in lesson.checks:
        yield skeleton_row(lesson, check, workers)
    for check in lesson.checks:
        yield reference_row(lesson, check, workers)
    for wrong in wrong_kernels(lesson):
        yield wrong_row(lesson, wrong, workers)


def skeleton_row(lesson: Lesson, check: Check, workers: WorkerPool) -> Row:
    result = run(exercise_text(lesson), lesson, check, workers)
    return row("(skeleton)", result, result.diagnosis == "not written")


def reference_row(lesson: Lesson, check: Check, workers: WorkerPool) -> Row:
    result = run(solution_text(lesson), lesson, check, workers)
    return row("(reference)", result, result.status == "passed")


def wrong_row(lesson: Lesson, wrong: WrongKernel, workers: WorkerPool) -> Row:
    check = lesson.check(wrong.caught_by)
    result = run(wrong_text(lesson, wrong.path), lesson, check, workers)
    words = wrong.diagnosis.lower()
    named = words in result.diagnosis.lower() or words in result.message.lower()
    return row(wrong.path.stem, result, result.status != "passed" and named)


def run(text: str, lesson: Lesson, check: Check, workers: WorkerPool) -> Result:
    function = checks_of(lesson)[check.name]
    submission = Submission(Path("exercise.py"), text.encode("utf-8"))
    return run_check(function, lesson, check, submission, workers, SEED, PATIENCE, draw=False)


def row(kernel: str, result: Result, ok: bool) -> Row:
    diagnosis = result.diagnosis or result.status
    return Row(result.lesson, kernel, result.check, diagnosis, ok, result.message)


def main() -> int:
    try:
        numbers = [int(argument) for argument in sys.argv[1:]]
    except ValueError:
        print("error: give numbers of lessons, or nothing for all of them", file=sys.stderr)
        return 2
    chosen = [find_lesson(number) for number in numbers] if numbers else lessons()
    workers = WorkerPool(trusted=True)
    print(f"{'lesson':<14} {'wrong kernel':<34} {'caught by':<22} diagnosis")
    rows = []
    try:
        for lesson in chosen:
            for entry in all_rows(lesson, workers):
                rows.append(entry)
                print(line_of(entry), flush=True)
    finally:
        workers.stop()
    missed = [entry for entry in rows if not entry.ok]
    print(f"{len(rows)} rows, {len(missed)} not as expected")
    return 1 if missed else 0


def line_of(entry: Row) -> str:
    line = f"{entry.lesson:<14} {entry.kernel:<34} {entry.caught_by:<22} {entry.diagnosis}"
    if entry.ok:
        return line
    return f"{line}   <-- NOT AS EXPECTED\n    " + entry.message.replace("\n", "\n    ")


if __name__ == "__main__":
    sys.exit(main())
