"""Where a function differs from a right one, line by line, and the file with one such line changed.

The right function is the one that is most like it; its names are replaced by the student's where it
is clear which is which. A name that is left over makes the changed file fail, so nothing is told.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lessons.grading.explain.mutations.scope import Scope
from lessons.grading.explain.mutations.source import Source
from lessons.grading.explain.repairs.lines import (
    Line,
    lines_of,
    paired,
    partners,
    renamed,
    text_of,
)

COMPARISONS = {"<", "<=", ">", ">=", "==", "!="}
OPERATORS = {"+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>"}


class Place(NamedTuple):
    """Where a mistake is, and what is otherwise in a text that passes: "with another number"."""

    line: int
    words: str


class Difference(NamedTuple):
    """Lines of the student's go, and `new` ones come before the line `before`."""

    place: Place
    mine: tuple[int, ...]
    before: int
    new: tuple[Line, ...]


class Compared:
    """A student's function beside a right one."""

    def __init__(self, source: Source, mine: ast.FunctionDef, right: ast.FunctionDef) -> None:
        self.source, self.function = source, mine
        self.mine = lines_of(mine)
        mine_known, their_known = set(Scope(mine, set()).known), set(Scope(right, set()).known)
        names = partners(self.mine, lines_of(right), mine_known, their_known)
        self.ours = renamed(lines_of(right), names)
        self.differences = list(self.found())

    def found(self) -> Iterable[Difference]:
        before = 0
        for pair in paired(self.mine, self.ours):
            mine = None if pair.mine is None else self.mine[pair.mine]
            ours = None if pair.other is None else self.ours[pair.other]
            if mine is None and ours is not None:
                behind = self.mine[max(0, before - 1)].number
                place = Place(behind, "with one more line behind it")
                yield Difference(place, (), before, (ours,))
                continue
            assert mine is not None and pair.mine is not None, "a pair has one line at least"
            before = pair.mine + 1
            if ours is None:
                place = Place(mine.number, "without this line")
                yield Difference(place, (pair.mine,), pair.mine, ())
            elif (mine.text, mine.depth) != (ours.text, ours.depth):
                place = Place(mine.number, otherwise(mine, ours))
                yield Difference(place, (pair.mine,), pair.mine, (ours,))

    def with_changes(self, chosen: Iterable[Difference]) -> str:
        """The whole file with these lines as in the right function."""
        chosen = list(chosen)
        gone = {index for difference in chosen for index in difference.mine}
        lines: list[Line] = []
        for index in range(len(self.mine) + 1):
            lines += [line for one in chosen if one.before == index for line in one.new]
            if index < len(self.mine) and index not in gone:
                lines.append(self.mine[index])
        decorators = [one.lineno for one in self.function.decorator_list]
        start = self.source.starts[min([self.function.lineno, *decorators]) - 1]
        _, end = self.source.lines_of(self.function)
        before, after = self.source.content[:start], self.source.content[end:]
        return (before + text_of(lines).encode() + after).decode("utf-8", "replace")

    def without_new_names(self) -> list[Difference]:
        """Differences that bring in no name: those would compute something anew."""
        known = {word for line in self.mine for word in line.words}
        return [
            one for one in self.differences if all(set_names(line) <= known for line in one.new)
        ]


def set_names(line: Line) -> set[str]:
    """The names that a line gives a value."""
    targets = re.match(r"(?:for )?\(?(\w+(?:, \w+)*)\)?(?: in | [-+*/|&]*= )", line.text)
    return set(targets[1].split(", ")) if targets else set()


def otherwise(mine: Line, ours: Line) -> str:
    """What is different in a line, in words that do not tell the right one."""
    if mine.text == ours.text:
        return "with this line further in" if ours.depth > mine.depth else "further out"
    pairs = list(zip(mine.words, ours.words, strict=False))
    different = [pair for pair in pairs if pair[0] != pair[1]]
    if len(mine.words) != len(ours.words) or len(different) != 1:
        if re.match("if |while ", mine.text):
            return "with another condition"
        return "with another expression"
    ((word, other),) = different
    if {word, other} <= COMPARISONS:
        return f"with another comparison in the place of `{word}`"
    if {word, other} <= OPERATORS:
        return f"with another operator in the place of `{word}`"
    if word[0].isdigit() and other[0].isdigit():
        return f"with another number in the place of `{word}`"
    return f"with something else in the place of `{word}`"


def beside_right_ones(
    source: Source, functions: Sequence[ast.FunctionDef], right: Sequence[str]
) -> list[Compared]:
    """Each function beside the right one that is most like it; only those that differ."""
    files = [Source(text).functions() for text in right]
    found = []
    for function in functions:
        known = [file[function.name] for file in files if function.name in file]
        if known:
            words = Counter(word for line in lines_of(function) for word in line.words)
            found.append(Compared(source, function, min(known, key=lambda one: unlike(words, one))))
    return [one for one in found if one.differences]


def unlike(words: Counter[str], other: ast.FunctionDef) -> int:
    theirs = Counter(word for line in lines_of(other) for word in line.words)
    return ((words - theirs) + (theirs - words)).total()
