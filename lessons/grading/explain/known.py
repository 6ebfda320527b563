"""Known mistakes by their fingerprints: a few numbers in place of the arrays that each has left.

`fingerprints.json` of a lesson has a row per known mistake and per generated one (our solution with
one small change): its words, and for each of two public seeds what its run of a check has left. Of
what is wrong in its comparisons, the deviations (got less expected) are multiplied by fixed random
numbers and added up. Two files with equal sums have left equal arrays, but for
rounding: for that there is as much room as the check allows. Sums of deviations add, so that a file
with two mistakes that do not meet in one element has the sum of both rows.

A row leaves nothing to copy: who reads it learns that a mistake is known, and how it is told.
"""

import functools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from lessons.course.lesson import Lesson
from lessons.grading.explain.comparison import Diagnosis, differing
from lessons.grading.worker.output import sentinel_of

FILE = "fingerprints.json"
SUMS = 2  # per group of results, with other random numbers each
MOST_COLUMNS = 4  # that are groups of their own
MOST_GROUPS = 16
DIGITS = 6  # of a sum in the file
LEAST_ROOM, MOST_ROOM = 1e-9, 1e-3  # for rounding, of the largest expected number
LINEAR = 10.0  # larger numbers, in units of that one, count by their logarithm
NAN, INFINITY, NEVER_WRITTEN = 31.0, 37.0, 23.0  # in place of numbers, in these units
SURE = 20  # bits in which a run has to agree with a generated mistake, or with a part of one
SURE_IF_WRITTEN = 10  # with all of a known one
BITS_OF_AN_INTEGER = 2.0  # of one that is wrong by 1: two mistakes may agree in it by accident
AT_THE_EDGE = 0.02  # of the elements, which rounding may make right or wrong
MOST_EQUAL = 2  # mistakes that leave the same, and are both told
OR = " Or, which leaves the same here: "
ROOM = 3.0  # times what rounding does on average
SOME, OTHERS = "Some results are as with this mistake:", "Others are wrong in another way."
OF_DIGITS = 10.0 ** (1 - DIGITS)  # for rounding in the file
ALL_DIGITS = -math.log2(OF_DIGITS)  # bits of a sum


class Row(NamedTuple):
    """What a run has left. sums: of each group of results that is wrong, see `Observer`."""

    places: int  # bit i: comparison i is wrong
    wrong: int  # elements, in all comparisons
    ended: str
    sums: Mapping[int, tuple[float, ...]]


class Mistake(NamedTuple):
    """check: the first one that it fails. rows: one per public seed. generated: see `mutations`."""

    name: str
    check: str
    sentence: str
    rows: tuple[Row, ...]
    generated: bool = False

    @property
    def code(self) -> str:
        return self.name.replace("_", " ")


# ---------------------------------------------------------------- what a run has left


class Group(NamedTuple):
    """What the wrong elements of some results tell. variance: of a sum, by rounding."""

    wrong: int = 0  # elements
    sums: tuple[float, ...] = (0.0,) * SUMS
    variance: float = 0.0
    bits: float = 0.0  # in which two runs can differ here
    most: float = 0.0  # bits, if two runs agree in each digit of the file

    def and_also(self, other: "Group") -> "Group":
        sums = tuple(a + b for a, b in zip(self.sums, other.sums, strict=True))
        variance = self.variance + other.variance
        most = SUMS * in_bits(sums, variance)
        bits = min(most, self.bits + other.bits)
        wrong = self.wrong + other.wrong
        return Group(wrong, sums, variance, bits, min(SUMS * ALL_DIGITS, self.most + other.most))


class Recording(NamedTuple):
    """What a file has left in one check with one seed.

    places: see `Row`. groups: those with wrong elements. ended: why the check did not go on to its
    end, such as the kind of a finding; "" if it did.
    """

    places: int
    groups: Mapping[int, Group]
    ended: str

    def row(self) -> Row:
        wrong = sum(group.wrong for group in self.groups.values())
        sums = {number: group.sums for number, group in self.groups.items()}
        return Row(self.places, wrong, self.ended, sums)


class Observer:
    """Looks at the comparisons of a check, and keeps sums of what is wrong.

    What is compared by the same name is a group, or a group per column where these are few: so that
    a mistake can be told by `u`, while something else has gone wrong with `v`.
    """

    def __init__(self) -> None:
        self.count = 0
        self.places = 0
        self.numbers: dict[tuple[str, int], int] = {}  # (name, column) -> group
        self.groups: dict[int, Group] = {}

    def compare(self, name: str, got: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
        got, expected = np.atleast_1d(got), np.atleast_1d(expected)
        columns = got.shape[-1] if got.ndim > 1 and got.shape[-1] <= MOST_COLUMNS else 1
        for column in range(columns):
            self.numbers.setdefault((name, column), min(len(self.numbers), MOST_GROUPS - 1))
        place, self.count = self.count, self.count + 1
        differs = differing(got, expected, tolerance)
        if not differs.any():
            return
        self.places |= 1 << place
        weights = np.random.default_rng([place, got.size]).standard_normal((SUMS, got.size))
        values, rounding = deviations(got, expected, tolerance)
        certain = bits_of_integers(got, expected)
        for column in range(columns):
            wrong = np.zeros(differs.shape, bool)
            wrong[..., column::columns] = differs[..., column::columns]
            if wrong.any():
                sums = weights[:, wrong.ravel()] @ values[wrong]
                variance = float((rounding[wrong] ** 2).sum())
                found = group_of(sums, variance, int(wrong.sum()), float(certain[wrong].sum()))
                number = self.numbers[name, column]
                self.groups[number] = self.groups.get(number, Group()).and_also(found)

    def recording(self, ended: str = "") -> Recording:
        return Recording(self.places, dict(self.groups), ended)


def deviations(
    got: np.ndarray, expected: np.ndarray, tolerance: float
) -> tuple[np.ndarray, np.ndarray]:
    """(got less expected, room for rounding) of each element, in units of the largest expected."""
    expected = expected.astype(np.float64)
    scale = float(np.abs(expected[np.isfinite(expected)]).max(initial=0.0)) or 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        values = without_extremes(got.astype(np.float64) / scale)
    values[got == sentinel_of(got.dtype)] = NEVER_WRITTEN
    rounding = np.clip(tolerance / scale, LEAST_ROOM, MOST_ROOM)
    room = rounding * np.clip(np.abs(values), 1.0, LINEAR)
    return values - without_extremes(expected / scale), room


def without_extremes(values: np.ndarray) -> np.ndarray:
    """Numbers of which none is so large that the others would not count beside it."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        large = np.sign(values) * LINEAR * (1 + np.log(np.abs(values) / LINEAR))
    found = np.where(np.abs(values) <= LINEAR, values, large)
    return np.nan_to_num(found, nan=NAN, posinf=INFINITY, neginf=-INFINITY)


def bits_of_integers(got: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """In how many bits each integer can agree: few where it is wrong by little, or not written."""
    if got.dtype.kind not in "iub":
        return np.full(got.shape, np.inf)
    apart = np.abs(got.astype(np.float64) - expected)
    return BITS_OF_AN_INTEGER + np.log2(np.where(got == sentinel_of(got.dtype), 1, apart).clip(1))


def group_of(sums: np.ndarray, variance: float, wrong: int, certain: float) -> Group:
    """What the wrong elements of one comparison tell, and at most so many bits."""
    all_bits = (min(wrong, SUMS) * each for each in (in_bits(sums, variance), ALL_DIGITS))
    bits, most = (min(found, certain) for found in all_bits)
    return Group(wrong, tuple(map(float, sums)), variance, bits, most)


def in_bits(sums: Sequence[float] | np.ndarray, variance: float) -> float:
    """How much one sum says: in how many parts as wide as its room the numbers can lie."""
    size = math.sqrt(float(np.mean(np.square(sums))))
    return math.log2(max(1.0, size / (ROOM * math.sqrt(variance))))


# ---------------------------------------------------------------- the file


def read(lesson: Lesson) -> tuple[Mistake, ...]:
    """The known and generated mistakes of a lesson, as far as its file has been made."""
    path = lesson.folder / FILE
    return mistakes_in(path.read_text(encoding="utf-8")) if path.exists() else ()


@functools.lru_cache(maxsize=32)
def mistakes_in(text: str) -> tuple[Mistake, ...]:
    entries = json.loads(text)["mistakes"]
    return tuple(
        Mistake(name, check, sentence, tuple(map(row_from, rows)), bool(generated))
        for name, check, sentence, generated, *rows in entries
    )


def as_text(key: str, mistakes: Iterable[Mistake]) -> str:
    """The file: a line per mistake. key: of what it was made of, see `course.mistakes`."""
    entries = [
        [one.name, one.check, one.sentence, int(one.generated), *map(row_in_file, one.rows)]
        for one in mistakes
    ]
    lines = ",\n".join(
        json.dumps(entry, separators=(",", ":"), ensure_ascii=False) for entry in entries
    )
    return f'{{"key": "{key}", "mistakes": [\n{lines}\n]}}\n'


def row_in_file(row: Row) -> list[Any]:
    entry: list[Any] = [row.places, row.wrong, *([row.ended] if row.ended else [])]
    for group, sums in row.sums.items():
        entry += [group, *(float(f"{number:.{DIGITS}g}") for number in sums)]
    return entry


def row_from(entry: Sequence[Any]) -> Row:
    places, wrong, *rest = entry
    ended = rest.pop(0) if rest and isinstance(rest[0], str) else ""
    starts = range(0, len(rest), 1 + SUMS)
    sums = {rest[start]: tuple(rest[start + 1 : start + 1 + SUMS]) for start in starts}
    return Row(places, wrong, ended, sums)


# ---------------------------------------------------------------- the look-up


def look_up(
    check: str, recordings: Sequence[Recording], mistakes: Iterable[Mistake], sure: bool = True
) -> Diagnosis | None:
    """The mistake that leaves the same in this check with each public seed; None if none does.

    A generated one is told only where no known one is the same; then two known ones in different
    places; at last a known one that explains all results of some names, where others are wrong in
    another way. recordings: of the same file, one per seed. sure: look whether there are numbers
    enough to tell mistakes apart; without it, only None is an answer.
    """
    known = [one for one in mistakes if one.check == check]
    if not known or not any(recording.places for recording in recordings):
        return None
    seen = Seen(recordings, known, needed=1.0 if sure else 0.0)
    alike = seen.alike()
    if alike:
        return told([one for one in alike if not one.generated] or alike[:1])
    if pair := seen.pair():
        first, second = pair
        return Diagnosis(first.code, f"{first.sentence} And: {second.sentence}")
    if partly := seen.partly():
        code, sentence = told(partly)
        return Diagnosis(code, f"{SOME} {sentence} {OTHERS}")
    return None


def told(alike: Sequence[Mistake]) -> Diagnosis:
    """The first one's words, and those of one other that leaves the same."""
    sentences = list(dict.fromkeys(one.sentence for one in alike))
    return Diagnosis(alike[0].code, OR.join(sentences[:MOST_EQUAL]))


class Seen:
    """What a file has left, beside what the mistakes of the check leave: [.., seed, group, sum]."""

    def __init__(
        self, recordings: Sequence[Recording], known: Sequence[Mistake], needed: float
    ) -> None:
        """needed: how much of `SURE`."""
        self.known = known
        self.needed = needed
        self.rows = [recording.row() for recording in recordings]
        self.sums = in_groups(self.rows)
        self.all = np.array([in_groups(one.rows[: len(self.rows)]) for one in known])
        self.room, self.bits, self.most = np.zeros((3, *self.sums.shape[:2]))
        for seed, recording in enumerate(recordings):
            for number, group in recording.groups.items():
                self.room[seed, number] = ROOM * math.sqrt(group.variance)
                self.bits[seed, number] = group.bits
                self.most[seed, number] = group.most

    def near(self, sums: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """In which groups sums are equal: [.., seed, group]."""
        differences = np.abs(sums - wanted)
        return (differences <= self.room[..., None] + OF_DIGITS * np.abs(sums)).all(axis=-1)

    def alike(self) -> list[Mistake]:
        """Which mistakes leave the same everywhere."""
        near = np.asarray(self.near(self.all, self.sums).all(axis=(1, 2)))
        return [
            one
            for index, one in enumerate(self.known)
            if near[index]
            and self.is_sure(index)
            and all(
                (theirs.places, theirs.ended) == (mine.places, mine.ended)
                for theirs, mine in zip(one.rows, self.rows, strict=False)
            )
        ]

    def is_sure(self, index: int) -> bool:
        """Whether so many digits do not agree by accident: within the room, or by more than that.

        The room is wide where a check allows much. Runs that agree in the digits beyond it are the
        same arithmetic.
        """
        bits = self.bits.sum()
        if self.known[index].generated:
            return bool(bits >= self.needed * SURE)
        size, apart = (
            np.sqrt(np.mean(numbers**2, axis=-1))
            for numbers in (self.sums, self.all[index] - self.sums)
        )
        closest = np.maximum(apart, OF_DIGITS * size)
        agree = SUMS * np.log2(np.maximum(1.0, size / np.where(size, closest, 1.0)))
        closely = np.minimum(self.most, agree).sum()
        return bool(bits >= self.needed * SURE_IF_WRITTEN or closely >= self.needed * SURE)

    def pair(self) -> tuple[Mistake, Mistake] | None:
        """Two known mistakes whose sums add up to these."""
        if self.bits.sum() < self.needed * (SURE + math.log2(len(self.known))):
            return None
        for index, mistake in enumerate(self.known):
            if mistake.generated:  # with one of these, too much would be explained
                continue
            rest = self.sums - self.all[index]
            near = self.near(self.all[index + 1 :], rest).all(axis=(1, 2))
            for other in np.flatnonzero(near):
                second = self.known[index + 1 + other]
                if self.covers(mistake, second):
                    return mistake, second
        return None

    def covers(self, mistake: Mistake, other: Mistake) -> bool:
        """Whether just those elements are wrong that one of the two makes wrong, and none both."""
        return (
            not other.generated
            and mistake.sentence != other.sentence
            and all(
                (one.places | two.places, one.ended, two.ended) == (row.places, "", row.ended)
                and abs(row.wrong - one.wrong - two.wrong) <= AT_THE_EDGE * row.wrong
                for one, two, row in zip(mistake.rows, other.rows, self.rows, strict=False)
            )
        )

    def partly(self) -> list[Mistake]:
        """Known mistakes that explain all that they make wrong, where there is more."""
        theirs = (self.all != 0).any(axis=-1)
        near = (self.near(self.all, self.sums) | ~theirs).all(axis=(1, 2))
        bits = (self.bits * theirs).sum(axis=(1, 2))
        sure = near & (bits >= self.needed * SURE) & theirs.any(axis=(1, 2))
        return [
            one for one, same in zip(self.known, sure, strict=True) if same and not one.generated
        ]


def in_groups(rows: Sequence[Row]) -> np.ndarray:
    """[seed, group, sum]; zeros where nothing is wrong."""
    sums = np.zeros((len(rows), MOST_GROUPS, SUMS))
    for seed, row in enumerate(rows):
        for group, values in row.sums.items():
            sums[seed, group] = values
    return sums
