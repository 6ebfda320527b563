"""`python -m lessons predict`: say a count before you see it; and who of a class has learned to.

python -m lessons predict 5 fetched_once 3            keeps your 3, then counts, then shows both
python -m lessons predict                             how near you came so far, and what is asked
python -m lessons predict --to predictions.json       a file to hand in
python -m lessons predict --class handed_in --out grades
"""

import json
import re
import secrets
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median

from kernels.files.atomic import make_output_folder, write_atomically
from kernels.plumbing.errors import InputError
from lessons.course.lesson import find_lesson, lessons
from lessons.course.progress import MOST, CourseProgress, Predictions, factor
from lessons.course.source_text import Refused, read_plain_file
from lessons.grading.classroom.intake import entries_of
from lessons.grading.classroom.outputs import SUMMARY, write_table
from lessons.grading.classroom.pages import safe, table, write_page
from lessons.grading.judge.run import checks_of, run_check
from lessons.grading.judge.worker_pool import WorkerPool
from lessons.grading.walls.submission import Submission

EXIT_OK, EXIT_NOT_COUNTED = 0, 1
FILES = "predictions.json", ".progress.json"  # of a student, in a folder with the student's name
TABLE = "predictions.csv"
MARK = "<!-- predictions -->"  # before and behind what is added to a class's summary
COLUMNS = "student", "checks", "earlier", "later", "said again", "learned"
WORDS = (
    "Medians of factors, of first predictions: of a student's first checks, and of later ones; and "
    "of the last prediction, where it was said again. 1 is what was counted, 2 half or twice that."
)
FEW = 4  # first predictions, with fewer of which nobody can be said to have learned
NEAR, KNEW = 1.25, "from the start"  # medians of who had nothing to learn
ASKED = re.compile(r"(python -m lessons predict \w+ (\w+) NUMBER)")  # of a lesson's page
EXAMPLE = "python -m lessons predict 5 fetched_once 3"


def add_options(command: ArgumentParser) -> None:
    add = command.add_argument
    add("number", nargs="?", help="number of the lesson, such as 5 (default: show what was said)")
    add("check", nargs="?", help="name of a check with a budget (default: list them)")
    expect = "what you expect (default: list the lesson's checks)"
    add("guess", nargs="?", type=guessed, metavar="NUMBER", help=expect)
    to = "write your predictions as a file to hand in (default: keep them)"
    add("--to", metavar="FILE", help=to)
    folder = "for teachers: a folder with a folder per student, each with that file (default: none)"
    add("--class", dest="handed_in", metavar="FOLDER", help=folder)
    out = "with --class: where the report goes, and the grades are (default: grades)"
    add("--out", default="grades", metavar="FOLDER", help=out)


def guessed(text: str) -> float:
    """A number above 0 from the command line."""
    with suppress(ValueError):
        if 0 < (number := float(text.replace(",", ""))) < MOST:
            return number
    raise InputError(f"a prediction is a number above 0, not {text!r}")


def run(options: Namespace) -> int:
    """The command; returns its exit status. Raises `InputError` for what cannot be done."""
    if options.handed_in:
        return report(Path(options.handed_in), options.out)
    if options.to:
        return hand_in(Path(options.to))
    if options.number is None:
        kept = CourseProgress().content["predictions"]
        print(*map(told, factors_of(kept)), sep="\n")
        for lesson in lessons():
            for command, check in ASKED.findall((lesson.folder / "README.md").read_text("utf-8")):
                if check not in kept.get(lesson.name, {}):
                    print(f"not said yet: {command}")
        print(f"say a lesson, a check with a budget, and a number: {EXAMPLE}")
        return EXIT_OK
    if options.guess is None:
        names = ", ".join(check.name for check in find_lesson(options.number).checks)
        raise InputError(f"say a check and a number, as in {EXAMPLE}; the checks are {names}")
    return predict(options.number, options.check, options.guess)


def predict(number: str, name: str, guess: float) -> int:
    """Keep what a student expects of a check; then count, and say how far off it was."""
    lesson = find_lesson(number)
    item, progress = lesson.check(name), CourseProgress()
    progress.predict(lesson, item, guess)  # before anything is counted
    submission, seed = Submission.read(lesson.exercise), secrets.randbits(32)
    function = checks_of(lesson)[item.name]
    with WorkerPool() as workers:
        result = run_check(function, lesson, item, submission, workers, seed, draw=False)
    counts = re.findall(r"^(.*): yours ([\d.,e+-]+), ", result.message, re.MULTILINE)
    found = [(what, float(count.replace(",", ""))) for what, count in counts]
    if not found:
        print(result.message or f"{item.name} has no budget: nothing is counted there")
        print(f"your prediction of {guess:g} is kept")
        return EXIT_NOT_COUNTED
    for what, counted in found:
        print(f"{what}: {counted:g}; you said {guess:g}")
    # A check may count several things: the nearest is what was meant.
    progress.predict(lesson, item, guess, min((abs(n - guess), n) for _, n in found)[1])
    print(told(f"{lesson.name} {item.name}"))
    return EXIT_OK


def factors_of(predictions: Predictions) -> dict[str, list[float]]:
    """How far off each prediction of a check was, in order, of those that were counted."""
    return {
        f"{lesson} {check}": found
        for lesson, checks in predictions.items()
        for check, pairs in checks.items()
        if (found := [factor(*pair) for pair in pairs if len(pair) == 2])
    }


def told(check: str) -> str:
    """ "05_tiles fetched_once: factors so far: 8, 2, 1"."""
    found = factors_of(CourseProgress().content["predictions"])[check]
    return f"{check}: factors so far: " + ", ".join(f"{one:.3g}" for one in found)


def hand_in(path: Path) -> int:
    predictions = CourseProgress().content["predictions"]
    if path.exists():
        raise InputError(f"{path} exists already: give another name")
    text = json.dumps({"predictions": predictions}, indent=1) + "\n"
    write_atomically(path, lambda file: file.write(text.encode()), overwrite=False)
    print(f"{path}: predictions of {len(factors_of(predictions))} checks")
    return EXIT_OK


def report(folder: Path, out_name: str) -> int:
    """Write what a class has foretold, into the class's summary, too, if that is there."""
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder: give one with a folder per student")
    out = make_output_folder(out_name)
    folders = [path for path in entries_of(folder) if path.is_dir() and path.name[0] != "."]
    found = {path.name: predictions_in(path) for path in folders if path.resolve() != out.resolve()}
    if not any(isinstance(one, dict) for one in found.values()):
        raise InputError(f"{folder} holds no {FILES[0]} in a student's folder: students make it "
                         "with python -m lessons predict --to predictions.json")  # fmt: skip
    rows = [row_of(student, tables) for student, tables in found.items()]
    own = f'"{COLUMNS[0]}","{COLUMNS[1]}","{COLUMNS[2]}"'
    if (out / TABLE).exists() and own not in (out / TABLE).read_text("utf-8", "replace")[:99]:
        raise InputError(f"{out / TABLE} was made by something else: give another --out")
    write_table(out / TABLE, [COLUMNS, *rows])
    if (out / SUMMARY).is_file():
        cells = [list(COLUMNS), *([safe(str(cell)) for cell in row] for row in rows)]
        section = f"<h2>Who has learned to foretell</h2><p>{WORDS}</p>{table(iter(cells))}"
        before, *added = (out / SUMMARY).read_text(encoding="utf-8").split(MARK)
        write_page(out / SUMMARY, [before, MARK, section, MARK, *added[1:]])
    learned = sum(row[-1] in ("yes", KNEW) for row in rows)
    print(f"{learned} of {len(rows)} can foretell: {out / TABLE}")
    return EXIT_OK


def predictions_in(folder: Path) -> dict[str, list[float]] | str:
    """A student's factors; or why there are none, which costs that student alone."""
    for one in (folder / name for name in FILES):
        if one.exists():
            try:
                read_plain_file(one)  # no link, no pipe, and not without end
                return factors_of(CourseProgress(one).content["predictions"])
            except (InputError, OSError, Refused) as error:
                why = str(error).partition("; give it")[0]
                print(why if str(one) in why else f"{one}: {why}")
                return "cannot be read"
    return "no file"


def row_of(student: str, tables: dict[str, list[float]] | str) -> list[str | float]:
    """What `COLUMNS` says."""
    if isinstance(tables, str):
        return [student, 0, "", "", "", tables]
    first = [found[0] for found in tables.values()]
    half = len(first) // 2
    again = middle([found[-1] for found in tables.values() if len(found) > 1])
    if len(first) < FEW:
        return [student, len(first), middle(first), "", again, "too few"]
    earlier, later = median(first[:half]), median(first[half:])
    learned = KNEW if max(earlier, later) <= NEAR else "yes" if later < earlier else "no"
    return [student, len(first), middle(first[:half]), middle(first[half:]), again, learned]


def middle(found: Sequence[float]) -> float | str:
    return float(f"{median(found):.3g}") if found else ""
