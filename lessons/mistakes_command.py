"""`python -m lessons mistakes`: list a lesson's known mistakes, print one, add one.

python -m lessons mistakes 3                      name, check and sentence of each
python -m lessons mistakes 3 one_word             the whole file that it stands for
python -m lessons mistakes add 3 my_file.py       an entry made from a file
python -m lessons mistakes fingerprints 3         what students' files are compared with
python -m lessons mistakes export --to F.jsonl    all of them as one file, for others
"""

import argparse
import ast
import re
import textwrap
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path

from kernels.plumbing.errors import InputError, OneLineParser
from lessons.course.exercises import START, with_functions
from lessons.course.lesson import Check, Lesson, find_lesson
from lessons.course.mistakes import MISTAKES, entries, file_of, find_entry
from lessons.course.new_mistake import entry_text, insert
from lessons.course.source_text import (
    read_plain_file,
    source_lines,
    source_text,
    syntax_tree,
)

PROGRAM = "python -m lessons mistakes"
WIDTH = 96
WRONG_NUMBERS = re.compile(r"(are|is) wrong|expected .*, got ")  # in what a check says of arrays


def add_options(command: ArgumentParser) -> None:
    words = "N [NAME] | add N FILE | fingerprints [N ...] | export --to F"
    what = "list a lesson's mistakes, print one, add one, make their fingerprints, or export all"
    command.add_argument("words", nargs=argparse.REMAINDER, metavar=words, help=what)


def run(options: Namespace) -> int:
    """The command; returns its exit status. Raises `InputError` for what cannot be done."""
    words = options.words
    name = words.pop(0) if words and words[0] in ("add", "fingerprints", "export") else "show"
    parser = OneLineParser(prog=PROGRAM if name == "show" else f"{PROGRAM} {name}")
    if name == "fingerprints":  # only now: it needs all that runs checks
        from lessons.grading import make_fingerprints

        make_fingerprints.add_options(parser)
        return make_fingerprints.write_fingerprints(parser.parse_args(words))
    if name == "export":
        from lessons.broken import export

        export.add_options(parser)
        return export.export(parser.parse_args(words))
    parser.add_argument("number", help="number of the lesson, such as 4 or 5b")
    if name == "add":
        add_options_of_add(parser)
        return add(parser.parse_args(words))
    parser.add_argument("name", nargs="?", help="of one mistake, to print its whole file")
    return show(parser.parse_args(words))


# ---------------------------------------------------------------- list, or print one


def show(options: Namespace) -> int:
    lesson = with_solutions(options.number)
    if options.name:
        print(file_of(lesson, find_entry(lesson, options.name)), end="")
        return 0
    for entry in entries(lesson):
        told = entry.check if entry.kind == "wrong" else f"{entry.points} of {lesson.points} points"
        print(f"{entry.name} ({told})")
        print(textwrap.indent(textwrap.fill(entry.sentence, WIDTH), "    "))
    return 0


def with_solutions(number: str) -> Lesson:
    """Raises `InputError` in a handout: mistakes are written as changes of our solution."""
    lesson = find_lesson(number)
    if (lesson.folder / START).exists():
        raise InputError("this copy of the course has no mistakes: ask your instructor")
    return lesson


# ---------------------------------------------------------------- add one


def add_options_of_add(parser: ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="an exercise, or only the functions that are wrong")
    parser.add_argument("--name", help="of the entry (default: the file's)")
    parser.add_argument("--check", help="that fails first (default: all are tried in their order)")
    parser.add_argument("--sentence", help="that students read (default: the file's docstring)")


def add(options: Namespace) -> int:
    lesson = with_solutions(options.number)
    text = read(options.file)
    name = options.name or options.file.stem
    docstring = ast.get_docstring(ast.parse(text)) or ""
    sentence = " ".join((options.sentence or docstring.partition("\n\n")[0]).split())
    if not re.fullmatch(r"\w+", name):
        raise InputError(f"{name!r} is no name for an entry: letters, digits, underscores")
    if any(entry.name == name for entry in entries(lesson)):
        raise InputError(f"lesson {lesson.number} has a mistake {name} already: give --name")
    if not sentence:
        raise InputError("a mistake needs the sentence that a student reads: give --sentence")
    checks = [lesson.check(options.check)] if options.check else lesson.checks
    found, text = found_by(lesson, checks, text, options.file)
    head = f"{name} | {found}"
    entry = entry_text(lesson, head, sentence, text)
    insert(lesson, name, head.split(" | ")[1], entry)
    file_of(lesson, find_entry(lesson, name))  # raises if it does not fit
    print(entry, end="")
    print(
        f"added to {lesson.name}/{MISTAKES}; {PROGRAM} fingerprints {lesson.number} makes it known"
    )
    return 0


def read(path: Path) -> str:
    try:
        text = source_text(read_plain_file(path))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
    if syntax_tree(text) is None:
        raise InputError(f"{path} is no Python: a mistake is found by running it")
    return text


def found_by(lesson: Lesson, checks: list[Check], text: str, path: Path) -> tuple[str, str]:
    """(the first check that fails, and what it says if that needs no sentence of ours; the text
    without what that does not need)."""
    # Not at the top: to list mistakes, nothing has to be run.
    from lessons.grading.judge.worker_pool import WorkerPool
    from lessons.grading.prove_checks import run as run_check

    def told_by(check: Check, text: str) -> str:
        result = run_check(with_functions(lesson, text), lesson, check, workers)
        if result.status == "passed":
            return ""
        numbers = WRONG_NUMBERS.search(result.message)
        return check.name if numbers else f"{check.name} | {result.diagnosis}"

    workers = WorkerPool(trusted=True)
    try:
        for check in checks:
            told = told_by(check, text)
            if told:
                return told, shortened(text, lambda other: told_by(check, other) == told)  # noqa: B023
    finally:
        workers.stop()
    names = ", ".join(check.name for check in checks)
    raise InputError(f"{path} passes {names}: it is no mistake that the checks can find")


def shortened(text: str, is_as_before: Callable[[str], bool]) -> str:
    """The text without each statement at its top that can go: ours stand in for right functions."""
    for node in reversed(ast.parse(text).body):
        first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
        lines = source_lines(text)
        del lines[first - 1 : node.end_lineno]
        shorter = "\n".join(lines) + "\n"
        if is_as_before(shorter):
            text = shorter
    return text
