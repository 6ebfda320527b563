"""Where a student's function differs from ours, line by line.

Our solution only says where to look first. Whether a line is the mistake is found by running the
student's function with that one line changed.
"""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from lessons.grading.repairs.differences import (
    TOO_MANY,
    Difference,
    Place,
    by_name,
    counts_another,
    definitions,
    given_names,
    overwrites,
    place_of_head,
    returns,
    stored_array,
    stores_like,
    with_conditions,
    with_moves,
    with_replaced,
)
from lessons.grading.repairs.fewer_words import with_fewer_changes
from lessons.grading.repairs.forms import guarded_as, inlined, taken_apart
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
MOST_FOR_A_NAME = 3  # changes: with so many, a name that goes was a way of its own
MUCH = 0.5  # of the words of two lines that are much alike


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
        self.definitions = definitions(self.differences, self.mine)

    def find_differences(self, ours: Sequence[Line]) -> Iterator[Difference]:
        """What makes the student's lines `ours`."""
        pairs = paired(self.mine, ours)
        found = []
        for index, pair in enumerate(pairs):
            if pair.mine is not None and pair.other is not None:
                mine, line = self.mine[pair.mine], ours[pair.other]
                if self.defines_more(mine, line):
                    found.append(self.too_many(pair.mine))
                    found.append(self.missing(pair.mine, line))
                elif (mine.depth, mine.text) != (line.depth, line.text):
                    place = Place(mine.number, *told_change(mine, line))
                    hides = returns(line) and not returns(mine)
                    hides |= stores_like(line, self.mine) > stores_like(line, ours)
                    hides |= counts_another(mine, line)
                    found.append(Difference(place, (pair.mine,), pair.mine, (line,), hides))
            elif pair.mine is not None:
                found.append(self.too_many(pair.mine))
            elif pair.other is not None:
                before = next_of_mine(pairs[index:], len(self.mine))
                found.append(self.missing(before, ours[pair.other]))
        found = list(with_conditions(list(with_moves(found, self.mine)), self.mine))
        yield from with_replaced(found, self.mine)

    def defines_more(self, mine: Line, ours: Line) -> bool:
        """Whether ours defines a name that mine does not have, in a line that is another."""
        theirs = given_names(ours)
        return (
            bool(theirs)
            and not theirs & given_names(mine)
            and not any(theirs & set(line.words) for line in self.mine)
        )

    def too_many(self, index: int) -> Difference:
        place = Place(self.mine[index].number, TOO_MANY, "without this line")
        return Difference(place, (index,), index, ())

    def missing(self, before: int, line: Line) -> Difference:
        above = self.mine[max(0, before - 1)]
        known = {word for mine in self.mine for word in mine.words}
        known |= {*self.source.imports(), *self.source.functions()}
        place = Place(above.number, *told_missing(line, above, known))
        stored = stored_array(line)
        hides = (
            returns(line)
            or overwrites(line, self.mine[:before])
            or (stored and any(stored_array(mine) == stored for mine in self.mine))
        )
        return Difference(place, (), before, (line,), bool(hides))

    def by_name(self, most: int) -> Iterator[tuple[str, list[Difference]]]:
        """The differences of each name that is computed in another way, so many at most."""
        groups = by_name(self.differences, self.mine)
        return ((name, group) for name, group in groups if len(group) <= most)

    def with_definitions(self, chosen: Iterable[Difference]) -> list[Difference]:
        """These differences, with the lines that define what theirs use."""
        chosen = list(chosen)
        found = list(chosen)
        for difference in found:  # grows on the way
            for word in (word for line in difference.new for word in line.words):
                definition = self.definitions.get(word)
                if definition and definition not in found:
                    found.append(definition)
        return sorted([*found[len(chosen) :], *chosen], key=lambda one: one.before)

    def smallest(self, most: int) -> list[Difference]:
        """The differences of the fewest words, so many at most, in their order."""
        size = {id(difference): self.size(difference) for difference in self.differences}
        chosen = sorted(self.differences, key=lambda difference: size[id(difference)])[:most]
        return [difference for difference in self.differences if difference in chosen]

    def versions(self, difference: Difference) -> Iterator[Difference]:
        """The difference; and without the other indentation, if it has that as well."""
        yield difference
        if len(difference.mine) == len(difference.new) == 1:
            mine, (line,) = self.mine[difference.mine[0]], difference.new
            if mine.depth != line.depth and mine.text != line.text:
                yield difference._replace(new=(line._replace(depth=mine.depth),))

    def with_fewer_words(self, difference: Difference) -> Iterator[Difference]:
        """The difference, with a part of its line left as it was."""
        if len(difference.mine) == len(difference.new) == 1:
            mine, (line,) = self.mine[difference.mine[0]], difference.new
            for fewer in with_fewer_changes(mine, line):
                place = Place(mine.number, *told_change(mine, fewer))
                yield difference._replace(place=place, new=(fewer,))

    def same_lines(self, differences: Iterable[Difference]) -> bool:
        """Whether the lines that come are those that go."""
        mine = sorted(self.mine[index].text for one in differences for index in one.mine)
        return mine == sorted(line.text for one in differences for line in one.new)

    def to_tell(self, chosen: Sequence[Difference]) -> Iterator[Place]:
        """The places of these differences; a line that comes back elsewhere is told once."""
        gone = [one for one in chosen if one.mine and not one.new]
        back = {one.before: new for one in gone if (new := self.comes_back(one, chosen))}
        far = [new for before, new in back.items() if abs(new.before - before) > 1]
        for one in chosen:
            if one in self.definitions.values():
                continue  # it changes nothing by itself, and its name is not the student's
            new = back.get(one.before) if one in gone else None
            if new in far and new:
                where = "down" if new.before > one.before else "up"
                words = f"with this line further {where}, in another form"
                yield one.place._replace(kind="order of lines", words=words)
            elif not new and (one.mine or one not in far):
                yield self.where_it_is_made(one) or place_of_head(one, chosen, self.mine)

    def where_it_is_made(self, one: Difference) -> Place | None:
        """The line above that makes the wrong values, if this one does nothing but use them."""
        if len(one.mine) != 1 or len(one.new) != 1:
            return None
        mine, new = self.mine[one.mine[0]].words, one.new[0].words
        if len(mine) != len(new):
            return None
        pairs = {pair for pair in zip(mine, new, strict=True) if pair[0] != pair[1]}
        if not pairs or any(theirs not in self.definitions for _, theirs in pairs):
            return None
        names = {name for name, _ in pairs}
        for line in reversed(self.mine[: one.mine[0]]):
            if names <= given_names(line):
                told = " and ".join(f"`{name}`" for name in sorted(names))
                return Place(line.number, "names", f"with {told} computed in another way")
        return None

    def comes_back(self, gone: Difference, chosen: Iterable[Difference]) -> Difference | None:
        """The difference with a line that is much like the one that goes."""
        line = self.mine[gone.mine[0]]
        for one in chosen:
            for new in one.new:
                # A line that is still more like the new one has been changed; this one has not.
                others = [likeness(self.mine[index], new) for index in one.mine]
                if likeness(line, new) > max([MUCH, *others]):
                    return one
        return None

    def new_words(self, differences: Iterable[Difference]) -> int:
        """How many names and numbers the lines that come have and those that go have not."""
        mine = Counter(word for d in differences for i in d.mine for word in self.mine[i].words)
        new = Counter(word for d in differences for line in d.new for word in line.words)
        return sum(count for word, count in (new - mine).items() if word[0].isalnum())

    def drops_names(self, differences: Sequence[Difference]) -> bool:
        """Whether many lines change, and a name that the student computes is then nowhere."""
        if len(differences) < MOST_FOR_A_NAME:
            return False
        gone = {index for one in differences for index in one.mine}
        given = {name for index in gone for name in given_names(self.mine[index])}
        kept = [line for index, line in enumerate(self.mine) if index not in gone]
        kept += [line for one in differences for line in one.new]
        return bool(given - {word for line in kept for word in line.words})

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
    forms += [taken_apart(one) for one in forms]
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


def likeness(line: Line, other: Line) -> float:
    """The share of their words that two lines have in common."""
    words, others = Counter(line.words), Counter(other.words)
    return 2 * (words & others).total() / max(1, (words + others).total())


def next_of_mine(pairs: Sequence[Pair], otherwise: int) -> int:
    return next((pair.mine for pair in pairs if pair.mine is not None), otherwise)
