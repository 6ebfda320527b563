"""Mistakes that nobody has written down: our functions with one small change each.

Their words speak of what the exercise shows. What only our solution shows is left out of them.
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
# In place of words that quote the solution, or speak of its lines. kind -> words
IN_GENERAL = {
    "name": "with another name in one place",
    "number": "with another number in one place",
    "operator": "with another operator in one place",
    "order of arguments": "with two arguments, or two values, exchanged",
    "order of indices": "with the indices of an array in another order",
    "exchanged": "with two names exchanged",
    "index": "with another index of an array",
    "x, y, z": "with another of x, y and z",
    "thread or block": "with another of threadIdx, blockIdx, blockDim and gridDim",
    "function": "with another function in one place, or without one",
    "in or out of a loop": "with a line moved into a loop or a condition, or out of it",
    "order of lines": "with two lines in the other order",
    "line too many": "without one of its lines",
    "end of a loop": "with a loop that ends elsewhere",
    "condition": "without a condition, or with another one",
    "factor": "with a factor more or less",
    "term": "with a term more or less",
    "one more or less": "with an index, or a bound, that is one more or less",
}
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
    for turn in zip_longest(*(of_each_kind(node, source) for node in functions)):
        for node, change in zip(functions, turn, strict=True):
            if change is not None:
                told = tells_nothing(change.words, shown)
                words = change.words if told else IN_GENERAL.get(change.kind, "with a small change")
                sentence = f"{LEAVES} `{node.name}` leaves {words}."
                code = CODES.get(change.kind, change.kind)
                yield Generated(node.name, code, sentence, source.changed(change))


def of_each_kind(function: ast.FunctionDef, source: Source) -> Iterator[Change]:
    """The first change of each kind, then the second of each, and so on."""
    kinds: dict[str, list[Change]] = {}
    for change in likeliest(function, source):
        if change.kind not in UNLIKELY:
            kinds.setdefault(change.kind, []).append(change)
    for turn in zip_longest(*(changes[:MOST_OF_A_KIND] for changes in kinds.values())):
        yield from (change for change in turn if change is not None)


def tells_nothing(words: str, shown: set[str]) -> bool:
    """Whether all that is quoted stands in the exercise as it is given, and no line is told."""
    quoted = QUOTED.findall(words)
    names = {name for text in quoted for name in re.findall(r"\w+", text)}
    short = all(len(text) <= LONGEST_QUOTED for text in quoted)
    return short and names <= shown and not OF_A_LINE.search(words)
