"""Search for the slip in a file that fails a check: change one place, and see whether it passes.

First what differs from our solution, one line at a time, then every small change that a slip could
need. A place is named only if the file has passed with that place changed.
"""

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from lessons.grading.repairs.candidates import candidates
from lessons.grading.repairs.compared import Compared, in_forms
from lessons.grading.repairs.differences import TOO_MANY, Difference, Place
from lessons.grading.repairs.source import Change, Source
from lessons.grading.repairs.structure import other_structure

# Of what is searched: comparing it takes the square of its size. Behind each, what the largest of
# all right and wrong files of the lessons has.
MOST_BYTES = 40_000  # 16,000
MOST_SUSPECTS = 40  # functions, 32
MOST_NODES = 2_500  # of a function, 1,200
MOST_STATEMENTS = 200  # 91
LONGEST_LINE = 400  # letters, 116
MOST_PLACES = 3  # that are told; more are no slip
MOST_DIFFERENCES = 12  # lines that are tried together
# An `if` that may be left out, or with all that it stands for.
CONDITIONS = {"True": "without this condition", "False": "without these lines"}
TRIES_AFTER_ONE = 20  # that look for a second place which would do as well


class Found(NamedTuple):
    """Where the mistake is."""

    places: tuple[Place, ...]
    all_of_them: bool  # whether they have to be changed together; else one of them is enough
    function: str = ""  # if no place is known, but only the function
    structure: str = ""  # what right ones of this name have, and it has not

    @property
    def only_removes(self) -> bool:
        return bool(self.places) and all(place.kind == TOO_MANY for place in self.places)


class OutOfTries(Exception):
    """As many changed texts were run as may be, or the time is up."""


class Tries:
    """Runs changed texts, each once, and counts them.

    passes: (text, sure) -> whether the check passes; sure: with other random numbers as well.
    """

    def __init__(self, passes: Callable[[str, bool], bool], most: int) -> None:
        self.passes = passes
        self.left = most
        self.known: dict[tuple[str, bool], bool] = {}

    def __call__(self, text: str, sure: bool = False) -> bool:
        if (text, sure) not in self.known:
            if self.left <= 0:
                raise OutOfTries
            self.left -= 1
            self.known[text, sure] = self.passes(text, sure)
        return self.known[text, sure]


def find_slip(
    text: str,
    given: str,
    right: Sequence[str],
    needs: Sequence[str],
    blank: Sequence[str],
    lines: Tries,
    small: Tries | None,
) -> Found | None:
    """Where a text that fails a check would have to be changed to pass it; None if not found.

    given: the exercise as it was at the beginning. right: files that pass, as far as there are.
    needs: the functions that the check runs. blank: all that the student writes. lines: runs texts
    with lines of `right`. small: runs those with any small change; None to leave them out.
    """
    source = Source(text)
    if len(source.content) > MOST_BYTES:
        return None
    functions = suspects(source, Source(given), needs, blank)
    if not functions:
        return None
    search = Search(source, functions, right, lines)
    found = search.one_line() or search.one_name()
    if small and (not found or len(found.places) > 1):
        found = search.one_small_change(small) or found
    return found or search.few_lines() or search.one_function()


def suspects(
    source: Source, given: Source, needs: Sequence[str], blank: Sequence[str]
) -> list[ast.FunctionDef]:
    """The functions that a mistake can be in: those needed, then helpers, then changed ones."""
    as_given = {name: ast.dump(node) for name, node in given.functions().items()}
    other = set(blank) - set(needs)
    found = [
        node
        for name, node in source.functions().items()
        if name not in other and is_bearable(node, source) and as_given.get(name) != ast.dump(node)
    ]
    found.sort(key=lambda node: needs.index(node.name) if node.name in needs else 99)
    return found[:MOST_SUSPECTS]


def is_bearable(function: ast.FunctionDef, source: Source) -> bool:
    """Whether a function is of a size that is searched in a second or so."""
    nodes = list(ast.walk(function))
    statements = sum(isinstance(node, ast.stmt) for node in nodes)
    longest = max(map(len, source.text_of(function).splitlines()))
    return len(nodes) <= MOST_NODES and statements <= MOST_STATEMENTS and longest <= LONGEST_LINE


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
    ) -> None:
        self.source = source
        self.functions = functions
        self.right = right
        self.lines = lines
        self.compared = list(compared_with(right, source, functions))
        # With each of these as in a right file, the check passes.
        passing = (
            next((one for one in forms if self.passes(one, one.differences)), None)
            for forms in self.compared
        )
        self.guilty = [one for one in passing if one]

    def passes(self, one: Compared, differences: Sequence[Difference], sure: bool = False) -> bool:
        try:
            return self.lines(one.with_changes(one.with_definitions(differences)), sure)
        except OutOfTries:
            return False

    # ---------------------------------------------------------------- beside a right function

    def one_line(self) -> Found | None:
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
                    return self.told(one, self.fewest(one, group))
        return None

    def one_name(self) -> Found | None:
        """A name that is computed as in a right function, in however many lines."""
        for one in self.guilty:
            for name, group in one.by_name(MOST_PLACES):
                if self.passes(one, group) and self.passes(one, group, sure=True):
                    first = next(difference for difference in group if difference.mine)
                    words = f"with `{name}` computed in another way"
                    return Found((Place(first.place.line, "name", words),), True)
        return None

    def few_lines(self) -> Found | None:
        """The fewest lines of one function that have to be as in a right one."""
        for one in self.guilty:
            if len(one.differences) > MOST_DIFFERENCES:
                continue
            needed = self.fewest(one, one.differences)
            hides = any(difference.hides for difference in needed)
            if not hides and len(needed) <= MOST_PLACES and (found := self.told(one, needed)):
                return found
        return None

    def one_function(self) -> Found | None:
        """The function, where several are looked at, and one of them is to blame."""
        if len(self.guilty) != 1:
            return None
        mine = self.guilty[0].function
        known = [Source(text).functions() for text in self.right]
        right = [functions[mine.name] for functions in known if mine.name in functions]
        own = {name for name in self.source.functions() if not any(name in one for one in known)}
        structure = other_structure(mine, right, own)
        if len(self.functions) == 1 and not structure:
            return None
        return Found((), False, mine.name, structure)

    def fewest(self, one: Compared, differences: Sequence[Difference]) -> Sequence[Difference]:
        """Of differences that suffice together, as many as are needed."""
        needed = list(differences)
        for difference in differences:
            fewer = [other for other in needed if other is not difference]
            if fewer and self.passes(one, fewer):
                needed = fewer
        return needed

    def told(self, one: Compared, differences: Sequence[Difference]) -> Found | None:
        if not self.passes(one, differences, sure=True):
            return None
        places: dict[int, Place] = {}
        for place in one.to_tell(differences):
            before = places.get(place.line, place)
            places[place.line] = before._replace(words=both_words(before.words, place.words))
        if len(differences) > 1 and one.same_lines(differences):
            words = "with these lines in another order"
            places = {line: Place(line, "order of lines", words) for line in places}
        return Found(tuple(places[line] for line in sorted(places)), True)

    # ---------------------------------------------------------------- any small change

    def one_small_change(self, tries: Tries) -> Found | None:
        """The first small change with which the check passes, and others that do as well."""
        names = {one.function.name for one in self.guilty}
        functions = [one for one in self.functions if one.name in names] or self.functions
        as_ours = lines_as_ours([forms[0] for forms in self.compared])
        found: list[Place] = []
        try:
            for change in candidates(self.source, functions, as_ours, self.right):
                if len(found) > MOST_PLACES:
                    return None
                if change.line in {place.line for place in found}:
                    continue
                text = self.source.changed(change)
                if tries(text) and tries(text, sure=True):
                    found.append(self.plainer(change, tries))
                    tries.left = min(tries.left, TRIES_AFTER_ONE)
        except OutOfTries:
            pass
        return Found(tuple(found), False) if 1 <= len(found) <= MOST_PLACES else None

    def plainer(self, change: Change, tries: Tries) -> Place:
        """Where a change is; or its condition as a whole, if the check passes without that, too."""
        assert self.source.tree, "only files that can be read are searched"
        for node in ast.walk(self.source.tree):
            if not isinstance(node, ast.If) or node.orelse:
                continue
            start, end = self.source.span(node.test)
            if not start <= change.start < change.end <= end:
                continue
            for value, words in CONDITIONS.items():
                whole = Change(start, end, value, node.lineno, "condition", words)
                text = self.source.changed(whole)
                if tries(text) and tries(text, sure=True):
                    return Place(whole.line, whole.kind, whole.words)
        return Place(change.line, change.kind, change.words)


def both_words(first: str, second: str) -> str:
    """What is told of two changes of the same line."""
    if second in first:
        return first
    if first == "without this line":
        return "with another line in its place"
    return f"{first} and {second}"


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
