"""Where a function differs from a right one, line by line, and the file with one such line changed.

The right function is the one that is most like it; its names are replaced by the student's where it
is clear which is which. A name that is left over makes the changed file fail, so nothing is told.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import NamedTuple

from lessons.mutations.scope import Scope
from lessons.mutations.source import Source

COMPARISONS = {"<", "<=", ">", ">=", "==", "!="}
OPERATORS = {"+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>"}
WORDS = re.compile(
    r"""'[^']*'|"[^"]*"|[A-Za-z_]\w*|\d[\d.]*(?:[eE][-+]?\d+|\w*)|\*\*=?|//=?|<<=?|>>=?|[-<>=!+*/%&|^]=|\S"""
)
OF_PARAMETERS = 1_000  # votes: what a caller hands over is the same in both functions


class Line(NamedTuple):
    """A statement; of one with a body only its head."""

    depth: int  # 0 for the head of the function
    text: str
    number: int  # in the file

    @property
    def words(self) -> list[str]:
        return WORDS.findall(self.text)


def lines_of(function: ast.FunctionDef) -> list[Line]:
    """The lines of a function, without docstring and comments."""
    body = function.body[ast.get_docstring(function) is not None :]
    head = Line(0, head_of(function), function.lineno)
    decorators = [Line(0, f"@{ast.unparse(node)}", node.lineno) for node in function.decorator_list]
    return [*decorators, head, *lines_of_body(body, 1)]


def lines_of_body(body: Sequence[ast.stmt], depth: int) -> Iterator[Line]:
    for statement in body:
        if not isinstance(statement, (ast.For, ast.If, ast.While)):
            yield Line(depth, ast.unparse(statement), statement.lineno)
            continue
        yield Line(depth, head_of(statement), statement.lineno)
        yield from lines_of_body(statement.body, depth + 1)
        if statement.orelse:
            yield Line(depth, "else:", statement.orelse[0].lineno)
            yield from lines_of_body(statement.orelse, depth + 1)


def head_of(node: ast.FunctionDef | ast.For | ast.If | ast.While) -> str:
    """The line that a function, a loop or a condition begins with."""
    return ast.unparse(node).splitlines()[len(getattr(node, "decorator_list", ()))]


def text_of(lines: Sequence[Line]) -> str:
    """The function that the lines make."""
    parts = (("    " * line.depth) + part for line in lines for part in line.text.splitlines())
    return "\n".join(parts) + "\n"


# ---------------------------------------------------------------- which line is which


def paired(mine: Sequence[Line], other: Sequence[Line]) -> Iterator[tuple[int | None, int | None]]:
    """The lines of two functions side by side; None where the other function has no such line."""
    texts = [[line.text for line in lines] for lines in (mine, other)]
    for _, *ends in SequenceMatcher(None, texts[0], texts[1], autojunk=False).get_opcodes():
        yield from zip_longest(range(*ends[:2]), range(*ends[2:]))


# ---------------------------------------------------------------- names


def partners(
    mine: Sequence[Line], other: Sequence[Line], my_names: set[str], their_names: set[str]
) -> dict[str, str]:
    """Names of the other function -> those of mine, where it is clear which is which.

    my_names, their_names: those that belong to one function alone.
    """
    votes: Counter[tuple[str, str]] = Counter()
    for name in my_names & their_names:
        votes[name, name] += 2
    hidden = renamed(mine, dict.fromkeys(my_names, "_"))
    theirs = renamed(other, dict.fromkeys(their_names, "_"))
    for i, j in paired(hidden, theirs):
        if i is not None and j is not None and hidden[i].text == theirs[j].text:
            for word, their_word in zip(mine[i].words, other[j].words, strict=True):
                if word in my_names and their_word in their_names:
                    votes[their_word, word] += 3 if mine[i].depth else OF_PARAMETERS
    chosen: dict[str, str] = {}
    for (theirs_name, my_name), _ in votes.most_common():
        if theirs_name not in chosen and my_name not in chosen.values():
            chosen[theirs_name] = my_name
    return chosen


def renamed(lines: Sequence[Line], names: Mapping[str, str]) -> list[Line]:
    return [line._replace(text=with_names(line.text, names)) for line in lines]


def with_names(text: str, names: Mapping[str, str]) -> str:
    """Each name as `names` has it; what stands behind a dot is no name."""

    def other(found: re.Match) -> str:
        return names.get(found[0], found[0])

    return re.sub(r"(?<![\w.'\"])[A-Za-z_]\w*", other, text)


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
        for index, other in paired(self.mine, self.ours):
            new = () if other is None else (self.ours[other],)
            if index is None:
                behind = self.mine[max(0, before - 1)].number
                place = Place(behind, "with one more line behind it")
                yield Difference(place, (), before, new)
                continue
            mine, before = self.mine[index], index + 1
            words = otherwise(mine, new[0]) if new else "without this line"
            if not new or (mine.text, mine.depth) != (new[0].text, new[0].depth):
                yield Difference(Place(mine.number, words), (index,), index, new)

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
        return f"with this line further {'in' if ours.depth > mine.depth else 'out'}"
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
