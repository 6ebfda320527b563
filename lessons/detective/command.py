"""`python -m lessons detective`: find what is wrong with a kernel that nobody knows.

python -m lessons detective 5 --seed 7                    the case: what it should do, what was seen
python -m lessons detective 5 --seed 7 --name 21 index --witness "out[3, 5]"
"""

import ast
import re
import sys
import textwrap
from argparse import ArgumentParser, Namespace
from pathlib import Path

from kernels.files.atomic import make_output_folder
from kernels.plumbing.errors import InputError, OneLineParser
from lessons.course.earlier import is_given
from lessons.course.exercises import START
from lessons.course.lesson import find_lesson
from lessons.course.progress import CourseProgress
from lessons.detective import answers, looks
from lessons.detective.answers import HOW, POINTS
from lessons.detective.breaks import KINDS
from lessons.detective.cases import LEVELS, Case, make_case, secret_seed
from lessons.detective.in_class import FORM
from lessons.detective.record import MOST_LOOKS, MOST_MENDS, Record, write_text
from lessons.grading.judge.worker_pool import WorkerPool
from lessons.grading.walls.submission import Submission
from lessons.terminal import width

PROGRAM = "python -m lessons detective"
DEFAULT_SEED = "1"
WORDS = "look", "name", "to", "mend", "solution"
EXIT_OK, EXIT_NOT_RIGHT = 0, 1


def add_options(command: ArgumentParser) -> None:
    add, usual = command.add_argument, "(default: print the case)"
    add("lesson", nargs="?", help="cases of a lesson, such as 5 or 5b (default: of level 1)")
    levels = f"{', '.join(map(str, LEVELS))}: cases of all lessons (default: of the lesson)"
    add("--level", type=int, choices=sorted(LEVELS), help=levels)
    add("--solution", action="store_true", help=f"end the case, and write its page {usual}")
    kinds = f"the line, and the kind: {', '.join(KINDS)} {usual}"
    for name, metavar, count, told in (
        ("--seed", "NAME", None, f"which case: a number or a name (default: {DEFAULT_SEED})"),
        ("--secret", "WORD", None, "for teachers: cases that nobody else can make (default: none)"),
        ("--look", "WHAT", "+", f"{looks.WAYS}; at most {MOST_LOOKS} {usual}"),
        ("--name", "WORD", "+", kinds),
        ("--witness", "WORD", "+", f"with --name (default: none): {HOW}"),
        ("--mend", "FILE", None, f"run your mended kernel, at most {MOST_MENDS} times {usual}"),
        ("--to", "FOLDER", None, f"write the case, and the kernel with a form {usual}"),
    ):
        add(name, metavar=metavar, nargs=count, help=told)


def run(options: Namespace) -> int:
    """The command; returns its exit status. Raises `InputError` for what cannot be done."""
    require_open(options)
    case, record, page = opened(options)
    if not any(getattr(options, what) for what in (*WORDS, "witness")):
        print(f"{record.key}\n\n{case_text(case)}\n\n{record.left}")
        if sys.stdin.isatty() and sys.stdout.isatty():
            return ask(case, record, page)
        print(f"\nAnswer with --look, --name and --witness, --mend: {PROGRAM} --help")
        return EXIT_OK
    return act(options, case, record, page)


def require_open(options: Namespace) -> None:
    """Cases of a lesson open after it; by --seed or --level, any time. Raises `InputError`."""
    if (find_lesson(1).folder / START).exists():
        raise InputError("this copy of the course makes no cases: ask your instructor for one")
    if options.lesson is None or options.seed is not None or options.level is not None:
        return
    lesson = find_lesson(options.lesson)
    if not CourseProgress().is_done(lesson) and not is_given(lesson):
        told = f"the cases of lesson {lesson.number} open when its checks have passed"
        raise InputError(f"{told}; --seed 1 opens one now")


def opened(options: Namespace) -> tuple[Case, Record, str]:
    """The case, what was done with it, and what its pages are called."""
    lesson = find_lesson(options.lesson).number if options.lesson else None
    level = options.level if options.level or lesson else 1
    seed = options.seed or DEFAULT_SEED
    key = f"lesson {lesson or 'any'}, level {level or 'any'}, seed {seed}"
    key += ", with a secret" if options.secret else ""
    case = make_case(secret_seed(seed, options.secret), lesson, level)
    return case, Record(key), re.sub(r"\W+", "-", key)


# ---------------------------------------------------------------- what is shown, and asked


def case_text(case: Case) -> str:
    """The case as it is printed."""
    lines = case.wrong.rstrip("\n").splitlines()
    numbered = [f"{number:4} | {line}" for number, line in enumerate(lines, 1)]
    task = textwrap.fill(f"What it should do: {case.task}", width())
    seen = answers.shown_lines(case)
    return "\n".join([task, "", *seen, "", *numbered, "", "One thing is wrong in it."])


def act(options: Namespace, case: Case, record: Record, page: str) -> int:
    """Look, name, write, mend, or end."""
    if options.to:
        print(hand_out(case, Path(options.to)))
    if options.look:
        known = looks.look(case, options.look, page)  # complains before it counts
        record.look(" ".join(options.look))
        print(known)
    status = EXIT_OK
    if options.name or options.witness:
        status = name(options, case, record)
    if options.mend:
        status = mend(Path(options.mend), case, record, page)
    if options.solution:
        record.over = True
        record.save()
        print(f"solution: {looks.solution(case, page, record.points)}")
    return status


def name(options: Namespace, case: Case, record: Record) -> int:
    record.open(names=True)
    words = options.name or []
    if len(words) < 2 or not options.witness:
        raise InputError(f"name all three: --name LINE KIND --witness ..., which is {HOW}")
    said = {"line": words[0], "kind": " ".join(words[1:]), "witness": " ".join(options.witness)}
    told = {part: answers.named(case, part, text) for part, text in said.items()}
    record.name({part: right for part, (right, _) in told.items()})
    print("\n".join(sentence for _, sentence in told.values()))
    print(f"{record.points} of {sum(POINTS.values())} points")
    return EXIT_OK if all(right for right, _ in told.values()) else EXIT_NOT_RIGHT


def mend(path: Path, case: Case, record: Record, page: str) -> int:
    record.open()
    text = Submission.read(path).text
    if text is None:
        raise InputError(f"{path} cannot be read: give the file with your mended kernel")
    try:
        compile(text, path, "exec", ast.PyCF_ONLY_AST)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"{path} is no Python ({error}): mend that; no run is lost") from None
    with WorkerPool() as workers:
        result = answers.mended(case, text, path, workers)
    passed = result.status == "passed"
    record.mend(passed)
    lines = [one for one in result.message.splitlines() if not one.startswith("stuck?")]
    told = "\n".join(lines).replace("exercise.py", path.name)
    print("right, and nothing is found" if passed else told)
    print(f"{record.points} of {sum(POINTS.values())} points")
    if record.over:
        print(f"solution: {looks.solution(case, page, record.points)}")
    return EXIT_OK if passed else EXIT_NOT_RIGHT


def ask(case: Case, record: Record, page: str) -> int:
    """In a terminal: line by line, until the case is over."""
    print("look replay | look traffic | look value NAME[INDEX]")
    print("name LINE KIND witness ... | to FOLDER | mend FILE | solution | quit")
    parser = OneLineParser(prog=PROGRAM)
    add_options(parser)
    while not record.over:
        try:
            words = input("> ").split()
        except EOFError:  # Ctrl-D
            return EXIT_OK
        if words[:1] in (["quit"], ["q"]):
            return EXIT_OK
        options = ["--" + word if word in ("witness", *words[:1]) else word for word in words]
        try:
            if words and words[0] in WORDS:
                act(parser.parse_args(options), case, record, page)
            elif words:
                raise InputError(f"{words[0]!r} is none of {', '.join(WORDS)}, quit")
        except InputError as error:
            print(error)
    return EXIT_OK


# ---------------------------------------------------------------- on paper


def hand_out(case: Case, folder: Path) -> str:
    """Write the case's files. Raises `InputError` if one of them is there already."""
    make_output_folder(folder)
    form = FORM.format(kinds=", ".join(KINDS), how=HOW)
    files = {"case.txt": case_text(case) + "\n", "case.py": case.wrong + form}
    for file in files:
        if (folder / file).exists():
            raise InputError(f"{folder / file} exists already: give the name of a new folder")
    for file, content in files.items():
        write_text(folder / file, content, overwrite=False)
    return f"{folder}: read case.txt; mend case.py, and answer at its end"
