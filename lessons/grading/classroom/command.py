"""`python -m lessons grade SUBMISSIONS --out grades/`: from a folder of submissions to grades."""

import os
import secrets
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from kernels.files.atomic import make_output_folder, remove_unfinished
from kernels.files.folder_lock import locked
from kernels.plumbing.errors import InputError
from lessons.course.lesson import Lesson, find_lessons, lessons
from lessons.grading.classroom.cluster import ClusterGrader
from lessons.grading.classroom.grade_class import ClassGrader
from lessons.grading.classroom.grade_submission import Settings
from lessons.grading.classroom.gradebook import folders_of, grade_of, gradebook
from lessons.grading.classroom.intake import Handed, handed_in
from lessons.grading.classroom.journal import Journal, Run, digest_of_checks, this_place
from lessons.grading.classroom.outputs import (
    SUMMARY,
    pictures_in,
    refuse_foreign,
    write_class,
    write_student,
)
from lessons.grading.classroom.roster import Roster, read_roster
from lessons.grading.judge.explain_failure import EFFORT_FOR_A_CLASS, FULL_EFFORT
from lessons.grading.worker.text import one_line

DEFAULT_OUT = "grades"
SECONDS_PER_SUBMISSION = 600.0


def add_options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "submissions", metavar="SUBMISSIONS",
        help="folder with a folder, a zip or files per student",
    )  # fmt: skip
    add(
        "--out", default=DEFAULT_OUT, metavar="FOLDER",
        help="where the grades go; with grades of the same class in it, go on (default: grades)",
    )  # fmt: skip
    only = "grade these lessons only, such as 1,2,3 (default: all)"
    add("--lessons", metavar="N,N", help=only)
    jobs = "how many submissions at the same time (default: the number of cores)"
    add("--jobs", type=int, metavar="N", help=jobs)
    cluster = (
        "grade on a Dask cluster, such as tcp://10.0.0.1:8786; local starts one of --jobs "
        "processes here (default: in threads of this process)"
    )
    add("--cluster", metavar="ADDRESS", help=cluster)
    add("--seed", type=int, metavar="N", help="what random inputs follow from (default: a new one)")
    patience = "multiply all time limits, for a slow or busy machine (default: 1)"
    add("--patience", type=float, default=1.0, metavar="FACTOR", help=patience)
    limit = f"for all checks of one submission (default: {SECONDS_PER_SUBMISSION:g})"
    add("--limit", type=float, default=SECONDS_PER_SUBMISSION, metavar="SECONDS", help=limit)
    roster = "TOML file with students, their numbers, and days late (default: none)"
    add("--roster", metavar="FILE", help=roster)
    harder = "search harder for the line of each mistake (default: where no pattern fits, briefly)"
    add("--explain", action="store_true", help=harder)
    single = "SUBMISSIONS is what one student handed in (default: a class)"
    add("--single", action="store_true", help=single)
    over = "replace files in --out that no grading has made (default: refuse)"
    add("--overwrite", action="store_true", help=over)
    listed = "show what was handed in, without grading (default: grade)"
    add("--list", action="store_true", help=listed)


def grade_class(options: Namespace) -> int:
    """The command; returns 0 when every submission has its grade, whatever that is."""
    refuse_nonsense(options)
    chosen = chosen_lessons(options.lessons)
    roster = read_roster(Path(options.roster) if options.roster else None, chosen)
    class_ = handed_in(Path(options.submissions), lessons(), options.single, chosen)
    if options.list:
        print("\n".join(line for handed in class_ for line in lines_on(handed)))
        return 0
    if Path(options.out).resolve().is_relative_to(Path(options.submissions).resolve()):
        raise InputError(
            f"--out {options.out} is inside of {options.submissions}, and would be taken for a "
            "student's the next time: give another folder"
        )
    out = make_output_folder(options.out)
    with locked(out):
        remove_unfinished(out)
        refuse_foreign(out, options.overwrite)
        return grade_into(out, class_, chosen, roster, options)


def refuse_nonsense(options: Namespace) -> None:
    if options.jobs is None:
        options.jobs = os.cpu_count() or 1
    if not 1 <= options.jobs <= 256:
        raise InputError(f"--jobs is from 1 to 256, but it is {options.jobs}")
    if options.seed is not None and options.seed < 0:
        raise InputError(f"--seed must not be negative, but it is {options.seed}")
    if not 0 < options.patience <= 1000:
        raise InputError("--patience must be above 0 and at most 1000")
    if not options.limit > 0:
        raise InputError("--limit must be above 0 seconds")


def chosen_lessons(text: str | None) -> list[Lesson]:
    if text is None:
        return lessons()
    try:
        return find_lessons(text)
    except InputError as error:
        raise InputError(f"--lessons {text}: write numbers, such as 1,2,5b; {error}") from None


def lines_on(handed: Handed) -> list[str]:
    held = ", ".join(f"{name} ({file.path})" for name, file in handed.files.items())
    first = f"{one_line(handed.student)}: {held or 'nothing to grade'}"
    return [first, *("  " + note for note in handed.notes)]


def grade_into(
    out: Path,
    class_: Sequence[Handed],
    chosen: Sequence[Lesson],
    roster: Roster,
    options: Namespace,
) -> int:
    seed = secrets.randbits(32) if options.seed is None else options.seed
    run = Run(seed, options.patience, digest_of_checks(chosen), this_place(options.jobs))
    journal = Journal(out, run, seed_is_chosen=options.seed is not None)
    run = journal.run
    folders = folders_of([handed.student for handed in class_])
    settings = Settings(
        chosen,
        run.seed,
        options.jobs,
        options.patience,
        options.limit,
        pictures_of=lambda student: pictures_in(out, folders[student]),
        effort=FULL_EFFORT if options.explain else EFFORT_FOR_A_CLASS,
    )
    bar = tqdm(total=len(class_), unit="student", disable=not sys.stderr.isatty(), leave=False)

    def finished(handed: Handed) -> None:
        grade = grade_of(handed, chosen, journal, roster, folders[handed.student])
        write_student(out, grade, chosen, run)
        bar.update()
        points = f"{sum(grade.scores.values())} of {grade.max_total} points"
        bar.write(f"{one_line(handed.student)}: {points}", file=sys.stdout)

    try:
        grader: ClassGrader | ClusterGrader = ClassGrader(settings, journal)
        if options.cluster:
            grader = ClusterGrader(options.cluster, settings, journal)
        grader.grade(class_, finished)
    finally:
        bar.close()
        journal.close()
        grades = gradebook(class_, chosen, journal, roster)
        write_class(out, grades, chosen, run)
        print(f"{len(class_)} submissions: {out / SUMMARY} (--seed {run.seed})")
        if left := sum(not grade.finished for grade in grades):
            print(f"{left} of them are not finished: the same command goes on")
    return 0
