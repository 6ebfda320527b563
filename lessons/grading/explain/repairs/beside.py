"""Where a function differs from a right one, line by line, and the file with one such line changed.

The right function is the one that is most like it; its names are replaced by the student's where it
is clear which is which. A name that is left over makes the changed file fail, so nothing is told.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from lessons.grading.explain.mutations.scope import Scope
from lessons.grading.explain.mutations.source import Source

COMPARISONS = {"<", "<=", ">", ">=", "==", "!="}
OPERATORS = {"+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>"}
WORDS = re.compile(
    r"""'[^']*'|"[^"]*"|[A-Za-z_]\w*|\d[\d.]*(?:[eE][-+]?\d+|\w*)|\*\*=?|//=?|<<=?|>>=?|[-<>=!+*/%&|^]=|\S"""
)
OF_PARAMETERS = 1_000  # votes: what a caller hands over is the same in both functions
MUCH_ALIKE = 0.8  # so much a line that names something shares with one that does not
TOO_UNLIKE = 0.4  # two lines that share less are not the same line, changed


class Line(NamedTuple):
    """A statement; of one with a body only its head."""

    depth: int  # 0 for the head of the function
    text: str
    number: int  # in the file

    @property
    def words(self) -> list[str]:
        return WORDS.findall(self.text)


class Pair(NamedTuple):
    """Lines that belong together; None where the other function has no such line."""

    mine: int | None
    other: int | None


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
    if isinstance(node, ast.FunctionDef):
        return f"def {node.name}({ast.unparse(node.args)}):"
    if isinstance(node, ast.For):
        return f"for {ast.unparse(node.target)} in {ast.unparse(node.iter)}:"
    word = "if" if isinstance(node, ast.If) else "while"
    return f"{word} {ast.unparse(node.test)}:"


def text_of(lines: Sequence[Line]) -> str:
    """The function that the lines make."""
    parts = (("    " * line.depth) + part for line in lines for part in line.text.splitlines())
    return "\n".join(parts) + "\n"


# ---------------------------------------------------------------- which line is which


def paired(mine: Sequence[Line], other: Sequence[Line]) -> list[Pair]:
    """The lines of two functions side by side, in order: as much as can be is alike."""
    costs = [[0.0] * (len(other) + 1) for _ in range(len(mine) + 1)]
    my_words = [Counter(line.words) for line in mine]
    their_words = [Counter(line.words) for line in other]
    unlike = [
        [
            difference(line, words, theirs, known)
            for theirs, known in zip(other, their_words, strict=True)
        ]
        for line, words in zip(mine, my_words, strict=True)
    ]
    for i in range(len(mine), -1, -1):
        for j in range(len(other), -1, -1):
            found = []
            if i < len(mine) and j < len(other):
                found.append(costs[i + 1][j + 1] + unlike[i][j])
            if i < len(mine):
                found.append(costs[i + 1][j] + 1)
            if j < len(other):
                found.append(costs[i][j + 1] + 1)
            costs[i][j] = min(found, default=0.0)
    return list(way_back(costs, unlike))


def way_back(costs: list[list[float]], unlike: list[list[float]]) -> Iterator[Pair]:
    i, j = 0, 0
    while i < len(costs) - 1 or j < len(costs[0]) - 1:
        here = costs[i][j]
        if i < len(costs) - 1 and j < len(costs[0]) - 1:
            if here == costs[i + 1][j + 1] + unlike[i][j]:
                yield Pair(i, j)
                i, j = i + 1, j + 1
                continue
        if i < len(costs) - 1 and here == costs[i + 1][j] + 1:
            yield Pair(i, None)
            i += 1
            continue
        yield Pair(None, j)
        j += 1


def difference(line: Line, words: Counter[str], other: Line, theirs: Counter[str]) -> float:
    """0 for equal lines; over 2 for two that have little in common."""
    shared = 2 * sum((words & theirs).values()) / max(1, words.total() + theirs.total())
    only_one_names = defines(line) != defines(other) and sets(line) != sets(other)
    if shared < TOO_UNLIKE or (only_one_names and shared < MUCH_ALIKE):
        beginning = line.text.partition("= ")[0]
        if "= " not in line.text or beginning != other.text.partition("= ")[0]:
            return 3.0
    return 1.5 * (1 - shared) + (0.2 if line.depth != other.depth else 0.0)


def defines(line: Line) -> bool:
    """Whether the line gives names a value."""
    return re.match(r"\(?\w+(, \w+)*\)? = ", line.text) is not None


def sets(line: Line) -> bool:
    """Whether the line is an assignment of any kind."""
    return re.search(r" [-+*/|&]*= ", line.text) is not None


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
    hidden = [without_names(line, my_names) for line in mine]
    theirs = [without_names(line, their_names) for line in other]
    for pair in paired(hidden, theirs):
        if pair.mine is None or pair.other is None:
            continue
        if hidden[pair.mine].text == theirs[pair.other].text:
            words = zip(mine[pair.mine].words, other[pair.other].words, strict=True)
            for word, their_word in words:
                if word in my_names and their_word in their_names:
                    votes[their_word, word] += 3 if mine[pair.mine].depth else OF_PARAMETERS
    chosen: dict[str, str] = {}
    for (theirs_name, my_name), _ in votes.most_common():
        if theirs_name not in chosen and my_name not in chosen.values():
            chosen[theirs_name] = my_name
    return chosen


def renamed(lines: Sequence[Line], names: Mapping[str, str]) -> list[Line]:
    return [line._replace(text=with_names(line.text, names)) for line in lines]


def without_names(line: Line, names: set[str]) -> Line:
    return line._replace(text=with_names(line.text, dict.fromkeys(names, "_")))


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
