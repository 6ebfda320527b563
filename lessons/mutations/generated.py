"""Mistakes that nobody has written down: our functions with one small change each.

Their words quote what the exercise shows. One whose words would quote our solution, or speak of its
lines, or could be said of most functions ("with another comparison"), is left out.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from lessons.mutations.changes import likeliest
from lessons.mutations.source import Change, Source

QUOTED = re.compile(r"`[^`]*`")
OF_A_LINE = re.compile(r"\b(lines?|here|there|below|above)\b")
LEAVES = "It leaves what a right"  # begins a sentence that names no line
LONGEST_QUOTED = 24  # letters; more may be half a line of the solution
# What is unlikely in a text that somebody has written by hand.
UNLIKELY = "assignment", "atomic addition", "barrier", "direction of a loop", "line missing"
MOST_OF_A_KIND = 12  # in one function
CODES = {"line too many": "line left out", "name": "another name", "number": "another number"}


class Generated(NamedTuple):
    function: str
    kind: str
    sentence: str
    text: str  # of the whole file


def generated(solution: str, exercise: str, blank: Sequence[str]) -> Iterator[Generated]:
    """Changes of each function that the student writes: of each function and kind in turn."""
    source, shown = Source(solution), set(re.findall(r"\w+", exercise))
    functions = [node for name, node in source.functions().items() if name in blank]
    for turn in zip_longest(*(of_each_kind(node, source, shown) for node in functions)):
        for node, change in zip(functions, turn, strict=True):
            if change is not None:
                sentence = f"{LEAVES} `{node.name}` leaves {change.words}."
                code = CODES.get(change.kind, change.kind)
                yield Generated(node.name, code, sentence, source.changed(change))


def of_each_kind(function: ast.FunctionDef, source: Source, shown: set[str]) -> Iterator[Change]:
    """The first change of each kind, then the second of each, and so on."""
    kinds: dict[str, list[Change]] = {}
    for change in likeliest(function, source):
        if change.kind not in UNLIKELY and tells_something(change.words, shown):
            kinds.setdefault(change.kind, []).append(change)
    for turn in zip_longest(*(changes[:MOST_OF_A_KIND] for changes in kinds.values())):
        yield from (change for change in turn if change is not None)


def tells_something(words: str, shown: set[str]) -> bool:
    """Whether something is quoted, all that is stands in the exercise, and no line is told."""
    quoted = QUOTED.findall(words)
    names = {name for text in quoted for name in re.findall(r"\w+", text)}
    short = all(len(text) <= LONGEST_QUOTED for text in quoted)
    return bool(names) and short and names <= shown and not OF_A_LINE.search(words)
