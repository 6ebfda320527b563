"""Search for the slip in a file that fails a check: change one place, and see whether it passes.

A place is named only if the file has passed with that place changed, with two seeds, and if no
other check of the function fails then that has passed before. In this order:

1. one line as in the right function that is most like the student's;
2. any one small change, the likeliest first;
3. up to three lines of one function as in a right one;
4. the function as a whole.
"""

import ast
import functools
import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from enum import IntEnum
from typing import NamedTuple

from lessons.grading.explain.repairs.beside import Compared, Difference, Place, beside_right_ones
from lessons.grading.explain.repairs.likelihood import Likelihood, told_kinds
from lessons.grading.explain.repairs.likely import (
    OUTSIDE,
    Text,
    head_of,
    in_both_axes,
    likely_changes,
)
from lessons.grading.explain.repairs.numbers import ComputedIn, by_numbers, different
from lessons.grading.walls.identifiers import reached
from lessons.mutations.changes import changes_of
from lessons.mutations.expressions import indices_of
from lessons.mutations.scope import called_name, distance, names_in
from lessons.mutations.source import Change, Source

MOST_BYTES = 40_000  # of a file; of all right and wrong ones the largest has 16,000
MOST_PLACES = 3  # that are told; more are no slip
MOST_DIFFERENCES = 12  # lines that are tried together
TRIES_AFTER_ONE = 20  # that look for a second place which would do as well
SUSPECTED = 5  # ranks that a change gains if it uses what is not used so far
UNSUSPECTED = 2  # ranks that a change of a line loses if that line is as in our solution
OF_A_TOLD_KIND = 3  # ranks that a change gains if the message speaks of such changes
LEADS_OUTSIDE = 4  # ranks that a change gains in a line that leads to an index outside
# Of what is searched: comparing it takes the square of its size.
MOST_SUSPECTS = 40  # functions
MOST_NODES = 2_500  # of a function
MOST_STATEMENTS = 200
LONGEST_LINE = 400  # letters


class Held(IntEnum):
    """What other checks say of a changed text that passes the one which has failed."""

    BREAKS = 0  # one that the student's text passes fails
    SOME = 1  # one that the student's text fails, too, still fails
    ALL = 2


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


class Found(NamedTuple):
    """Where the mistake is."""

    places: tuple[Place, ...]
    all_of_them: bool  # whether they have to be changed together; else one of them is enough
    function: str = ""  # if no place is known, but only the function
    helpers: tuple[str, ...] = ()  # functions of the student's own that it calls
    partly: bool = False  # whether other checks of the function still fail
    strange: int = 0  # the line that computes the first numbers which no right file does

    @property
    def only_removes(self) -> bool:
        return bool(self.places) and all(one.words == "without this line" for one in self.places)


def find_slip(
    text: str,
    given: str,
    right: Sequence[str],
    needs: Sequence[str],
    blank: Sequence[str],
    lines: Tries,
    small: Tries | None,
    held: Callable[[str], Held] = lambda text: Held.ALL,
    told: str = "",
    computed: ComputedIn | None = None,
) -> Found | None:
    """Where a text that fails a check would have to be changed to pass it; None if not found.

    given: the exercise as it was at the beginning. right: files that pass, as far as there are.
    needs: the functions that the check runs. blank: all that the student writes. lines: runs texts
    with lines of `right`. small: runs those with any small change; None to leave them out. held:
    what other checks say of a text that passes. told: what the failed check says. computed: what a
    text computes in a run that fails.
    """
    source = Source(text)
    functions = suspects(source, Source(given), needs, blank)
    if not functions or len(source.content) > MOST_BYTES:
        return None
    search = Search(source, functions, right, lines, held, computed)
    found = search.one_line()
    if found is None and small is not None:
        found = search.one_small_change(small, told)
    return found or search.few_lines() or search.partly or search.one_function()


def suspects(
    source: Source, given: Source, needs: Sequence[str], blank: Sequence[str]
) -> list[ast.FunctionDef]:
    """The functions that a mistake can be in: those needed, then helpers, then changed ones."""
    as_given = {name: ast.dump(node) for name, node in given.functions().items()}
    run = Source(what_runs(source.content.decode("utf-8", "replace"), needs, blank)).functions()
    found = [
        node
        for name, node in source.functions().items()
        if name in run and is_bearable(node, source) and as_given.get(name) != ast.dump(node)
    ]
    found.sort(key=lambda node: needs.index(node.name) if node.name in needs else len(needs))
    return found[:MOST_SUSPECTS]


@functools.lru_cache(maxsize=512)
def names_used(function: str) -> frozenset[str]:
    """The names in the text of a function; in most changed files most functions are the same."""
    return frozenset(names_in(ast.parse(function)))


def what_runs(text: str, needs: Sequence[str], blank: Sequence[str]) -> str:
    """A file without what a check does not run: it takes less time to load.

    needs: the functions that the check runs. blank: all that the student writes.
    """
    source = Source(text)
    functions = source.functions()
    uses = {
        name: names_used(source.text_of(node)) & functions.keys()
        for name, node in functions.items()
    }

    def used_by(names: set[str]) -> set[str]:
        return set().union(*(uses[name] for name in names & functions.keys()))

    needed: set[str] = reached(needs, used_by)
    others = set(blank) - needed
    vain = reached(others, used_by)
    vain |= {name for name in functions if reached({name}, used_by) & others}
    kept = reached((functions.keys() - vain) | {*needs}, used_by)
    lines = source.content.decode("utf-8", "replace").split("\n")
    for name in functions.keys() - kept:
        node = functions[name]
        first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        lines[first - 1 : node.end_lineno] = [""] * ((node.end_lineno or first) + 1 - first)
    return "\n".join(lines)


def is_bearable(function: ast.FunctionDef, source: Source) -> bool:
    """Whether a function is of a size that is searched in a second or so."""
    nodes = list(ast.walk(function))
    statements = sum(isinstance(node, ast.stmt) for node in nodes)
    longest = max(map(len, source.text_of(function).splitlines()))
    return len(nodes) <= MOST_NODES and statements <= MOST_STATEMENTS and longest <= LONGEST_LINE


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
        computed: ComputedIn | None = None,
    ) -> None:
        self.source, self.functions, self.right = source, functions, right
        self.lines, self.held, self.computed = lines, held, computed
        self.partly: Found | None = None  # after which other checks still fail
        self.strange = 0  # the line that computes the first numbers which no right file does
        known = {name for text in right for name in Source(text).functions()}
        self.helpers = set(source.functions()) - known  # that only the student's file has
        self.compared = beside_right_ones(source, functions, right)
        # With all of these lines as in a right file, the check passes.
        guilty = [one for one in self.compared if self.passes(one, one.differences)]
        names = {one.function.name for one in guilty}
        # Who passes because it no longer calls a guilty one is not to blame itself.
        self.guilty = [one for one in guilty if not left_out(one, one.differences) & names]

    def passes(self, one: Compared, chosen: Sequence[Difference], sure: bool = False) -> bool:
        try:
            return self.lines(one.with_changes(chosen), sure)
        except OutOfTries:
            return False

    def one_line(self) -> Found | None:
        """A line that has to be as in a right function."""
        for one in self.guilty:
            for difference in one.without_new_names()[:MOST_DIFFERENCES]:
                if self.passes(one, [difference]):
                    found = self.confirmed(one, [difference])
                    if found:
                        return found
        return None

    def few_lines(self) -> Found | None:
        """The fewest lines of one function that have to be as in a right one."""
        for one in self.guilty:
            needed = one.without_new_names()
            if len(needed) > MOST_DIFFERENCES or not self.passes(one, needed):
                continue
            for difference in list(needed):
                fewer = [other for other in needed if other is not difference]
                if fewer and self.passes(one, fewer):
                    needed = fewer
            if len(needed) <= MOST_PLACES:
                found = self.confirmed(one, needed)
                if found:
                    return found
        return None

    def confirmed(self, one: Compared, chosen: Sequence[Difference]) -> Found | None:
        """What is told of lines with which the check passes, if it does with another seed, too.

        Not where a helper of the student's is no longer called: the mistake may be in that.
        """
        text = one.with_changes(chosen)
        if not self.passes(one, chosen, sure=True) or left_out(one, chosen) & self.helpers:
            return None
        places = {difference.place.line: difference.place for difference in chosen}
        found = Found(tuple(places[line] for line in sorted(places)), True)
        held = self.held(text)
        if held == Held.SOME and not self.partly:
            self.partly = found._replace(partly=True)
        return found if held == Held.ALL else None

    def one_small_change(self, tries: Tries, told: str) -> Found | None:
        """The first small change with which the check passes, and others that do as well."""
        names = {one.function.name for one in self.guilty}
        # Or in a helper of theirs, which a right one does without.
        names = names.union(*(left_out(one, one.differences) for one in self.guilty))
        functions = [one for one in self.functions if one.name in names] or self.functions
        found: dict[Held, list[Place]] = {held: [] for held in Held}
        try:
            changes = candidates(self.source, functions, self.lines_as_ours(), told)
            if self.computed and self.right:
                changes, self.strange = by_numbers(
                    changes,
                    self.source,
                    functions,
                    different(self.right, self.functions),
                    self.computed,
                )
            for change in changes:
                if max(map(len, found.values())) > MOST_PLACES:
                    break
                if any(change.line == place.line for place in found[Held.ALL]):
                    continue
                text = self.source.changed(change)
                if tries(text) and tries(text, sure=True):
                    found[self.held(text)].append(Place(change.line, change.words))
                    tries.left = min(tries.left, TRIES_AFTER_ONE)
        except OutOfTries:
            pass
        places, partly = (tuple(found[held]) for held in (Held.ALL, Held.SOME))
        if not places and 1 <= len(partly) <= MOST_PLACES:
            self.partly = self.partly or Found(partly, False, partly=True)
        return Found(places, False) if 1 <= len(places) <= MOST_PLACES else None

    def lines_as_ours(self) -> set[int]:
        """Lines that are tried later, since they are as in a right function."""
        found: set[int] = set()
        for one in self.compared:
            different = {index for difference in one.differences for index in difference.mine}
            found |= {line.number for i, line in enumerate(one.mine) if i not in different}
        return found

    def one_function(self) -> Found | None:
        """The function, where several are looked at, and one of them is to blame."""
        if len(self.guilty) != 1 or (len(self.functions) == 1 and not self.strange):
            return None
        mine = self.guilty[0].function
        helpers = tuple(sorted(names_called(mine) & self.helpers))
        return Found((), False, mine.name, helpers=helpers, strange=self.strange)


# ---------------------------------------------------------------- the small changes


def candidates(
    source: Source,
    functions: Sequence[ast.FunctionDef],
    unsuspected: Collection[int] = (),
    told: str = "",
) -> list[Change]:
    """Changes of these functions, each once, in the order in which they should be tried.

    unsuspected: lines that are tried later, since they are as in our solution. told: what the
    failed check says.
    """
    ranked, kinds = [], told_kinds(told)
    for place, function in enumerate(functions):
        idle, likelihood = idle_names(function), Likelihood(source, function)
        text = Text(function, source)
        leading = lines_to_outside(text, told)
        found = [*likely_changes(function, source, told), *changes_of(function, source)]
        found += in_both_axes(found, text)
        for rank, change in found:
            if likelihood.is_vain(change):
                continue
            rank += likelihood.ranks(change)
            rank -= SUSPECTED * any(re.search(rf"\b{name}\b", change.new) for name in idle)
            rank -= OF_A_TOLD_KIND * (change.kind in kinds)
            if change.line in leading:  # such as rows for columns
                old = source.between(change.start, change.end)
                rank -= LEADS_OUTSIDE + 2 * (
                    change.kind == "name" and distance(old, change.new) == 0
                )
            rank += UNSUSPECTED * (change.line in unsuspected)
            ranked.append((rank, place, change.line, change))
    ranked.sort(key=lambda entry: entry[:3])
    turns: Counter[tuple[int, int]] = Counter()

    def in_turn(entry: tuple[int, int, int, Change]) -> tuple[int, int]:
        """Functions take turns: a short one is not behind all of a long one."""
        turns[entry[:2]] += 1
        return entry[0], turns[entry[:2]]

    ranked.sort(key=in_turn)
    return list({change[:3]: change for *_, change in ranked}.values())


def lines_to_outside(text: Text, told: str) -> set[int]:
    """The lines that give its values to an index which a finding says is outside."""
    names: set[str] = set()
    for line, array, *axes in OUTSIDE.findall(told):
        for node in text.all(ast.Subscript):
            if node.lineno == int(line) and head_of(node) == array:
                names.update(*map(names_in, indices_of(node)[int(axes[0] or axes[1]) :][:1]))
    found: set[int] = set()
    for _ in text.pairs:
        pairs = [(a, b) for a, b in text.pairs if text.of(a).partition("[")[0] in names]
        found |= {a.lineno for a, _ in pairs}
        names.update(name for _, b in pairs for name in names_in(b))
    return found


def idle_names(function: ast.FunctionDef) -> list[str]:
    """Names that are given or computed, and never used."""
    given = [argument.arg for argument in function.args.args]
    nodes = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    stored = [node.id for node in nodes if isinstance(node.ctx, ast.Store)]
    used = {node.id for node in nodes if isinstance(node.ctx, ast.Load)}
    names = dict.fromkeys([*given, *stored])
    return [name for name in names if name not in used and not name.startswith("_")]


def left_out(one: Compared, chosen: Sequence[Difference]) -> set[str]:
    """The functions that it calls, and does not if these lines are as in a right one."""
    changed = Source(one.with_changes(chosen)).functions().get(one.function.name)
    return names_called(one.function) - (names_called(changed) if changed else set())


def names_called(function: ast.FunctionDef) -> set[str]:
    """Functions that are called; not those of its own values, such as `found.append`."""
    nodes = list(ast.walk(function))
    own = {one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    names = {
        ast.unparse(one.func) for one in nodes if isinstance(one, ast.Call) and called_name(one)
    }
    return {name for name in names if name.partition(".")[0] not in own}
