"""Search for the slip in a file that fails a check: change one place, and see whether it passes.

First what differs from our solution, one line at a time, then every small change that a slip could
need. A place is named only if the file has passed with that place changed.
"""

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from lessons.grading.repairs.candidates import candidates
from lessons.grading.repairs.compared import Compared, in_forms
from lessons.grading.repairs.differences import (
    TOO_MANY,
    Difference,
    Place,
    both_words,
    is_in_several_lines,
    is_one_place,
)
from lessons.grading.repairs.idle import lines_for_nothing, new_for_nothing, new_unused
from lessons.grading.repairs.source import Change, Source
from lessons.grading.repairs.structure import names_called, other_structure
from lessons.grading.repairs.suspects import suspects
from lessons.grading.repairs.tries import Held, OutOfTries, Tries
from lessons.grading.repairs.wider import CONDITIONS, wider

MOST_BYTES = 40_000  # of a file; of all right and wrong ones the largest has 16,000
MOST_PLACES = 3  # that are told; more are no slip
MOST_DIFFERENCES = 12  # lines that are tried together
KEPT_TRIES = 3  # to make sure of what was found
TRIES_AFTER_ONE = 20  # that look for a second place which would do as well
TRIES_AFTER_SOME = 80  # that look for one after which no other check of the functions fails


class Found(NamedTuple):
    """Where the mistake is."""

    places: tuple[Place, ...]
    all_of_them: bool  # whether they have to be changed together; else one of them is enough
    function: str = ""  # if no place is known, but only the function
    structure: str = ""  # what right ones of this name have, and it has not
    anew: bool = False  # whether lines of the student's are then for nothing
    idle: tuple[int, ...] = ()  # these lines
    helpers: tuple[str, ...] = ()  # functions of the student's own that it calls
    partly: bool = False  # whether other checks of the function still fail

    @property
    def only_removes(self) -> bool:
        return bool(self.places) and all(place.kind == TOO_MANY for place in self.places)


Repair = tuple[str, Found]  # the changed text, and what is told of it


def find_slip(
    text: str,
    given: str,
    right: Sequence[str],
    needs: Sequence[str],
    blank: Sequence[str],
    lines: Tries,
    small: Tries | None,
    held: Callable[[str], Held] = lambda text: Held.ALL,
) -> Found | None:
    """Where a text that fails a check would have to be changed to pass it; None if not found.

    given: the exercise as it was at the beginning. right: files that pass, as far as there are.
    needs: the functions that the check runs. blank: all that the student writes. lines: runs texts
    with lines of `right`. small: runs those with any small change; None to leave them out. held:
    what other checks say of a text that passes.
    """
    source = Source(text)
    if len(source.content) > MOST_BYTES:
        return None
    functions = suspects(source, Source(given), needs, blank)
    if not functions:
        return None
    search = Search(source, functions, right, lines, held)
    found = search.first_held(search.one_line()) or search.first_held(search.one_name())
    if small and not (found and is_one_place(found.places)):
        found = search.one_small_change(small) or found
    found = found or search.first_held(search.few_lines())
    return found or search.partly or search.one_function()


def lines_as_ours(compared: Sequence[Compared]) -> set[int]:
    """Lines that nobody has to suspect."""
    found: set[int] = set()
    for one in compared:
        differing = {line for difference in one.differences for line in difference.mine}
        found |= {line.number for i, line in enumerate(one.mine) if i not in differing}
    return found


class Search:
    """One search; what was found out so far.

    functions: those that the mistake can be in. lines: runs texts with lines of `right`.
    """

    def __init__(
        self,
        source: Source,
        functions: Sequence[ast.FunctionDef],
        right: Sequence[str],
        lines: Tries,
        held: Callable[[str], Held],
    ) -> None:
        self.source = source
        self.functions = functions
        self.right = right
        self.lines = lines
        self.held = held
        self.partly: Found | None = None  # after which other checks still fail
        known = {name for text in right for name in Source(text).functions()}
        self.helpers = set(source.functions()) - known  # that only the student's file has
        self.compared = list(compared_with(right, source, functions))
        # With each of these as in a right file, the check passes.
        passing = (
            next((one for one in forms if self.passes(one, one.differences)), None)
            for forms in self.compared
        )
        self.guilty = [one for one in passing if one]

    def passes(self, one: Compared, differences: Sequence[Difference], sure: bool = False) -> bool:
        try:
            return self.lines(self.changed(one, differences), sure)
        except OutOfTries:
            return False

    def changed(self, one: Compared, differences: Sequence[Difference]) -> str:
        return one.with_changes(one.with_definitions(differences))

    def first_held(self, repairs: Iterable[Repair]) -> Found | None:
        """The first repair after which no check of the functions fails."""
        for text, found in repairs:
            held = self.held(text)
            if held == Held.ALL:
                return found
            if held == Held.SOME and not self.partly:
                self.partly = found._replace(partly=True)
        return None

    # ---------------------------------------------------------------- beside a right function

    def one_line(self) -> Iterator[Repair]:
        """A line that has to be as in a right function, or neighbouring ones."""
        for one in self.guilty:
            smallest = one.smallest(MOST_DIFFERENCES)
            singles = [
                (version,) for difference in smallest for version in one.versions(difference)
            ]
            runs = [run for run in one.runs() if len(run) <= MOST_PLACES]
            for group in [*singles, *runs]:
                hides = any(difference.hides for difference in group)
                if not hides and self.passes(one, group):
                    yield from self.told(one, self.fewest(one, group))

    def one_name(self) -> Iterator[Repair]:
        """A name that is computed as in a right function, in however many lines."""
        for one in self.guilty:
            for name, group in one.by_name(MOST_PLACES):
                passes = self.passes(one, group) and self.passes(one, group, sure=True)
                if passes and not (self.is_innocent(one, group) or self.goes_around(one, group)):
                    first = next(difference for difference in group if difference.mine)
                    words = f"with `{name}` computed in another way"
                    found = Found((Place(first.place.line, "name", words),), True)
                    yield self.changed(one, group), found

    def few_lines(self) -> Iterator[Repair]:
        """The fewest lines of one function that have to be as in a right one."""
        for one in self.guilty:
            if len(one.differences) > MOST_DIFFERENCES:
                continue
            needed = self.fewest(one, one.differences)
            hides = any(difference.hides for difference in needed)
            if not hides and len(needed) <= MOST_PLACES:
                yield from self.told(one, needed)

    def one_function(self) -> Found | None:
        """The function, where several are looked at, and one of them is to blame."""
        if len(self.guilty) != 1:
            return None
        mine = self.guilty[0].function
        known = [Source(text).functions() for text in self.right]
        right = [functions[mine.name] for functions in known if mine.name in functions]
        structure = other_structure(mine, right, self.helpers)
        if len(self.functions) == 1 and not structure:
            return None
        helpers = tuple(sorted(names_called(mine) & self.helpers))
        return Found((), False, mine.name, structure, helpers=helpers)

    def fewest(self, one: Compared, differences: Sequence[Difference]) -> Sequence[Difference]:
        """Of differences that suffice together, as many as are needed."""
        needed = list(differences)
        for difference in differences:
            fewer = [other for other in needed if other is not difference]
            if fewer and self.passes(one, fewer):
                needed = fewer
        return needed

    def fewest_words(self, one: Compared, differences: Sequence[Difference]) -> list[Difference]:
        """The same lines, with no more words of each changed than have to be."""
        needed = list(differences)
        for index in range(len(needed)):
            while fewer := next(self.with_fewer_words(one, needed, index), None):
                needed[index] = fewer
        return needed

    def with_fewer_words(
        self, one: Compared, needed: Sequence[Difference], index: int
    ) -> Iterator[Difference]:
        for fewer in one.with_fewer_words(needed[index]):
            if self.lines.left <= KEPT_TRIES:
                return
            if self.passes(one, [*needed[:index], fewer, *needed[index + 1 :]]):
                yield fewer

    def is_innocent(self, one: Compared, differences: Sequence[Difference]) -> bool:
        """Whether the student's lines, or one of them, are right beside lines of ours.

        The change then only makes up for a mistake that is elsewhere.
        """
        places = [(difference.mine, difference.before) for difference in differences]
        for kept in [*([place] for place in places), places]:
            others = [ours for ours in one.differences if (ours.mine, ours.before) not in kept]
            if self.lines.left > KEPT_TRIES and others and self.passes(one, others):
                return True
        return False

    def goes_around(self, one: Compared, differences: Sequence[Difference]) -> bool:
        """Whether lines of ours do the work of lines or helpers that nobody then uses."""
        changed = Source(self.changed(one, differences)).functions()[one.function.name]
        if (names_called(one.function) - names_called(changed)) & self.helpers:
            return True
        defined = any(new in one.definitions.values() for new in one.with_definitions(differences))
        return defined and self.leaves_idle(one, differences)

    def leaves_idle(self, one: Compared, differences: Sequence[Difference]) -> bool:
        """Whether the student's function then computes something for nothing."""
        return bool(new_for_nothing(one.function, self.changed(one, differences)))

    def told(self, one: Compared, differences: Sequence[Difference]) -> Iterator[Repair]:
        if self.is_innocent(one, differences):
            return
        differences = self.fewest_words(one, differences)
        if self.goes_around(one, differences) or not self.passes(one, differences, sure=True):
            return
        places: dict[int, Place] = {}
        for place in one.to_tell(differences):
            before = places.get(place.line, place)
            places[place.line] = before._replace(words=both_words(before.words, place.words))
        if len(differences) > 1 and one.same_lines(differences):
            words = "with these lines in another order"
            places = {line: Place(line, "order of lines", words) for line in places}
        told = tuple(places[line] for line in sorted(places))
        new_words = one.new_words(differences) if self.leaves_idle(one, differences) else 0
        text, anew = self.changed(one, differences), new_words > 1  # one alone is another name
        others = new_words and new_unused(one.function, text)
        if len(told) > 1 and (others or one.drops_names(differences)):
            return  # that is another way to do it all
        idle = lines_for_nothing(one.function, one.mine, text) if anew else ()
        yield text, Found(told, True, anew=anew, idle=tuple(idle))

    # ---------------------------------------------------------------- any small change

    def one_small_change(self, tries: Tries) -> Found | None:
        """The first small change with which the check passes, and others that do as well."""
        names = {one.function.name for one in self.guilty}
        functions = [one for one in self.functions if one.name in names] or self.functions
        as_ours = lines_as_ours([forms[0] for forms in self.compared])
        found: dict[Held, list[Place]] = {held: [] for held in Held}
        try:
            for change in candidates(self.source, functions, as_ours, self.right):
                if max(map(len, found.values())) > MOST_PLACES:
                    break
                if any(change.line == place.line for place in found[Held.ALL]):
                    continue
                text = self.source.changed(change)
                if tries(text) and tries(text, sure=True):
                    held = self.held(text)
                    found[held].append(self.plainer(change, tries, held))
                    after = TRIES_AFTER_ONE if held == Held.ALL else TRIES_AFTER_SOME
                    tries.left = min(tries.left, after)
        except OutOfTries:
            pass
        places, partly = (
            sorted(self.without_parts(found[held]), key=is_in_several_lines)
            for held in (Held.ALL, Held.SOME)
        )
        if not places and 1 <= len(partly) <= MOST_PLACES:
            self.partly = self.partly or Found(tuple(partly), False, partly=True)
        return Found(tuple(places), False) if 1 <= len(places) <= MOST_PLACES else None

    def without_parts(self, places: Sequence[Place]) -> list[Place]:
        """Without those within lines that may be left out as a whole."""
        whole = {place.line for place in places if place.words == CONDITIONS["False"]}
        nodes = ast.walk(self.source.tree) if self.source.tree else ()
        inner = {
            line
            for node in nodes
            if isinstance(node, ast.If) and node.lineno in whole
            for line in range(node.lineno + 1, (node.end_lineno or node.lineno) + 1)
        }
        return [place for place in places if place.line not in inner]

    def plainer(self, change: Change, tries: Tries, held: Held) -> Place:
        """Where a change is; or what it is in as a whole, if the check passes without that, too."""
        for whole in wider(change, self.source):
            text = self.source.changed(whole)
            if tries(text) and tries(text, sure=True) and self.held(text) >= held:
                return Place(whole.line, whole.kind, whole.words)
        return Place(change.line, change.kind, change.words)


def compared_with(
    right: Sequence[str], source: Source, functions: Sequence[ast.FunctionDef]
) -> Iterator[list[Compared]]:
    """The functions that differ from right ones, beside these: see `in_forms`."""
    solutions = [Source(text) for text in right]
    solved = {name for solution in solutions for name in solution.functions()}
    for function in functions:
        if function.name in solved:
            forms = in_forms(source, function, solutions)
            if forms:
                yield forms
