"""Which changes of a student's functions are tried, in which order.

What makes a text more like code that is known to be right is tried first. Three words in a row that
no right file has are a little suspect; a change after which there are fewer of them is a little
likelier to be the one that is wanted.
"""

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from lessons.grading.explain.mutations.changes import changes_of
from lessons.grading.explain.mutations.scope import called_name
from lessons.grading.explain.mutations.source import Change, Source
from lessons.grading.explain.repairs.beside import WORDS

MOST_GAIN = 2
SUSPECTED = 3  # ranks that a change gains if it uses what is not used so far
UNSUSPECTED = 2  # ranks that a change of a line loses if that line is as in our solution
BEGIN, END = "<", ">"  # of a line, as words of their own


def candidates(
    source: Source,
    functions: Sequence[ast.FunctionDef],
    unsuspected: Collection[int] = (),
    right: Sequence[str] = (),
) -> list[Change]:
    """Changes of these functions, each once, in the order in which they should be tried.

    unsuspected: lines that are tried later, since they are as in our solution. right: files; what
    makes the text more like them is tried earlier.
    """
    familiar = Familiar(right)
    words = {word for text in right for word in WORDS.findall(text)}
    ranked = []
    for place, function in enumerate(functions):
        idle = idle_names(function)
        changes = sorted(
            (
                (rank - uses(idle, one) * SUSPECTED, one)
                for rank, one in changes_of(function, source)
            ),
            key=lambda entry: (entry[0], entry[1].line),
        )
        for rank, change in changes:
            if right and change.kind == "function" and brings_in(change, source) - words:
                continue  # an atomic maximum, say, where no right file has one
            later = UNSUSPECTED if change.line in unsuspected else 0
            ranked.append((rank + later - familiar.gain(change, source), place, change))
    ranked.sort(key=lambda entry: entry[:2])
    distinct = {(change.start, change.end, change.new): change for _, _, change in ranked}
    return list(distinct.values())


def brings_in(change: Change, source: Source) -> set[str]:
    """The words of a change that were not there before."""
    before = WORDS.findall(source.between(change.start, change.end))
    return set(WORDS.findall(change.new)) - set(before)


def uses(idle: Collection[str], change: Change) -> bool:
    """Whether a change brings in a name that the function was given or has computed for nothing."""
    return any(re.search(rf"\b{name}\b", change.new) for name in idle)


class Familiar:
    """All rows of three words of some files."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.known: set[tuple[str, ...]] = set()
        self.counted: dict[str, int] = {}  # line -> its strange rows
        for text in texts:
            for line in text.splitlines():
                self.known.update(rows_of_three(WORDS.findall(line.partition("#")[0])))

    def gain(self, change: Change, source: Source) -> int:
        """How many strange rows the change removes, less those it makes; within `MOST_GAIN`."""
        start = source.content.rfind(b"\n", 0, change.start) + 1
        end = source.content.find(b"\n", change.end)
        end = len(source.content) if end < 0 else end
        before = source.between(start, end)
        after = source.between(start, change.start) + change.new + source.between(change.end, end)
        gain = self.strange(before) - self.strange(after)
        return max(-MOST_GAIN, min(MOST_GAIN, gain))

    def strange(self, text: str) -> int:
        for line in text.splitlines():
            if line not in self.counted:
                rows = rows_of_three(WORDS.findall(line.partition("#")[0]))
                self.counted[line] = sum(row not in self.known for row in rows)
        return sum(self.counted[line] for line in text.splitlines())


def rows_of_three(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    row = [BEGIN, *words, END]
    yield from zip(row, row[1:], row[2:], strict=False)


def idle_names(function: ast.FunctionDef) -> list[str]:
    """Names that are given or computed, and never used."""
    given = [argument.arg for argument in function.args.args]
    nodes = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    stored = [node.id for node in nodes if isinstance(node.ctx, ast.Store)]
    used = {node.id for node in nodes if isinstance(node.ctx, ast.Load)}
    names = dict.fromkeys([*given, *stored])
    return [name for name in names if name not in used and not name.startswith("_")]


def names_called(function: ast.FunctionDef) -> set[str]:
    """Functions that are called; not those of its own values, such as `found.append`."""
    nodes = list(ast.walk(function))
    own = {one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    names = {
        ast.unparse(one.func) for one in nodes if isinstance(one, ast.Call) and called_name(one)
    }
    return {name for name in names if name.partition(".")[0] not in own}
