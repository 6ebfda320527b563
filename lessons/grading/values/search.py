"""Find the expression whose numbers are wrong: with right ones in their place, all results are.

A student's file and right files have computed the same. The numbers of most expressions of the
student's are those of some expression of a right file, whatever either is called. Where they are
not, numbers that a right file has, and the student's file nowhere, are put in their place, one
expression after another, in the order in which they are computed. What is found is no guess: with
these numbers there, the results are right.
"""

import ast
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from lessons.grading.exchange.computed import Replaced, Series
from lessons.grading.values.alike import Pair, by_thread, equal, pair_of
from lessons.grading.values.origins import Origins

MOST_TRIES = 200
# Tries for one expression. If all that it is made of is right, the mistake is likely to be there.
MOST_IF_CERTAIN = 16
MOST_NEW, MOST_KNOWN = 4, 10
PARTLY_RIGHT = 0.05  # of an expression's numbers

# Runs the student's file with other numbers in one place: whether results are right, and which
# number was replaced by one that differs most from it.
Try = Callable[[Series], tuple[bool, Replaced | None]]


class FoundValue(NamedTuple):
    """An expression that has wrong numbers."""

    line: int
    text: str
    replaced: Replaced
    certain: bool  # whether all that it is made of is right
    is_truth: bool = False  # whether its numbers are true and false


def find_value(
    tree: ast.Module, mine: Sequence[Series], ours: Sequence[Series], attempt: Try
) -> FoundValue | None:
    """The first expression that mends the results; None if none does.

    tree: of the student's file. mine, ours: what it and right files have computed.
    """
    values = Values(tree, list(map(by_thread, mine)), unique(map(by_thread, ours)))
    for one, others in itertools.islice(values.to_try(), MOST_TRIES):
        mends, replaced = attempt(others)
        if mends and replaced:
            node = values.origins.nodes[one.place]
            certain = values.origins.right_numbers(node)
            is_truth = one.values.dtype.kind == "b"
            return FoundValue(one.place[0], ast.unparse(node), replaced, certain, is_truth)
    return None


class Values:
    """The numbers of a student's file beside those of right ones."""

    def __init__(self, tree: ast.Module, student: list[Series], right: list[Series]) -> None:
        self.student = student
        self.pairs = {
            one.place: [pair for other in right if (pair := pair_of(one, other))] for one in student
        }
        unknown = {one.place for one in student if not self.is_right(one)}
        self.origins = Origins(tree, unknown)

    def is_right(self, one: Series) -> bool:
        return any(equal(pair).all() for pair in self.pairs[one.place])

    def to_try(self) -> Iterator[tuple[Series, Series]]:
        """(an expression, numbers to put in its place), the likeliest first.

        First where some numbers are right, and others not: no two expressions have some real
        numbers in common by chance. Then where all is right that an expression is made of, but not
        what it is; then wherever the numbers are of no right file. At last numbers that the
        student's file has, but maybe does not use where it should.
        """
        origins = self.origins
        unknown = [one for one in self.student if origins.is_unknown(one.place)]
        suspects = [one for one in unknown if not origins.is_leaf(one.place)]
        certain = [one for one in suspects if origins.right_numbers(origins.nodes[one.place])]
        places = {one.place for one in certain}
        others = [one for one in suspects if one.place not in places]
        parts = [one for one in self.student if origins.is_part_of_unknown(one.place)]
        for one in suspects:
            yield from self.others_for(one, self.is_new_in_part, MOST_NEW)
        for one in certain:
            yield from self.others_for(one, self.is_new, MOST_IF_CERTAIN)
            yield from self.others_for(one, partial(self.is_part, one), MOST_KNOWN)
        for one in [*others, *parts]:
            yield from self.others_for(one, self.is_new, MOST_NEW)
        # Where a number is used, rather than where it comes from: that may be right.
        for one in reversed([*suspects, *parts]):
            yield from self.others_for(one, self.is_known, MOST_KNOWN)

    def others_for(
        self, one: Series, are_wanted: Callable[[Pair], bool], most: int
    ) -> Iterator[tuple[Series, Series]]:
        node = self.origins.nodes.get(one.place)
        if node is None or self.origins.comes_from_elsewhere(node):
            return
        if self.origins.is_stored(node) and not self.origins.right_numbers(node):
            return  # it would be mended by the results themselves
        pairs = [pair for pair in self.pairs[one.place] if not equal(pair).all()]
        wanted = filter(are_wanted, pairs)
        for pair in sorted(wanted, key=similarity, reverse=True)[:most]:
            yield one, Series(one.place, pair.threads, pair.ours.astype(pair.mine.dtype))

    def is_new(self, pair: Pair) -> bool:
        """Whether no expression of the student's file has these right numbers."""
        return not self.is_known(pair)

    def is_new_in_part(self, pair: Pair) -> bool:
        """The same, where some of the student's numbers are these already."""
        is_real = pair.mine.dtype.kind == "f"
        return is_real and equal(pair).mean() > PARTLY_RIGHT and self.is_new(pair)

    def is_known(self, pair: Pair) -> bool:
        return have_numbers(self.student, pair)

    def is_part(self, one: Series, pair: Pair) -> bool:
        """Whether they are those of a part of an expression: then the rest of it is too much."""
        places = self.origins.places_within(one.place)
        return have_numbers([other for other in self.student if other.place in places], pair)


def have_numbers(some: Sequence[Series], pair: Pair) -> bool:
    """Whether one of some expressions has the right numbers of a pair."""
    wanted = Series((0, 0, 0, 0), pair.threads, pair.ours)
    others = (pair_of(one, wanted) for one in some if len(one.values) == len(pair.ours))
    return any(bool(equal(other).all()) for other in others if other)


def unique(series: Iterable[Series]) -> list[Series]:
    """Without those that have the same numbers in the same threads as one before."""
    found: dict[tuple[bytes, bytes], Series] = {}
    for one in series:
        found.setdefault((one.threads.tobytes(), one.values.tobytes()), one)
    return list(found.values())


def similarity(pair: Pair) -> tuple[float, float]:
    """How many numbers are equal, and how far the others rise and fall together."""
    share = round(float(equal(pair).mean()), 2)
    mine, ours = pair.mine.astype(np.float64), pair.ours.astype(np.float64)
    if not (np.isfinite(mine).all() and np.isfinite(ours).all()):
        return share, 0.0
    spread = float(mine.std() * ours.std())
    if spread == 0:
        return share, 0.0
    return share, abs(float(((mine - mine.mean()) * (ours - ours.mean())).mean())) / spread
