"""The student's tool: `python -m lessons` shows where you are; with `--help`, what else it can do.

From another folder than the project's, say `python path/to/lessons` in place of
`python -m lessons`. Where there is no terminal, it prints plain lines.
"""

import sys
from pathlib import Path

if not __package__:  # started by the folder's path: make `kernels` and `lessons` known
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

import kernels.plumbing.supported_python  # noqa: F401
from kernels.plumbing.program import complain, prepare, run

if __name__ == "__main__":
    prepare()  # now, since the imports below take a second

import secrets
import textwrap
import webbrowser
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from tqdm import tqdm

from kernels.plumbing.errors import InputError, OneLineParser
from lessons import mistakes_command, predict_command, terminal
from lessons.course.doctor import examine
from lessons.course.exercises import (
    START,
    keep_backup,
    solution_text,
    write_exercise,
    write_solutions,
)
from lessons.course.index import is_behind, rows_of_part
from lessons.course.lesson import Check, Lesson, find_lesson, find_lessons, lessons
from lessons.course.progress import CourseProgress
from lessons.detective import command as detective
from lessons.detective import in_class
from lessons.grading.classroom import autograder, handout
from lessons.grading.classroom import command as classroom
from lessons.grading.explain.evidence import PICTURES
from lessons.grading.judge.result import Result
from lessons.grading.judge.run import checks_of, run_check
from lessons.grading.judge.worker_pool import WorkerPool
from lessons.grading.walls.submission import Submission
from lessons.site import command as site

EXIT_OK, EXIT_NOT_PASSED, EXIT_INTERRUPTED = 0, 1, 130
POLL_SECONDS = 0.5
CLEAR_SCREEN = "\033[2J\033[H"  # and begin at the top
KEYS = "h hint, v view, n next lesson, q quit"
shown = {"color": "auto"}  # how; see `terminal.is_coloured`


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        options = parse(arguments)
        shown["color"] = getattr(options, "color", "auto")
        return options.action(options)
    except InputError as error:
        return complain(error)
    except OSError as error:  # a file of the student's that cannot be read, for one
        return complain(error)
    except KeyboardInterrupt:
        print()
        return EXIT_INTERRUPTED


def parse(arguments: Sequence[str] | None) -> Namespace:
    parser = OneLineParser(prog="python -m lessons", description="Your way through the lessons.")
    parser.set_defaults(action=show_status)
    commands = parser.add_subparsers(metavar="COMMAND", parser_class=OneLineParser)

    def add(
        name: str,
        action: Callable[[Namespace], int],
        description: str,
        number: str | None = "required",
    ) -> ArgumentParser:
        command = commands.add_parser(name, help=description, description=description)
        command.set_defaults(action=action)
        if number:
            count = "?" if number == "optional" else None
            here = " (default: the one you are at)" if number == "optional" else ""
            command.add_argument(
                "number", nargs=count, help=f"number of the lesson, such as 4 or 5b{here}"
            )
        return command

    checked = add("check", check, "grade a lesson (default: the one you are at)", "optional")
    checked.add_argument(
        "--seed",
        type=int,
        metavar="N",
        help="what random inputs follow from, 0 or more; repeats a check (default: a new one)",
    )
    watched = add("watch", watch, "grade a lesson now, and again each time you save", "optional")
    for command in (checked, watched):
        command.add_argument(
            "--color",
            choices=terminal.COLOUR_CHOICES,
            default="auto",
            help="colours and ticks: auto, always or never (default: auto, which is in a terminal "
            "unless NO_COLOR is set)",
        )
    predict_command.add_options(
        add("predict", predict_command.run, "say a count before you see it", number=None)
    )
    hint = add("hint", show_hint, "a hint for the first check that fails; more at each call")
    hint.add_argument(
        "check", nargs="?", help="name of a check (default: the first that has not passed)"
    )
    add("view", view, "open the replays and pictures of a lesson's checks that failed last")
    add("reset", reset, "begin a lesson anew; a backup of your file is kept")
    add("doctor", doctor, "what this machine has, and what is missing", number=None)
    solution = add(
        "solution", show_solution, "print our solution, once yours has passed; or write files", None
    )
    solution.add_argument(
        "numbers",
        nargs="?",
        metavar="number",
        help="number of the lesson (default: with --all, all)",
    )
    solution.add_argument(
        "--all", action="store_true", help="of all lessons, with --to (default: of the one named)"
    )
    solution.add_argument(
        "--to", metavar="FOLDER",
        help="for teachers: write FOLDER/NN_name.py of 4, of 1-9, or of --all (default: print one)",
    )  # fmt: skip
    solution.add_argument(
        "--overwrite",
        action="store_true",
        help="with --to: replace files of these names (default: refuse)",
    )
    graded = add("grade", grade_submissions, "grade a class: a folder of submissions", number=None)
    classroom.add_options(graded)
    in_class.add_options(graded)
    autograder.add_options(
        add("autograder", autograder.write_autograder, "write a zip for Gradescope", number=None)
    )
    handout.add_options(
        add("handout", handout.write_handout, "write the course without solutions", number=None)
    )
    site.add_options(add("site", site.write_site, "write the course as a static site", None))
    mistakes_command.add_options(
        add("mistakes", mistakes_command.run, "known mistakes: list, print, add", number=None)
    )
    detective.add_options(
        add("detective", detective.run, "find what is wrong with an unknown kernel", number=None)
    )
    return parser.parse_args(arguments)


def grade_submissions(options: Namespace) -> int:
    return in_class.grade(options) if options.cases else classroom.grade_class(options)


def chosen_lesson(options: Namespace) -> Lesson:
    if options.number is not None:
        return find_lesson(options.number)
    return CourseProgress().next_lesson(lessons())


# ---------------------------------------------------------------- where you are


def show_status(options: Namespace) -> int:
    progress = CourseProgress()
    everything = lessons()
    current = progress.next_lesson(everything)
    for _, part in groupby(everything, key=lambda lesson: lesson.part):
        print("\n".join(rows_of_part(list(part), progress, current)))
    if is_behind(current, progress):
        in_handout = (current.folder / START).exists()
        train = "" if in_handout else ": python train.py --use lessons trains the lake with yours"
        print(f"all done{train}")
        return EXIT_OK
    print(f"next: read {nearby(current.folder / 'README.md')}, write {nearby(current.exercise)},")
    print(f"      then python -m lessons check {current.number}")
    return EXIT_OK


def nearby(path: Path) -> Path:
    """A path as short as it can be from here."""
    try:
        return path.relative_to(Path.cwd())
    except ValueError:
        return path


# ---------------------------------------------------------------- checking


def check(options: Namespace) -> int:
    lesson = chosen_lesson(options)
    seed = secrets.randbits(32) if options.seed is None else options.seed
    if seed < 0:
        raise InputError(f"--seed must not be negative, but it is {seed}")
    return EXIT_OK if grade(lesson, seed) else EXIT_NOT_PASSED


def grade(lesson: Lesson, seed: int, only_first: bool = False) -> bool:
    """Run a lesson's checks and print what comes of them. Returns whether all passed.

    only_first: of the checks that fail, tell only the first in full.
    """
    print(f"Lesson {lesson.number}: {lesson.title}")
    # A picture of an earlier failure would be taken for one of this.
    for old in pictures_of(lesson):
        old.unlink(missing_ok=True)
    results: list[Result] = []
    told: dict[str, str] = {}
    submission = Submission.read(lesson.exercise)
    functions = checks_of(lesson)
    quiet = not sys.stderr.isatty()
    with (
        WorkerPool() as workers,
        tqdm(lesson.checks, leave=False, unit="check", disable=quiet) as bar,
    ):
        for item in bar:
            bar.set_description(item.name)
            function = functions[item.name]
            result = run_check(function, lesson, item, submission, workers, seed, before=results)
            told_already = any(other.status != "passed" for other in results)
            results.append(result)
            if only_first and told_already:
                result = result._replace(message="")
            result = result._replace(message=told_once(result.message, item.title, told))
            bar.write("\n".join(lines_of(result, item)), file=sys.stdout)
    CourseProgress().record(lesson, {result.check: result.score for result in results})
    got = sum(result.score for result in results)
    print(f"{got} of {lesson.points} points" + (f" (--seed {seed})" if got < lesson.points else ""))
    if got == lesson.points:
        print(what_comes_next(lesson))
    return got == lesson.points


def lines_of(result: Result, check: Check) -> Iterator[str]:
    label = terminal.status_label(result.status, shown["color"])
    yield f"  {label} {result.score:2} of {result.max_score}  {check.title}"
    width = terminal.width()
    for line in result.message.splitlines():
        yield from textwrap.wrap(line, width, initial_indent=" " * 4, subsequent_indent=" " * 6)


def told_once(message: str, title: str, told: dict[str, str]) -> str:
    """The message of a check, without what an earlier check has told already.

    told: text -> title of the check. The first line, which says what ran, is always told.
    """
    first, _, rest = message.partition("\n")
    earlier = told.setdefault(rest or first, title)
    if earlier == title or not message:
        return message
    return f"{first}\nthe rest is as above: {earlier}" if rest else f"as above: {earlier}"


def what_comes_next(lesson: Lesson) -> str:
    runs = f"yours at work: python -m lessons.{lesson.name}"
    at_work = [runs] if (lesson.folder / "__main__.py").exists() else []
    if (lesson.folder / START).exists():
        return "\n".join([*at_work, *next_lines(lesson)])
    # Not at the top: it loads the native engine, and most commands should answer at once.
    from lessons.student_backend import CONTRIBUTIONS

    lines = []
    if lesson.number in CONTRIBUTIONS:
        lines.append("your kernels can train the lake: python train.py --use lessons")
    lines += [f"{line} --use lessons" for line in at_work]
    lines += next_lines(lesson)
    lines.append(f"ours, to compare: python -m lessons solution {lesson.number}")
    return "\n".join(lines)


def next_lines(lesson: Lesson) -> list[str]:
    other = following(lesson)
    return [f"next: {nearby(other.folder / 'README.md')}"] if other else []


def following(lesson: Lesson) -> Lesson | None:
    """The next lesson; None after the last."""
    everything = lessons()
    return next(iter(everything[everything.index(lesson) + 1 :]), None)


def watch(options: Namespace) -> int:
    """Grade at each change of exercise.py, lesson after lesson, until `q` or Ctrl-C."""
    lesson: Lesson | None = chosen_lesson(options)
    with terminal.Keys() as keys:
        while lesson is not None:
            lesson = watch_one(lesson, keys)
    return EXIT_OK


def watch_one(lesson: Lesson, keys: terminal.Keys) -> Lesson | None:
    """Grade one lesson at each change. Returns the lesson to go on with; None at the end."""
    print(f"watching {nearby(lesson.exercise)}; Ctrl-C ends it")
    seen = None
    while True:
        # Looking again and again is slower than asking the system, and works on every system.
        stamp = changed_at(lesson.exercise)
        if stamp != seen and stamp is not None:
            seen = stamp
            if sys.stdout.isatty():
                print(CLEAR_SCREEN, end="")
            grade(lesson, secrets.randbits(32), only_first=True)
            way = f" ({KEYS})" if keys.readable else ""
            print(f"waiting for the next change{way}", flush=True)
        key = keys.pressed(POLL_SECONDS)
        number = Namespace(number=lesson.number, check=None)
        if key == "h":
            show_hint(number)
        elif key == "v":
            view(number)
        elif key == "n":
            return following(lesson) or lesson
        elif key == "q":
            return None


def changed_at(path: Path) -> tuple[int, int] | None:
    """(time of the last change, size) of a file; None if it cannot be read now."""
    try:
        status = path.stat()
    except OSError:  # an editor may be replacing it at this moment
        return None
    return status.st_mtime_ns, status.st_size


# ---------------------------------------------------------------- help


def show_hint(options: Namespace) -> int:
    lesson = find_lesson(options.number)
    progress = CourseProgress()
    item = lesson.check(options.check) if options.check else progress.next_check(lesson)
    if item is None:
        print(f"lesson {lesson.number}: no hints left; all its checks have passed")
        return EXIT_OK
    number = progress.next_hint(lesson, item)
    print(f"{item.title} ({item.name}), hint {number} of {len(item.hints)}:")
    width, hint = terminal.width(), item.hints[number - 1]
    print(textwrap.fill(hint, width, initial_indent="  ", subsequent_indent="  "))
    return EXIT_OK


def view(options: Namespace) -> int:
    lesson = find_lesson(options.number)
    pictures = pictures_of(lesson)
    if not pictures:
        command = f"python -m lessons check {lesson.number}"
        print(f"no pictures: {command} draws one where a check fails, and a replay beside it")
        return EXIT_OK
    for picture in pictures:
        print(nearby(picture))
        if sys.stdout.isatty():
            webbrowser.open(picture.as_uri())
    return EXIT_OK


def pictures_of(lesson: Lesson) -> list[Path]:
    """Replays and pictures of the checks that failed when the lesson was last graded."""
    folder = PICTURES / lesson.short_name
    return sorted([*folder.glob("*.html"), *folder.glob("*.png")])


def reset(options: Namespace) -> int:
    lesson = find_lesson(options.number)
    if lesson.exercise.exists():
        print(f"your file is kept as {nearby(keep_backup(lesson.exercise))}")
    write_exercise(lesson)
    print(f"{nearby(lesson.exercise)} is as it was at the beginning")
    return EXIT_OK


def show_solution(options: Namespace) -> int:
    if bool(options.numbers) == options.all:
        raise InputError("give the number of a lesson, or --all")
    chosen = lessons() if options.all else find_lessons(options.numbers)
    if any((lesson.folder / START).exists() for lesson in chosen):
        raise InputError("this copy of the course has no solutions: ask your instructor")
    if options.to:
        write_solutions(chosen, Path(options.to), options.overwrite)
        print(f"{options.to}: our solutions, for teachers")
        return EXIT_OK
    if len(chosen) > 1:
        raise InputError("the solutions of several lessons are files: add --to FOLDER")
    lesson = chosen[0]
    progress = CourseProgress()
    if not (progress.is_done(lesson) and progress.is_current(lesson)):
        raise InputError(
            "our solution is shown when yours has passed: "
            f"python -m lessons check {lesson.number}, or python -m lessons hint {lesson.number}"
        )
    print(solution_text(lesson), end="")
    return EXIT_OK


def doctor(options: Namespace) -> int:
    healthy = True
    for found in examine():
        healthy = healthy and found.ok
        mark = "ok" if found.ok else "NO"
        advice = f"  ({found.advice})" if found.advice else ""
        print(f"{mark:<3} {found.subject:<14} {found.text}{advice}")
    print("everything needed is here" if healthy else "fix what is marked NO first")
    return EXIT_OK if healthy else EXIT_NOT_PASSED


if __name__ == "__main__":
    sys.exit(run(main))
