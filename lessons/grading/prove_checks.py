"""Prove the checks: the skeleton fails, the reference passes, every wrong kernel is caught.

    python -m lessons.grading.prove_checks             all lessons, as a table
    python -m lessons.grading.prove_checks 4 7         some

Each file of a lesson's folder `wrong/` holds a mistake that students make, and names the check
that must fail for it ("# caught by:") and the words that must be in the diagnosis
("# diagnosis:"). Exits with status 1 unless all is as it says.
"""

import re
import sys
from pathlib import Path
from typing import NamedTuple

from kernels.errors import InputError
from lessons.course.exercises import exercise_text, solution_text, wrong_text
from lessons.course.lesson import find_lesson, lessons
from lessons.grading.run import Submission, Workers, checks_of, run_check

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


def wrong_kernels(lesson):
    """The files of `wrong/`. Raises `InputError` for one that does not say what it expects."""
    return [read_wrong_kernel(path) for path in sorted((lesson.folder / "wrong").glob("*.py"))]


def read_wrong_kernel(path):
    text = path.read_text(encoding="utf-8")
    caught_by = re.search(r"^# caught by: (\w+)$", text, re.MULTILINE)
    diagnosis = re.search(r"^# diagnosis: (.+)$", text, re.MULTILINE)
    if not (caught_by and diagnosis and text.startswith('"""')):
        raise InputError(f"{path} lacks a docstring, '# caught by: CHECK' or '# diagnosis: WORDS'")
    return WrongKernel(path, caught_by[1], diagnosis[1].strip())


def rows_of(lesson, workers):
    """Yield a `Row` for the skeleton, the reference and every wrong kernel of a lesson."""
    functions = checks_of(lesson)

    def run(text, name, check):
        submission = Submission(Path(name), text.encode("utf-8"))
        return run_check(
            functions[check.name], lesson, check, submission, workers, SEED, PATIENCE, draw=False
        )

    for check in lesson.checks:
        result = run(exercise_text(lesson), "skeleton", check)
        yield row(lesson, "(skeleton)", check.name, result, result.diagnosis == "not written")
    for check in lesson.checks:
        result = run(solution_text(lesson), "reference", check)
        yield row(lesson, "(reference)", check.name, result, result.status == "passed")
    for wrong in wrong_kernels(lesson):
        check = lesson.check(wrong.caught_by)
        result = run(wrong_text(lesson, wrong.path), wrong.path.stem, check)
        words = wrong.diagnosis.lower()
        named = words in result.diagnosis.lower() or words in result.message.lower()
        caught = result.status != "passed" and named
        yield row(lesson, wrong.path.stem, check.name, result, caught)


def row(lesson, kernel, check, result, ok):
    return Row(lesson.name, kernel, check, result.diagnosis or result.status, ok, result.message)


def main():
    try:
        numbers = [int(argument) for argument in sys.argv[1:]]
    except ValueError:
        print("error: give numbers of lessons, or nothing for all of them", file=sys.stderr)
        return 2
    chosen = [find_lesson(number) for number in numbers] if numbers else lessons()
    workers = Workers(trusted=True)
    missed = total = 0
    print(f"{'lesson':<14} {'wrong kernel':<34} {'caught by':<22} diagnosis")
    try:
        for lesson in chosen:
            for entry in rows_of(lesson, workers):
                total += 1
                missed += not entry.ok
                mark = "" if entry.ok else "   <-- NOT AS EXPECTED"
                print(f"{entry.lesson:<14} {entry.kernel:<34} {entry.caught_by:<22} "
                      f"{entry.diagnosis}{mark}", flush=True)  # fmt: skip
                if not entry.ok:
                    print("    " + entry.message.replace("\n", "\n    "), flush=True)
    finally:
        workers.stop()
    print(f"{total} rows, {missed} not as expected")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
