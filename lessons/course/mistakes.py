"""Known mistakes, other right ways and naive ways of a lesson, as small patches of our solution.

`mistakes.diff` of a lesson holds its mistakes, `other_ways.diff` the rest. Each entry has a head,
a sentence, and what is different from our functions:

    === no_barrier | product | race
    Nobody waits between storing the tile and reading it.
    @@ matmul_tiled
             tile[y, x] = a[row, column]
    -        cuda.syncthreads()

The head of a mistake: its name, the check that fails first, and, where the simulator or a budget
tells it, words of that message. Without such words the entry's own sentence is told to the student.
The head of another way: its name and its points, `all points` (a right one) or `3 points`.

`@@ function: words ==> others` puts these in the place of those, in the first line that has them;
for several lines it stands several times, in their order.
`@@ function` changes our function, which is taken without its docstring, comments and empty lines.
Lines that begin with a space say where, those with `-` go, those with `+` come. Each group of them
is looked for from where the last one ended, and the first place that fits is meant. `@@ function,
anew` gives the whole function, `@@ beside` what else stands in the file (helpers, constants,
unusual imports), and `@@ whole file` the file as it is; their lines begin with `+`.
"""

import ast
import functools
import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

from kernels.plumbing.errors import InputError
from lessons.course.exercises import last_line, our_file, with_functions
from lessons.course.lesson import ROOT, Lesson
from lessons.course.source_text import parsed, source_lines, syntax_tree

MISTAKES, OTHER_WAYS = "mistakes.diff", "other_ways.diff"
BESIDE, WHOLE_FILE, ANEW, BECOMES = "beside", "whole file", ", anew", " ==> "


class Part(NamedTuple):
    """What an entry says about one function, or adds to the file."""

    of: str  # name of a function, or BESIDE or WHOLE_FILE
    anew: bool  # the lines are the whole text, not a patch
    lines: tuple[str, ...]  # with the sign that each begins with
    number: int  # of the `@@` line in the file of entries


class Entry(NamedTuple):
    kind: str  # "wrong", "right" or "naive"
    name: str
    check: str  # the one that fails first, of a wrong entry
    words: str  # which the message must hold; "": the sentence is told
    points: int  # that a right or naive entry gets
    sentence: str
    patch: tuple[Part, ...]

    @property
    def code(self) -> str:
        """The diagnosis that the sentence stands under."""
        return self.name.replace("_", " ")


def entries(lesson: Lesson) -> list[Entry]:
    """All entries of a lesson in the order of its files; none in a handout, which has no such file.

    Raises `InputError` for an entry that does not follow the format.
    """
    found = []
    for name in (MISTAKES, OTHER_WAYS):
        path = lesson.folder / name
        if path.exists():
            found += list(read_entries(lesson, path))
    names = [entry.name for entry in found]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"lesson {lesson.number} has two entries {name}: rename one")
    return found


def entries_of_kind(lesson: Lesson, *kinds: str) -> list[Entry]:
    return [entry for entry in entries(lesson) if entry.kind in kinds]


def find_entry(lesson: Lesson, name: str) -> Entry:
    """Raises `InputError` if the lesson has none of this name."""
    for entry in entries(lesson):
        if entry.name == name:
            return entry
    raise InputError(
        f"lesson {lesson.number} has no mistake {name!r}; "
        f"python -m lessons mistakes {lesson.number} lists them"
    )


def file_of(lesson: Lesson, entry: Entry) -> str:
    """The whole text to grade that an entry stands for.

    Raises `InputError` with lesson, entry, function and line if it does not fit our solution.
    """
    ours = bare_functions(lesson)
    texts = []
    for part in entry.patch:
        if part.of == WHOLE_FILE:
            return "\n".join(line[1:] for line in part.lines) + "\n"
        if part.anew:
            texts.append("\n".join(line[1:] for line in part.lines))
        elif part.of in ours:
            texts.append("\n".join(patched(lesson, entry, part, ours[part.of])))
        else:
            complain(lesson, entry, part, part.number, "is no function of ours")
    text = "\n\n\n".join(texts) + "\n"
    if syntax_tree(text) is None:
        complain(lesson, entry, entry.patch[0], entry.patch[0].number, "is no Python afterwards")
    return with_functions(lesson, text)


# ---------------------------------------------------------------- reading


def read_entries(lesson: Lesson, path: Path) -> Iterator[Entry]:
    lines = source_lines(path.read_text(encoding="utf-8"))
    starts = [number for number, line in enumerate(lines) if line.startswith("=== ")]
    if lines and (not starts or any(line.strip() for line in lines[: starts[0]])):
        raise InputError(f"{place(path, 1)}: a file of entries begins with `=== name | check`")
    for head, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield read_entry(lesson, path, lines[head:end], head + 1)


def read_entry(lesson: Lesson, path: Path, lines: Sequence[str], number: int) -> Entry:
    """One entry. number: of its first line in the file `path`."""
    first = next((n for n, line in enumerate(lines) if line.startswith("@@")), len(lines))
    sentence = " ".join(line.strip() for line in lines[1:first] if line.strip())
    name, *fields = (field.strip() for field in lines[0].removeprefix("===").split("|"))
    here = place(path, number)
    if not re.fullmatch(r"\w+", name):
        raise InputError(f"{here}: {name!r} is no name for an entry: letters, digits, underscores")
    if not sentence or first == len(lines):
        raise InputError(f"{here}: {name} lacks a sentence, or a part `@@ function`")
    entry = Entry(
        "", name, "", "", 0, sentence, tuple(read_parts(lesson, path, lines, number, first))
    )
    if path.name == OTHER_WAYS:
        points = re.fullmatch(r"(all|\d+) points?", fields[0] if len(fields) == 1 else "")
        if not points:
            raise InputError(f"{here}: {name} needs `| all points` or `| 3 points`")
        if points[1] == "all":
            return entry._replace(kind="right", points=lesson.points)
        return entry._replace(kind="naive", points=int(points[1]))
    if len(fields) not in (1, 2):
        raise InputError(f"{here}: {name} needs `| check that fails first`, and no more than words")
    try:
        lesson.check(fields[0])
    except InputError as error:
        raise InputError(f"{here}: {name}: {error}") from None
    words = fields[1] if len(fields) == 2 else ""
    return entry._replace(kind="wrong", check=fields[0], words=words)


def read_parts(
    lesson: Lesson, path: Path, lines: Sequence[str], number: int, first: int
) -> Iterator[Part]:
    """The parts of an entry. number: of its first line in the file; first: where parts begin."""
    changed: dict[str, tuple[str, ...]] = {}  # function -> lines, of parts that tell words
    starts = [n for n in range(first, len(lines)) if lines[n].startswith("@@")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        of = lines[start].removeprefix("@@").strip()
        if BECOMES in of:
            name, _, words = of.partition(": ")
            line = line_changed(lesson, name, *words.split(BECOMES))
            if not line:
                raise InputError(f"{place(path, number + start)}: `{of}` has nothing to change")
            changed[name] = changed.get(name, ()) + line
            if end == len(lines) or not lines[end].startswith(f"@@ {name}: "):
                yield Part(name, False, changed[name], number + start)
            continue
        anew = of.endswith(ANEW) or of in (BESIDE, WHOLE_FILE)
        for n in range(start + 1, end):
            if lines[n] and lines[n][0] not in ("+" if anew else " -+"):
                signs = "`+`" if anew else "a space, `-` or `+`"
                raise InputError(f"{place(path, number + n)}: a line here begins with {signs}")
        changes = tuple(line for line in lines[start + 1 : end] if line)
        if not changes:
            raise InputError(f"{place(path, number + start)}: `@@ {of}` has no lines below it")
        yield Part(of.removesuffix(ANEW), anew, changes, number + start)


def line_changed(lesson: Lesson, name: str, words: str, others: str) -> tuple[str, ...]:
    """The first line of our function that has these words, and as it becomes; none if none has."""
    for line in bare_functions(lesson).get(name, ()):
        if words in line:
            return f"-{line}", f"+{line.replace(words, others, 1)}"
    return ()


def place(path: Path, number: int) -> str:
    """A line of a file, as editors find it."""
    shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    return f"{shown.as_posix()}:{number}"


# ---------------------------------------------------------------- our functions, and patches


def bare_functions(lesson: Lesson) -> dict[str, list[str]]:
    """name -> lines without docstring, comments and empty ones, of the exercise's functions."""
    found = {}
    for part in lesson.parts:
        file = our_file(part.file, part.module)
        for name in part.functions:
            found[name] = bare_lines(file.text_of(file.functions[name]))
    return found


@functools.lru_cache(maxsize=256)
def bare_lines(text: str) -> list[str]:
    """The lines of a function's text without its docstring, comments and empty lines."""
    lines = source_lines(text)
    comments = {
        token.start[0]: token.start[1]
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT
    }
    (function,) = parsed(text).body
    first = function.body[0] if isinstance(function, ast.FunctionDef) else None
    docstring: Iterable[int] = ()
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        docstring = range(first.lineno, last_line(first) + 1)
    kept = [
        line[: comments.get(number, len(line))].rstrip()
        for number, line in enumerate(lines, 1)
        if number not in docstring
    ]
    return [line for line in kept if line]


def groups(lines: Iterable[str]) -> list[list[str]]:
    """The runs of lines of a patch: each has context, then `-`, then `+`."""
    found: list[list[str]] = []
    last = " "
    for line in lines:
        if not found or " -+".index(line[0]) < " -+".index(last):
            found.append([])
        found[-1].append(line)
        last = line[0]
    return found


def patched(lesson: Lesson, entry: Entry, part: Part, ours: Sequence[str]) -> list[str]:
    """Our function's lines with the changes of an entry. Raises `InputError` if they do not fit."""
    result: list[str] = []
    end = 0
    number = part.number + 1
    for group in groups(part.lines):
        old = [line[1:] for line in group if line[0] != "+"]
        new = [line[1:] for line in group if line[0] != "-"]
        start = position(ours, old, end)
        if start is None:
            lacks = next((line for line in old if line not in ours), old[0] if old else "")
            complain(lesson, entry, part, number, f"has no `{lacks.strip()}` here")
        result += [*ours[end:start], *new]
        end = start + len(old)
        number += len(group)
    return result + list(ours[end:])


def position(lines: Sequence[str], wanted: Sequence[str], start: int) -> int | None:
    """Where `wanted` stands first in `lines`, from `start` on."""
    for first in range(start, len(lines) - len(wanted) + 1):
        if wanted and list(lines[first : first + len(wanted)]) == list(wanted):
            return first
    return None


def complain(lesson: Lesson, entry: Entry, part: Part, number: int, what: str) -> NoReturn:
    name = MISTAKES if entry.kind == "wrong" else OTHER_WAYS
    raise InputError(
        f"{place(lesson.folder / name, number)}: {entry.name} does not fit: {part.of} {what}; "
        "if our solution has changed, change the entry as well"
    )
