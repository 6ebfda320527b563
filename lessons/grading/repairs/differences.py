"""What one change of a function does, and which changes belong together."""

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lessons.course.source_text import syntax_tree
from lessons.grading.repairs.lines import Line

TOO_MANY = "line too many"  # the kind of a place
SEVERAL_NAMES = re.compile("` and `.* computed in another way$")


class Place(NamedTuple):
    """Where a mistake is, and of what kind."""

    line: int
    kind: str
    words: str  # goes on after "line 3: ", such as "with another comparison"


def is_in_several_lines(place: Place) -> bool:
    """Whether a small change is one of several lines at once; what takes one line is told first."""
    return re.search(r" in lines? \d", place.words) is not None


def both_words(first: str, second: str) -> str:
    """What is told of two changes of the same line."""
    if second in first:
        return first
    if first == "without this line":
        return "with another line in its place"
    return f"{first} and {second}"


def is_one_place(places: Sequence[Place]) -> bool:
    """Whether that is one line, and not one for names of several, of which some may be right."""
    return len(places) == 1 and not SEVERAL_NAMES.search(places[0].words)


def lines_of_names(place: Place, source: Sequence[str]) -> list[int]:
    """The lines beside a place that give its other names a value, each the first in the function.

    Only where several names are computed in another way.
    """
    if not SEVERAL_NAMES.search(place.words):
        return []
    first = re.findall(r"\w+", source[place.line - 1].partition("=")[0])
    others = [name for name in re.findall(r"`(\w+)`", place.words) if name not in first]
    found = []
    for name in others:
        for number in range(place.line + 1, len(source) + 1):
            text = source[number - 1]
            if re.match(r"(@|def )", text):
                break
            if re.match(rf"\s*[\w, ]*\b{name}\b[\w, ]*=[^=]", text):
                found.append(number)
                break
    return sorted(set(found))


class Difference(NamedTuple):
    """What one change of a function does: `mine` lines go, `new` ones come in their place."""

    place: Place
    mine: tuple[int, ...]  # of the student's lines
    before: int  # the student's line that `new` is put before
    new: tuple[Line, ...]
    hides: bool = False  # whether `new` could do the work of lines that are wrong


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
                deeper = other.new[0].depth - mine[difference.mine[0]].depth
                if deeper:
                    where += ", and further in" if deeper > 0 else ", and further out"
                place = difference.place._replace(
                    kind="order of lines", words=f"with this line further {where}"
                )
                yield Difference(place, difference.mine, other.before, other.new)
                break
    yield from (difference for difference in found if difference not in taken)


def with_replaced(found: Sequence[Difference], mine: Sequence[Line]) -> Iterator[Difference]:
    """A line that gives names a value comes in the place of lines that go and gave them theirs."""
    gone = [difference for difference in found if difference.mine and not difference.new]
    known = {word for line in mine for word in line.words}
    taken: list[Difference] = []
    merged: dict[int, Difference] = {}
    for index, difference in enumerate(found):
        names = {name for line in difference.new for name in given_names(line)}
        old = [
            other
            for other in gone
            if other not in taken and names_of(other, mine) and names_of(other, mine) <= names
        ]
        if old:
            taken += [difference, *old]
            lines = sorted({line for other in [difference, *old] for line in other.mine})
            told = " and ".join(f"`{name}`" for name in sorted(names & known))
            # The line that comes may stand in the place of one that computes other names.
            first = next(line for line in lines if given_names(mine[line]) & names)
            place = Place(mine[first].number, "names", f"with {told} computed in another way")
            merged[index] = Difference(place, tuple(lines), difference.before, difference.new)
    for index, difference in enumerate(found):
        if index in merged:
            yield merged[index]
        elif difference not in taken:
            yield difference


def with_conditions(found: Sequence[Difference], mine: Sequence[Line]) -> Iterator[Difference]:
    """An `if` that comes in the place of one that goes, however unlike: its condition changes."""
    taken: list[Difference] = []
    for difference in found:
        if difference in taken:
            continue
        new = next((one for one in found if takes_its_place(one, difference, mine)), None)
        if not new:
            yield difference
            continue
        taken.append(new)
        place = difference.place._replace(kind="condition", words="with another condition")
        yield Difference(place, difference.mine, difference.before, new.new, new.hides)


def takes_its_place(new: Difference, gone: Difference, mine: Sequence[Line]) -> bool:
    """Whether it brings an `if` right behind the one that goes, for the same lines below it."""
    if new.mine or gone.new or not gone.mine or new.before != gone.mine[0] + 1:
        return False
    line, other = mine[gone.mine[0]], new.new[0]
    both = line.text.startswith("if ") and other.text.startswith("if ")
    return both and line.depth == other.depth


def place_of_head(one: Difference, chosen: Sequence[Difference], mine: Sequence[Line]) -> Place:
    """Where a change is; of an `if` or a loop that goes alone, what becomes of the lines below it.

    The file could not be read if they did not go on with a block that is above.
    """
    if one.new or len(one.mine) != 1:
        return one.place
    (head,) = one.mine
    below = mine[head + 1 : head + 2]
    gone = {index for other in chosen for index in other.mine}
    if head + 1 in gone or not below or below[0].depth <= mine[head].depth:
        return one.place
    words = f"{one.place.words}, and with those below it in the block above"
    return one.place._replace(words=words)


def by_name(
    found: Sequence[Difference], mine: Sequence[Line]
) -> Iterator[tuple[str, list[Difference]]]:
    """All differences of lines that give the same name its value: they may be one mistake."""
    groups: dict[str, list[Difference]] = {}
    for difference in found:
        for name in sorted(names_of(difference, mine)):
            groups.setdefault(name, []).append(difference)
    for name, group in groups.items():
        told = len(group) > 1 and any(difference.mine for difference in group)
        if told and not any(difference.hides for difference in group):
            yield name, group


def definitions(found: Sequence[Difference], mine: Sequence[Line]) -> dict[str, Difference]:
    """name -> the line that would define it, of names that the student's function does not have.

    Such a line changes nothing by itself, and other lines of the same function need it.
    """
    words = {word for line in mine for word in line.words}
    known: dict[str, Difference] = {}
    for difference in found:
        if difference.new and not difference.mine and is_plain(difference.new[0]):
            for name in given_names(difference.new[0]) - words:
                known[name] = difference
    return known


def overwrites(line: Line, before: Sequence[Line]) -> bool:
    """Whether the line makes one of those before it useless: it is no line that was forgotten."""
    names = given_names(line) if is_plain(line) else set()
    for other in reversed(before):
        if other.depth < line.depth:
            return False
        if other.depth == line.depth and names & given_names(other) and is_plain(other):
            return True
        names -= set(other.words)
    return False


def counts_another(mine: Line, ours: Line) -> bool:
    """Whether two loops count different things: then more than a slip would have to be changed."""
    loops = [re.match(r"for (.+?) in ", line.text) for line in (mine, ours)]
    return all(loops) and len({loop[1] for loop in loops if loop}) > 1


def returns(line: Line) -> bool:
    """Whether the line returns a value."""
    return line.text.startswith("return ")


def stored_array(line: Line) -> str:
    """The array that a line stores to; "" if it is no such line."""
    found = re.match(r"(\w+)\[.*\] [-+*/]?= ", line.text)
    return found[1] if found else ""


def stores_like(line: Line, lines: Sequence[Line]) -> int:
    """How many lines store to the element that this one stores to; 0 if it stores to none.

    If the right function has fewer, as it chooses in one line what the student's `if` chooses, then
    that line does the work of the others.
    """
    target, equals, _ = line.text.partition(" = ")
    if not equals or not stored_array(line):
        return 0
    return sum(other.text.startswith(f"{target} = ") for other in lines)


def names_of(difference: Difference, mine: Sequence[Line]) -> set[str]:
    """The names that its lines give a value, the old ones and the new."""
    lines = [*(mine[index] for index in difference.mine), *difference.new]
    return {name for line in lines for name in given_names(line)}


def given_names(line: Line) -> set[str]:
    """The names that a line gives a value."""
    targets: list[ast.expr] = []
    for node in statements_of(line):
        if isinstance(node, ast.Assign):
            targets += node.targets
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
            targets.append(node.target)
    parts = [
        part for one in targets for part in (one.elts if isinstance(one, ast.Tuple) else [one])
    ]
    return {part.id for part in parts if isinstance(part, ast.Name) and part.id != "_"}


def is_plain(line: Line) -> bool:
    """Whether the line gives names a value that is made of other names."""
    names = given_names(line)
    values = [node.value for node in statements_of(line) if isinstance(node, ast.Assign)]
    used = {part.id for one in values for part in ast.walk(one) if isinstance(part, ast.Name)}
    return bool(values) and not names & used


def statements_of(line: Line) -> Sequence[ast.stmt]:
    """The line as Python; nothing for the head of a loop or condition."""
    tree = syntax_tree(line.text) if "=" in line.text else None
    return tree.body if tree else []
