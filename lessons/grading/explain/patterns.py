"""Say in a sentence what is probably wrong with a result: the pattern first, then its usual cause.

`diagnose` tries one pattern after another, the most telling first; none of them knows a lesson. A
pattern counts only if it explains nearly every element that is wrong. If none does, the diagnosis
is "wrong", which is better than a false one.
"""

import itertools
from collections.abc import Iterator

import numpy as np

from lessons.grading.explain.clues import NO_CLUES, Clues
from lessons.grading.explain.comparison import ALMOST_ALL, Comparison, Diagnosis, Threads
from lessons.grading.explain.unwritten import (
    UNWRITTEN,
    left_as_it_was,
    never_written,
    partly_written,
)

UNKNOWN = "The values are wrong, in no pattern that is known here."
NEARLY_RIGHT = 0.003  # of each value's size
MOST_UNCHANGED = 0.1  # of the elements
LEAST_SQUARE = 4  # rows and columns, so that it is no accident


def diagnose(
    expected: np.ndarray,
    got: np.ndarray,
    sentinel: float,
    tolerance: float,
    threads: Threads | None = None,
    guards_intact: bool = True,
    clues: Clues = NO_CLUES,
    initial: np.ndarray | None = None,
) -> Diagnosis:
    """The `Diagnosis` of a result that is not as expected.

    expected, got: arrays of the same shape. sentinel: what `got` was filled with beforehand, or
    initial: what it held. tolerance: absolute. threads: see `Threads`; None if it is not so simple.
    guards_intact: False if something was written beside the array. clues: what the student's file
    tells.
    """
    comparison = Comparison(expected, got, sentinel, tolerance, threads, clues)
    for pattern in PATTERNS if expected.ndim else ():  # a single number has no pattern
        found = pattern(comparison)
        if found:
            return found
    left = left_as_it_was(initial, comparison) if initial is not None and expected.ndim else None
    if left:
        return left
    if not guards_intact:
        return Diagnosis(
            "written outside",
            "Memory beside the array was changed: an index is too large or negative. Is a guard "
            "missing or off by one, or is the index computed of the wrong numbers?",
        )
    return Diagnosis("wrong", UNKNOWN + how_near(comparison) + which_are_right(comparison))


def how_near(comparison: Comparison) -> str:
    """More to say of values in no known pattern if each of them is nearly right; else nothing."""
    expected, got = (array[comparison.wrong] for array in (comparison.expected, comparison.got))
    if not got.size or not np.isfinite(got).all() or not np.abs(expected).all():
        return ""
    share = float(np.max(np.abs(got - expected) / np.abs(expected)))
    if share > NEARLY_RIGHT:
        return ""
    return (
        f" But each is nearly right, off by at most {share:.1g} of itself: a constant with too few "
        "digits does that, a small term that is missing, or a difference of two numbers that are "
        "nearly equal, of which only the last digits are left."
    )


def which_are_right(comparison: Comparison) -> str:
    """More to say of values in no known pattern if whole columns are right; else nothing."""
    shape = comparison.wrong.shape
    if len(shape) < 2 or not 2 <= shape[-1] <= 16:
        return ""
    wrong = comparison.wrong.reshape(-1, shape[-1])
    of_columns = np.asarray(wrong.any(axis=0))
    if len(wrong) < 4 or of_columns.all():
        return ""
    names = [f"[{':, ' * (len(shape) - 1)}{column}]" for column in range(shape[-1])]
    right = [name for name, is_wrong in zip(names, of_columns, strict=True) if not is_wrong]
    rest = [name for name in names if name not in right]
    if len(right) <= len(rest):
        return f" All of {' and '.join(right)} is right: look at what makes the others."
    return f" Only {' and '.join(rest)} is wrong: look at what makes that."


# ---------------------------------------------------------------- no numbers, old numbers, zeros


def not_a_number(comparison: Comparison) -> Diagnosis | None:
    bad = np.isnan(comparison.got) & ~np.isnan(comparison.expected)
    if not bad.any():
        return None
    return Diagnosis(
        "nan",
        "There are NaNs: zero was divided by zero, a root or logarithm was taken of a negative "
        "number, there were numbers too large for float32, or memory was read that nobody had "
        "written.",
    )


def added_to_garbage(comparison: Comparison) -> Diagnosis | None:
    """Expected values on top of the sentinel, up to what float32 can hold there."""
    wrong = comparison.wrong
    # One sum may be so small that it adds nothing; where many are, nobody has written them.
    if not wrong.any() or np.mean(comparison.got[wrong] == comparison.sentinel) > MOST_UNCHANGED:
        return None
    room = max(comparison.tolerance, abs(comparison.sentinel) * 1e-5)
    with np.errstate(invalid="ignore", over="ignore"):
        fits = np.abs(comparison.got - comparison.sentinel - comparison.expected) <= room
    if not fits[wrong].all() or np.abs(comparison.expected).max() <= room:
        return None
    then = (
        "let one thread add up all terms of an element in a variable, and store it with `=`; where "
        "several threads add to it, it has to be zero before."
        if comparison.clues.adds_atomically
        else "store them with `=` (what is a sum of several rounds is first added up in a "
        "variable), or set each element to zero first."
    )
    return Diagnosis(
        "not begun at zero", f"The right values were added to what the array held before: {then}"
    )


def all_zero(comparison: Comparison) -> Diagnosis | None:
    if (comparison.got != 0).any() or not comparison.wrong.any():
        return None
    return Diagnosis(
        "all zero",
        "Every value is zero: was nothing added up, was it cleared afterwards, or were numbers "
        "below 1 made whole ones?",
    )


# ---------------------------------------------------------------- right numbers in other places


def rearranged(comparison: Comparison) -> Diagnosis | None:
    for part, wanted, diagnosis in rearrangements(comparison):
        if part.explains(wanted):
            return diagnosis
    return None


def rearrangements(comparison: Comparison) -> Iterator[tuple[Comparison, np.ndarray, Diagnosis]]:
    """(a part of both arrays, what came there if the right numbers lie in other places, words)."""
    expected, shape = comparison.expected, comparison.expected.shape
    if len(shape) > 1:
        words = "Rows and columns are exchanged: "
        # Of a matrix that is not square, the same numbers, counted down the columns.
        down = expected.swapaxes(0, 1).reshape(shape)
        first = f"{words}the first index of an array is the row, y."
        yield comparison, down, Diagnosis("transposed", first)
        side = min(shape[:2])
        square = comparison.of(expected[:side, :side], comparison.got[:side, :side])
        words += "element [i, j] is what [j, i] should be, wherever there are both."
        if side >= LEAST_SQUARE:
            yield square, square.expected.swapaxes(0, 1), Diagnosis("transposed", words)
    for axis in range(min(len(shape), 2)):
        words = f"The order is reversed along axis {axis}: an index runs from the wrong end."
        yield comparison, np.flip(expected, axis), Diagnosis("flipped", words)
    for axis, length in enumerate(shape):
        early, late = np.arange(length - 1), np.arange(1, length)
        for way, here, there in (("late", late, early), ("early", early, late)):
            if length >= 3:
                part = comparison.of(expected.take(here, axis), comparison.got.take(here, axis))
                words = f"Everything is one place too {way} along axis {axis}: an index is off by"
                yield part, expected.take(there, axis), Diagnosis("shifted", f"{words} one.")
    if comparison.threads is not None and len(shape) > 1 and shape[-1] in (3, 4):
        for one, other in itertools.combinations(range(shape[-1]), 2):
            order = list(range(shape[-1]))
            order[one], order[other] = other, one
            swapped = expected[..., order]
            words = f"Channels {one} and {other} are exchanged."
            yield comparison, swapped, Diagnosis("swapped channels", words)


# ---------------------------------------------------------------- the same change of every number


def constant_factor(comparison: Comparison) -> Diagnosis | None:
    expected, got = comparison.expected, comparison.got
    use = np.abs(expected) > 100 * comparison.tolerance
    if np.count_nonzero(use) < 4 or not np.isfinite(got).all():
        return None
    factor = float(np.median(got[use] / expected[use]))
    room = comparison.tolerance * max(1.0, abs(factor))
    if abs(factor - 1) < 1e-4 or abs(factor) < 1e-6:
        return None
    if not comparison.explains(factor * expected, room):
        return None
    if abs(factor - 255) < 0.01:
        return Diagnosis(
            "0-255", "The values go up to 255; here colours and brightness go from 0 to 1."
        )
    if abs(factor + 1) < 1e-4:
        return Diagnosis(
            "wrong sign",
            "Every value has the opposite sign: is something subtracted, and should be added?",
        )
    times = "twice" if abs(factor - 2) < 1e-4 else f"{nice_factor(factor)} times"
    again = " Or is something added twice?" if times == "twice" else ""
    return Diagnosis(
        "constant factor",
        f"Every value is {times} what it should be: is there a factor or a divisor too many "
        f"or too few, such as the number of what is added up?{again}",
    )


def nice_factor(factor: float) -> str:
    """A factor as 1/3 where it is that, else as a decimal number."""
    if 0 < factor < 1 and abs(1 / factor - round(1 / factor)) < 1e-3 / factor:
        return f"1/{round(1 / factor)}"
    return f"{factor:.4g}"


def constant_offset(comparison: Comparison) -> Diagnosis | None:
    tolerance = comparison.tolerance
    if comparison.got.size < 4 or not np.isfinite(comparison.got).all():
        return None
    difference = comparison.got - comparison.expected
    offset = float(np.median(difference))
    if abs(offset) <= tolerance or np.ptp(comparison.expected) <= tolerance:
        return None
    if np.mean(np.abs(difference - offset) <= 2 * tolerance) < ALMOST_ALL:
        return None
    return Diagnosis(
        "constant offset",
        f"Every value is off by {offset:.4g}: is something added or subtracted once too often, "
        "or added to what was there before?",
    )


def lost_updates(comparison: Comparison) -> Diagnosis | None:
    """Sums that came out nearer to zero, and none larger, where threads add with +=."""
    if not comparison.clues.racing_sum or comparison.wrong.sum() < 4:
        return None
    got, expected = comparison.got[comparison.wrong], comparison.expected[comparison.wrong]
    nearer = (np.sign(got) == np.sign(expected)) | (np.abs(got) <= comparison.tolerance)
    if not np.isfinite(got).all() or not (nearer & (np.abs(got) < np.abs(expected))).all():
        return None
    return Diagnosis(
        "lost updates",
        "Every wrong sum is too small. Do several threads add to one element with +=? Then some "
        "additions get lost; cuda.atomic.add does not lose any.",
    )


# The most telling first.
PATTERNS = (
    not_a_number, never_written, added_to_garbage, *UNWRITTEN, rearranged, partly_written, all_zero,
    constant_factor, constant_offset, lost_updates,
)  # fmt: skip
