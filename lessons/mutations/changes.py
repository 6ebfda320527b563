"""All small changes of a function, the likeliest first.

They are the mistakes that are generated, where the function is ours; the mutants that tests have to
notice; and the repairs that are tried, where it is a student's.
"""

import ast
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

from lessons.mutations.expressions import EXPRESSIONS
from lessons.mutations.scope import Scope, body_of
from lessons.mutations.source import Change, Source
from lessons.mutations.statements import STATEMENTS, barriers

MOST_RANK_TWICE = 2  # of a change that is tried in several places at once
MOST_PLACES_TWICE = 5
MOST_BYTES_BETWEEN = 6_000  # from the first place to the last
MOST_EXCHANGED = 100
MOST_PAIRS = 9  # of places of two names that may be exchanged
MOST_LETTERS = 2_000  # of what is put in one place
IN_ONE_DIVISION = 2  # ranks that a change gains if it is of the divisor of both // and %

Ranked = tuple[int, Change]


def likeliest(function: ast.FunctionDef, source: Source) -> list[Change]:
    """All changes of one function, each once: by rank, and by line where that is equal."""
    found = sorted(changes_of(function, source), key=lambda entry: (entry[0], entry[1].line))
    return list({change[:3]: change for _, change in found}.values())


def changes_of(function: ast.FunctionDef, source: Source) -> list[Ranked]:
    """(rank, change) for all changes of one function; the likelier slips have the lower rank."""
    scope = Scope(function, names_of_the_file(source))
    found = [*of_expressions(scope, source), *of_statements(function, source)]
    found += twice(found, source)
    return [*found, *of_one_division(found, function, source)]


def of_expressions(scope: Scope, source: Source) -> Iterator[Ranked]:
    # An array's indices are changed together with it.
    indices = {id(node.slice) for node in scope.nodes if isinstance(node, ast.Subscript)}
    for node in scope.nodes:
        if not isinstance(node, ast.expr) or (isinstance(node, ast.Tuple) and id(node) in indices):
            continue
        text = source.text_of(node)
        for rank, kinds, propose in EXPRESSIONS:
            for new, kind, words in propose(node, source, scope) if isinstance(node, kinds) else ():
                if len(new) <= MOST_LETTERS and new != text:
                    yield rank, source.change(node, new, kind, words)


def of_statements(function: ast.FunctionDef, source: Source) -> Iterator[Ranked]:
    shares = "shared" in source.text_of(function)
    for body in bodies_in(body_of(function)):
        for rank, propose in STATEMENTS:
            if propose is not barriers or shares:
                yield from ((rank, change) for change in propose(body, source))


def bodies_in(body: Sequence[ast.stmt]) -> Iterator[Sequence[ast.stmt]]:
    """A list of statements, and those within its loops and conditions."""
    yield body
    for statement in body:
        if isinstance(statement, (ast.For, ast.If, ast.While)):
            yield from bodies_in(statement.body)
            if statement.orelse:
                yield from bodies_in(statement.orelse)


def names_of_the_file(source: Source) -> set[str]:
    """Constants and functions that the file imports or defines."""
    found = set(source.functions())
    for node in source.tree.body if source.tree else []:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {alias.asname or alias.name for alias in node.names}
        if isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found - {"cuda", "math", "np", "numpy", "numba", "register_jitable"}


# ---------------------------------------------------------------- several places at once


def twice(found: Sequence[Ranked], source: Source) -> Iterator[Ranked]:
    """The same change in all places of a function, or in two; two things exchanged."""
    alike: dict[tuple[str, str], list[Ranked]] = {}
    for rank, change in found:
        old = source.between(change.start, change.end)
        alike.setdefault((old, change.new), []).append((rank, change))
    for (old, new), group in alike.items():
        back = alike.get((new, old), [])
        if old < new and 0 < len(group) * len(back) <= MOST_EXCHANGED:
            yield from exchanged(group, back, source)
        rank, changes = group[0][0], in_order(change for _, change in group)
        if len(changes) > 1 and rank <= MOST_RANK_TWICE and are_near(changes):
            yield rank + 1, together(changes, source)
            if 2 < len(changes) <= MOST_PLACES_TWICE:
                for pair in combinations(changes, 2):
                    yield rank + 2, together(pair, source)


def exchanged(
    one_way: Sequence[Ranked], other_way: Sequence[Ranked], source: Source
) -> Iterator[Ranked]:
    """Two names or numbers, each in the other's place: everywhere, or in one place each."""
    pairs = [(first, second) for _, first in one_way for _, second in other_way]
    everywhere = in_order(change for pair in pairs for change in pair)
    for changes in (everywhere, *(sorted(pair) for pair in pairs[:MOST_PAIRS])):
        if len(changes) > 1 and are_near(changes):  # one, if both are in the same place
            change = together(changes, source)
            words = f"with `{one_way[0][1].new}` and `{other_way[0][1].new}` exchanged"
            others = sorted({one.line for one in changes} - {change.line})
            words += f" here and in {lines_in_words(others)}" if others else ""
            yield one_way[0][0] + 1, change._replace(kind="exchanged", words=words)


def of_one_division(
    found: Sequence[Ranked], function: ast.FunctionDef, source: Source
) -> Iterator[Ranked]:
    """The same change of the divisor in `a // n` and in `a % n`: who takes one for another, twice.

    That is one slip, and a likely one: neither is ever changed alone.
    """
    divisors = {
        source.span(node.right): (ast.unparse(node.left), type(node.op))
        for node in ast.walk(function)
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.FloorDiv, ast.Mod))
    }
    groups: dict[tuple[str, str, str], dict[type[ast.operator], Ranked]] = {}
    for rank, change in found:
        place = divisors.get((change.start, change.end))
        if place and rank <= MOST_RANK_TWICE:
            dividend, operator = place
            old = source.between(change.start, change.end)
            groups.setdefault((dividend, old, change.new), {})[operator] = rank, change
    for group in groups.values():
        if len(group) == 2:
            changes = sorted(change for _, change in group.values())
            yield min(group.values())[0] - IN_ONE_DIVISION, together(changes, source)


def in_order(changes: Iterator[Change]) -> list[Change]:
    """One change per place, from the first place to the last."""
    return sorted({change.start: change for change in changes}.values())


def are_near(changes: Sequence[Change]) -> bool:
    """Whether changes lie side by side, in a part of the text that is not too long."""
    apart = all(first.end <= second.start for first, second in pairwise(changes))
    return apart and changes[-1].end - changes[0].start <= MOST_BYTES_BETWEEN


def together(changes: Sequence[Change], source: Source) -> Change:
    """Several changes of different places as one."""
    first = changes[0]
    text, words = first.new, first.words
    for before, change in pairwise(changes):
        text += source.between(before.end, change.start) + change.new
    others = sorted({change.line for change in changes[1:]})
    if others != [first.line]:
        words += f", and the same in {lines_in_words(others)}"
    return first._replace(end=changes[-1].end, new=text, words=words)


def lines_in_words(lines: Sequence[int]) -> str:
    """ "line 5", or "lines 5, 7 and 9"."""
    if len(lines) == 1:
        return f"line {lines[0]}"
    return f"lines {', '.join(map(str, lines[:-1]))} and {lines[-1]}"
