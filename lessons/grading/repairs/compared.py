"""Where a student's function differs from ours, line by line.

Our solution only says where to look first. Whether a line is the mistake is found by running the
student's function with that one line changed.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from lessons.grading.repairs.forms import guarded_as, inlined
from lessons.grading.repairs.lines import (
    Line,
    Pair,
    lines_of,
    paired,
    partners,
    renamed,
    text_of,
)
from lessons.grading.repairs.scope import Scope
from lessons.grading.repairs.source import Source
from lessons.grading.repairs.words import told_change, told_missing

MOST_FORMS = 2  # of a right function, that are tried
MUCH = 0.5  # of the words of two lines that are much alike


class Place(NamedTuple):
    """Where a mistake is, and of what kind."""

    line: int
    kind: str
    words: str  # goes on after "line 3: ", such as "with another comparison"


class Difference(NamedTuple):
    """What one change of a function does: `mine` lines go, `new` ones come in their place."""

    place: Place
    mine: tuple[int, ...]  # of the student's lines
    before: int  # the student's line that `new` is put before
    new: tuple[Line, ...]
    hides: bool = False  # whether `new` could do the work of lines that are wrong


class Compared:
    """A student's function beside a right one, in one of its forms."""

    def __init__(
        self, source: Source, mine: ast.FunctionDef, file: Source, ours: Sequence[Line]
    ) -> None:
        """file: the one that the right function is of. ours: its lines, with the names of mine."""
        self.source = source
        self.function = mine
        self.file = file
        self.mine = lines_of(mine)
        self.differences = list(self.find_differences(ours))
        self.words_changed = sum(self.size(difference) for difference in self.differences)

    def find_differences(self, ours: Sequence[Line]) -> Iterator[Difference]:
        """What makes the student's lines `ours`."""
        pairs = paired(self.mine, ours)
        found = []
        for index, pair in enumerate(pairs):
            if pair.mine is not None and pair.other is not None:
                mine, line = self.mine[pair.mine], ours[pair.other]
                if (mine.depth, mine.text) != (line.depth, line.text):
                    place = Place(mine.number, *told_change(mine, line))
                    hides = returns(line) and not returns(mine)
                    found.append(Difference(place, (pair.mine,), pair.mine, (line,), hides))
            elif pair.mine is not None:
                mine = self.mine[pair.mine]
                place = Place(mine.number, "line too many", "without this line")
                found.append(Difference(place, (pair.mine,), pair.mine, ()))
            elif pair.other is not None:
                before = next_of_mine(pairs[index:], len(self.mine))
                found.append(self.missing(before, ours[pair.other]))
        yield from with_moves(found, self.mine)

    def missing(self, before: int, line: Line) -> Difference:
        number = self.mine[max(0, before - 1)].number
        place = Place(number, *told_missing(line))
        stored = stored_array(line)
        hides = returns(line) or (
            stored and any(stored_array(mine) == stored for mine in self.mine)
        )
        return Difference(place, (), before, (line,), bool(hides))

    def smallest(self, most: int) -> list[Difference]:
        """The differences of the fewest words, so many at most, in their order."""
        size = {id(difference): self.size(difference) for difference in self.differences}
        chosen = sorted(self.differences, key=lambda difference: size[id(difference)])[:most]
        return [difference for difference in self.differences if difference in chosen]

    def same_lines(self, differences: Iterable[Difference]) -> bool:
        """Whether the lines that come are those that go."""
        mine = sorted(self.mine[index].text for one in differences for index in one.mine)
        return mine == sorted(line.text for one in differences for line in one.new)

    def to_tell(self, chosen: Sequence[Difference]) -> list[Difference]:
        """Those that tell the mistake: the others only make room for them."""
        told = [
            one for one in chosen if not (self.comes_back(one, chosen) or self.gives_a_name(one))
        ]
        return told or list(chosen)

    def comes_back(self, gone: Difference, chosen: Iterable[Difference]) -> bool:
        """Whether a line that goes is much like one that comes."""
        if gone.new or not gone.mine:
            return False
        words = Counter(self.mine[gone.mine[0]].words)
        others = (Counter(line.words) for one in chosen for line in one.new)
        return any(2 * (words & new).total() > MUCH * (words + new).total() for new in others)

    def gives_a_name(self, one: Difference) -> bool:
        """Whether a line comes that gives a value to names which the student does not use."""
        if one.mine or len(one.new) != 1:
            return False
        names, sign, _ = one.new[0].text.partition(" = ")
        used = {word for line in self.mine for word in line.words}
        return bool(sign) and all(
            name.isidentifier() and name not in used for name in names.strip("()").split(", ")
        )

    def size(self, difference: Difference) -> int:
        """How many words it changes."""
        mine = Counter(word for index in difference.mine for word in self.mine[index].words)
        new = Counter(word for line in difference.new for word in line.words)
        return ((mine - new) + (new - mine)).total()

    def runs(self) -> Iterator[tuple[Difference, ...]]:
        """Differences of neighbouring lines, two or more: they may be one mistake."""
        run: list[Difference] = []
        for difference in self.differences:
            if run and difference.before > run[-1].before + 1:
                yield from [tuple(run)] if len(run) > 1 else []
                run = []
            run.append(difference)
        yield from [tuple(run)] if len(run) > 1 else []

    def with_changes(self, chosen: Iterable[Difference]) -> str:
        """The whole file with these differences as in our function."""
        gone = {index for difference in chosen for index in difference.mine}
        lines: list[Line] = []
        for index in range(len(self.mine) + 1):
            for difference in chosen:
                if difference.before == index:
                    lines += difference.new
            if index < len(self.mine) and index not in gone:
                lines.append(self.mine[index])
        first = min([self.function.lineno, *(d.lineno for d in self.function.decorator_list)])
        start = self.source.starts[first - 1]
        _, end = self.source.lines_of(self.function)
        before, after = self.source.content[:start], self.source.content[end:]
        imports = "".join(self.imports_for(chosen))
        return imports + (before + text_of(lines).encode() + after).decode("utf-8", "replace")

    def imports_for(self, chosen: Iterable[Difference]) -> Iterator[str]:
        """What lines of ours need, and the student's file has not imported."""
        used = {word for difference in chosen for line in difference.new for word in line.words}
        theirs = self.file.imports()
        for name in sorted(used & set(theirs) - set(self.source.imports())):
            yield theirs[name] + "\n"


def in_forms(source: Source, mine: ast.FunctionDef, right: Sequence[Source]) -> list[Compared]:
    """A function beside the right one that is most like it, in its forms; the likest first.

    Empty if there is no difference. right: files of which one at least has this function.
    """
    lines = lines_of(mine)
    file, ours = nearest(lines, mine.name, right)
    my_names, their_names = set(Scope(mine, set()).known), set(Scope(ours, set()).known)
    names = partners(lines, lines_of(ours), my_names, their_names)
    # The names that only ours has, for parts of its lines, are no mistake of the student's.
    known = {name for name in their_names if name in names or name in my_names}
    forms = [ours, inlined(ours, known)]
    forms += [form for one in forms if (form := guarded_as(one, mine))]
    found = [Compared(source, mine, file, renamed(lines_of(one), names)) for one in forms]
    found.sort(key=lambda one: one.words_changed)
    return found[:MOST_FORMS] if found[0].differences else []


def nearest(
    mine: Sequence[Line], name: str, files: Sequence[Source]
) -> tuple[Source, ast.FunctionDef]:
    """Of the functions of this name the one that has most words in common with these lines."""
    words = Counter(word for line in mine for word in line.words)

    def unlike(found: tuple[Source, ast.FunctionDef]) -> int:
        theirs = Counter(word for line in lines_of(found[1]) for word in line.words)
        return ((words - theirs) + (theirs - words)).total()

    known = [(file, file.functions()[name]) for file in files if name in file.functions()]
    return min(known, key=unlike)


def returns(line: Line) -> bool:
    """Whether the line returns a value."""
    return line.text.startswith("return ")


def stored_array(line: Line) -> str:
    """The array that a line stores to; "" if it is no such line."""
    found = re.match(r"(\w+)\[.*\] [-+*/]?= ", line.text)
    return found[1] if found else ""


def next_of_mine(pairs: Sequence[Pair], otherwise: int) -> int:
    return next((pair.mine for pair in pairs if pair.mine is not None), otherwise)


def with_moves(found: Sequence[Difference], mine: Sequence[Line]) -> Iterator[Difference]:
    """A line that goes here and comes there has been moved: that is one difference."""
    gone = [difference for difference in found if difference.mine and not difference.new]
    new = [difference for difference in found if difference.new and not difference.mine]
    taken: list[Difference] = []
    for difference in gone:
        text = mine[difference.mine[0]].text
        for other in new:
            if other not in taken and other.new[0].text == text:
                taken += [difference, other]
                where = "up" if other.before < difference.before else "down"
                place = difference.place._replace(
                    kind="order of lines", words=f"with this line further {where}"
                )
                yield Difference(place, difference.mine, other.before, other.new)
                break
    yield from (difference for difference in found if difference not in taken)
