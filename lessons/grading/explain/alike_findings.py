"""Which findings tell of one mistake: they are told once."""

import re
from collections.abc import Sequence

from lessons.grading.worker.outcome import Found

READ = re.compile(r"(?:(in \w+ \([^)]*\)): )?(\w+)\[[^]]*\] is read")
OUTSIDE = re.compile(r"(?:^|: )(\w+)\[[^]]*\] is outside (.*)", re.DOTALL)
ADVICE = re.compile(r"(?:puts the two in order|only one of them stays): (.*)", re.DOTALL)
OTHER_LINE = re.compile(r" (?:reads it|writes it|changes it atomically) \(line (\d+)")
ONE_LINE, TWO_LINES = "this is a read-modify-write", "both lines change an element"
TWO_STEPS = "other threads do the same, and one of the changes is lost"

NO_ORDER = "nothing puts the two in order"

Group = list[Found]  # the first of them is told


def groups_of(findings: Sequence[Found]) -> list[Group]:
    """Findings in groups of which each has one cause, in the order in which they were found."""
    groups: dict[tuple[object, ...], Group] = {}
    for found in without_pairs(findings):
        groups.setdefault(cause_of(found), []).append(found)
    return list(groups.values())


def cause_of(found: Found) -> tuple[object, ...]:
    """Alike for readings of one array that nobody has written, one advice on the same lines, and
    indices outside of an array of which the same is said."""
    read = READ.search(found.message) if found.own and found.kind == "uninitialised" else None
    if read:
        return found.kind, read[1], read[2]
    outside = OUTSIDE.search(found.message) if found.own and found.kind == "out-of-bounds" else None
    if outside:
        return found.kind, outside[1], outside[2]
    if TWO_STEPS in advice_of(found):  # which names the lines, and is said of each pair of them
        return found.kind, advice_of(found)
    alone = found.kind == "race" and found.message.endswith(NO_ORDER)
    return found.kind, lines_of(found), NO_ORDER if alone else advice_of(found) or found.message


def lines_of(found: Found) -> frozenset[int]:
    """The line of a finding, and the other one that its message names."""
    other = OTHER_LINE.search(found.message)
    return frozenset((found.line, int(other[1]) if other else found.line))


def without_pairs(findings: Sequence[Found]) -> list[Found]:
    """Without races of two lines of which each is told to be one by itself."""
    alone = {found.line for found in findings if advice_of(found).startswith(ONE_LINE)}
    return [found for found in findings if not is_pair(found, alone)]


def is_pair(found: Found, alone: set[int]) -> bool:
    if not advice_of(found).startswith(TWO_LINES):
        return False
    return lines_of(found) <= alone


def advice_of(found: Found) -> str:
    """What a race's finding says that could be done; "" of other kinds."""
    advice = ADVICE.search(found.message) if found.kind == "race" else None
    return advice[1] if advice else ""


def other_lines(group: Group) -> list[str]:
    """ "  so it is in line 8", of the findings that are not told."""
    lines = sorted({found.line for found in group} - lines_of(group[0]))
    if not lines:
        return []
    return [f"  so it is in line{'s' * (len(lines) > 1)} {' and '.join(map(str, lines))}"]
