"""Which small changes of a student's function are tried first, and which never.

Each try takes a tenth of a second or more, and there are thousands of changes. So what can only
fail is left out, what is seldom a slip comes late, and what makes a line as those beside it early.
"""

import ast
import re
from collections.abc import Iterator, Sequence

from lessons.grading.explain.repairs.beside import WORDS
from lessons.grading.explain.repairs.likely import KIND
from lessons.mutations.expressions import indices_of
from lessons.mutations.generated import LEAVES
from lessons.mutations.scope import called_name, distance, pairs_of
from lessons.mutations.source import Change, Source

AS_BESIDE = -3  # ranks, of what makes a line as all those of its kind beside it
FEW = -2  # of what can stand in a few places only
KINDS_OF_FEW = (
    "comparison", "condition", "rounding", "parentheses", "order of operands", "order of lines",
    "in or out of a loop", "beginning of a loop", "end of a loop", "step of a loop",
)  # fmt: skip
RARE = re.compile("sides of `(%|//)`|in place of `return`")
OPPOSITE = -1  # of a name that is easily taken for the other, such as row and column
SELDOM = 2
CASTS = {"int32", "uint32", "int64", "uint64", "float32", "int", "float"}
REACH = 8  # lines above and below that are beside one
MOST_APART = 0.4  # of the words of two lines of one kind
# What a message begins a line with -> the kinds of changes that it makes likely.
KINDS = {
    "constant factor": ("number", "factor", "operator", "function"),
    "constant offset": ("term", "number", "beginning of a sum"),
    "wrong sign": ("sign", "order of operands"),
    "another number": ("number",),
    "another name": ("name",),
    "line left out": ("line missing", "line too many"),
}


def told_kinds(told: str) -> Sequence[str]:
    """The kinds of changes that a message makes likely: of a generated mistake, its own."""
    code = next((line.partition(":")[0] for line in told.splitlines() if LEAVES in line), "")
    found = re.search(r"^(constant factor|constant offset|wrong sign):", told, re.MULTILINE)
    return KINDS.get(code or (found[1] if found else ""), (code,))


class Likelihood:
    """What the text of a function says of its changes."""

    def __init__(self, source: Source, function: ast.FunctionDef) -> None:
        self.source = source
        self.given = {argument.arg for argument in function.args.args}
        self.stored: dict[str, list[int]] = {}  # name -> the lines that give it a value
        for node in ast.walk(function):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self.stored.setdefault(node.id, []).append(node.lineno)
        nodes = list(ast.walk(function))
        self.floats = set(floats_in(nodes))
        self.places = [source.span(place) for node in nodes for place in places_in(node)]
        self.axes = {axis for axis in "xyz" if f".{axis}" in source.text_of(function)}
        last = function.end_lineno or function.lineno
        lines = source.content.decode("utf-8", "replace").splitlines()
        self.words = {n: WORDS.findall(lines[n - 1]) for n in range(function.lineno, last + 1)}
        self.odd = {number: self.odd_words(number) for number in self.words}

    def is_vain(self, change: Change) -> bool:
        """Whether it reads a name in the line that gives this its first value, or has a float for a
        place, asks for an axis that the function does not know, or adds to what is called.
        """
        old = self.source.between(change.start, change.end)
        new = {*re.findall(r"\w+", change.new)} - {*re.findall(r"\w+", old)}
        called = old.isidentifier() and self.source.between(change.end, change.end + 1) == "("
        if change.kind in ("factor", "term") and (called or old.startswith("range(")):
            return True
        if change.kind == "x, y, z" and not new & self.axes:
            return True
        if any(begin <= change.start and change.end <= end for begin, end in self.places):
            divides = change.kind == "operator" and re.search(r"[^/]/[^/]", change.new)
            if new & self.floats or divides:
                return True
        if change.kind == "name":
            return self.begins_in(change.new, change.line)
        name, _, rest = change.new.partition(" ")
        adds = change.kind == "assignment" and rest[:2] in ("+=", "*=")
        return adds and self.begins_in(name, change.line)

    def begins_in(self, name: str, line: int) -> bool:
        return name not in self.given and self.stored.get(name) == [line]

    def ranks(self, change: Change) -> int:
        """How many ranks later than others of its kind it is tried; below zero, earlier."""
        old = self.source.between(change.start, change.end)
        if self.is_as_beside(change):
            return AS_BESIDE
        if change.kind == KIND:
            return 0
        if change.kind == "name":
            if old.split()[0].isupper() and not change.new.split()[0].isupper():
                return SELDOM  # a constant of the file is seldom taken for a number of the function
            words = {*old.split("_")} ^ {*change.new.split("_")}
            return OPPOSITE if distance(old, change.new) == 0 or len(words) == 1 else 0
        if change.kind == "exchanged":
            first, second = change.words.split("`")[1:4:2]
            named = first.isidentifier() and second.isidentifier()  # and no two numbers
            return OPPOSITE if named and distance(first, second) == 0 else 0
        if change.kind in KINDS_OF_FEW and not RARE.search(change.words):
            return FEW
        if change.kind in ("assignment", "sign") or ".shape" in old:
            return 0 if "(`+=`)" in change.words else SELDOM
        if change.kind == "function" and old.partition("(")[0] in CASTS:
            return SELDOM
        if change.kind == "operator" and "^" in change.new and "^" not in old:
            return SELDOM
        return 0

    def is_as_beside(self, change: Change) -> bool:
        odd = self.odd.get(change.line)
        if not odd or "\n" in change.new:
            return False
        line = self.source.changed(change).splitlines()[change.line - 1]
        words = WORDS.findall(line)
        same = len(words) == len(self.words[change.line])
        return same and any(words[place] == word for place, word in odd.items())

    def odd_words(self, number: int) -> dict[int, str]:
        """place -> the word that all lines of the same kind have there, and this one has not."""
        mine = self.words[number]
        near = range(number - REACH, number + REACH + 1)
        beside = [self.words[n] for n in near if n != number and n in self.words]
        alike = [words for words in beside if are_alike(mine, words)]
        if len(alike) < 2:
            return {}
        columns = [set(words) for words in zip(*alike, strict=True)]
        places = [n for n, column in enumerate(columns) if len(column) == 1]
        return {n: min(columns[n]) for n in places if mine[n] not in columns[n]}


def floats_in(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """The names that are given a float."""
    for target, value in (pair for node in nodes if isinstance(node, ast.Assign)
                          for pair in pairs_of(node)):  # fmt: skip
        called = ast.unparse(value.func) if isinstance(value, ast.Call) else ""
        if isinstance(target, ast.Name) and re.match(r"float32$|math\.(?!floor|ceil)", called):
            yield target.id


def places_in(node: ast.AST) -> list[ast.expr]:
    """The indices of an array, and what a range is made of: whole numbers."""
    if isinstance(node, ast.Call) and called_name(node) == "range":
        return node.args
    return indices_of(node) if isinstance(node, ast.Subscript) else []


def are_alike(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two lines have as many words, most of them the same."""
    if len(one) != len(other) or not one:
        return False
    apart = sum(a != b for a, b in zip(one, other, strict=True))
    return apart <= MOST_APART * len(one)
