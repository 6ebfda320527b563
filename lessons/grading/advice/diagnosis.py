"""Say in a sentence what is probably wrong with a result: the pattern first, then its usual cause.

`diagnose` compares what was expected with what came, and tries one known pattern after another,
the most telling first. A pattern counts only if it explains every element, or nearly every one that
is wrong; if none does, the diagnosis is "wrong", which is better than a false one.
"""

import itertools
from collections.abc import Mapping

import numpy as np

from lessons.grading.advice.by_rule import the_rest_to_one, which_are_right
from lessons.grading.advice.comparison import ALMOST_ALL, NO_CLUES, Clues, Comparison, Threads
from lessons.grading.advice.edges import (
    beginning_not_written,
    border_not_written,
    written_in_steps,
)
from lessons.grading.advice.elsewhere import (
    of_all_channels,
    of_another_index,
    the_same_in_some_channels,
)
from lessons.grading.advice.garbage import (
    OLD_VALUES,
    added_to_garbage,
    like_garbage,
    part_of_garbage,
)
from lessons.grading.advice.one_step_more import STEPS
from lessons.grading.advice.repeating import in_every_round
from lessons.grading.advice.transposed import transposed
from lessons.grading.advice.unwritten import (
    Diagnosis,
    first_block_only,
    first_row_of_threads_only,
    never_written,
    not_a_number,
    partly_written,
    tail_not_written,
    whole_blocks_missing,
)
from lessons.grading.advice.zeros import zero_in_a_part

UNKNOWN = "The values are wrong, in no pattern that is known here."
NEARLY_RIGHT = 0.003  # of each value's size

# What known mistakes result in: a word or two -> the array, with or without an advice.
Candidates = Mapping[str, np.ndarray | tuple[np.ndarray, str]]


def diagnose(
    expected: np.ndarray,
    got: np.ndarray,
    sentinel: float,
    tolerance: float,
    threads: Threads | None = None,
    candidates: Candidates | None = None,
    guards_intact: bool = True,
    clues: Clues = NO_CLUES,
) -> Diagnosis:
    """The `Diagnosis` of a result that is not as expected.

    expected, got: arrays of the same shape. sentinel: what `got` was filled with beforehand.
    tolerance: absolute. threads: see `Threads`; None if it is not so simple. candidates: the
    results of mistakes that the caller knows, with a sentence for each, or without.
    guards_intact: False if something was written beside the array. clues: what the student's file
    tells.
    """
    comparison = Comparison(expected, got, sentinel, tolerance, threads, clues)
    known = known_mistake(comparison, candidates or {})
    if known:
        return known
    for pattern in PATTERNS if expected.ndim else ():  # a single number has no pattern
        found = pattern(comparison)
        if found:
            return found
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


def known_mistake(comparison: Comparison, candidates: Candidates) -> Diagnosis | None:
    for code, candidate in candidates.items():
        result, sentence = candidate if isinstance(candidate, tuple) else (candidate, "")
        result = np.asarray(result, np.float64)
        if result.shape != comparison.got.shape or not comparison.fits(result):
            continue
        if not comparison.close(result, comparison.expected).all():
            return Diagnosis(code, sentence or f"This is the result one gets by: {code}.")
    return None


# ---------------------------------------------------------------- patterns of the values


def flipped(comparison: Comparison) -> Diagnosis | None:
    for axis in range(min(comparison.got.ndim, 2)):
        if comparison.explains(np.flip(comparison.expected, axis)):
            return Diagnosis(
                "flipped",
                f"The order is reversed along axis {axis}: an index runs from the wrong end.",
            )
    return None


def shifted(comparison: Comparison) -> Diagnosis | None:
    for axis, length in enumerate(comparison.got.shape):
        for step in (1, -1):
            if length < 3 or not matches_shifted(comparison, axis, step):
                continue
            way = "late" if step == 1 else "early"
            return Diagnosis(
                "shifted",
                f"Everything is one place too {way} along axis {axis}: an index is off by one.",
            )
    return None


def matches_shifted(comparison: Comparison, axis: int, step: int) -> bool:
    length = comparison.got.shape[axis]
    here, there = np.arange(1, length), np.arange(length - 1)
    if step == -1:
        here, there = there, here
    part = comparison.of(comparison.expected.take(here, axis), comparison.got.take(here, axis))
    return part.explains(comparison.expected.take(there, axis))


def swapped_channels(comparison: Comparison) -> Diagnosis | None:
    expected = comparison.expected
    if comparison.threads is None or expected.ndim < 2 or expected.shape[-1] not in (3, 4):
        return None
    channels = expected.shape[-1]
    for first, second in itertools.combinations(range(channels), 2):
        order = list(range(channels))
        order[first], order[second] = second, first
        if comparison.explains(expected[..., order]):
            return Diagnosis("swapped channels", f"Channels {first} and {second} are exchanged.")
    return None


def up_to_255(comparison: Comparison) -> Diagnosis | None:
    return scaled(
        comparison,
        255.0,
        "0-255",
        "The values go up to 255; here colours and brightness go from 0 to 1.",
    )


def scaled(comparison: Comparison, factor: float, code: str, sentence: str) -> Diagnosis | None:
    """This diagnosis if nearly all values are `factor` times the expected ones."""
    if comparison.expected.size < 2:
        return None
    room = comparison.tolerance * max(1.0, abs(factor))
    fits = comparison.explains(factor * comparison.expected, room)
    return Diagnosis(code, sentence) if fits else None


def constant_factor(comparison: Comparison) -> Diagnosis | None:
    use = np.abs(comparison.expected) > 100 * comparison.tolerance
    if np.count_nonzero(use) < 4 or not np.isfinite(comparison.got).all():
        return None
    factor = float(np.median(comparison.got[use] / comparison.expected[use]))
    if abs(factor - 1) < 1e-4 or abs(factor) < 1e-6:
        return None
    if abs(factor + 1) < 1e-4:
        sentence = (
            "Every value has the opposite sign: is something subtracted, and should be added?"
        )
        return scaled(comparison, -1.0, "wrong sign", sentence)
    text = nice_factor(factor)
    return scaled(
        comparison,
        factor,
        "constant factor",
        f"Every value is {text} times what it should be: is there a factor or a divisor too many "
        "or too few, such as the number of what is added up?",
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
    if like_garbage(comparison, offset):
        far = f"Every value is off by {offset:.4g}, far more than they should be: {OLD_VALUES}"
        return Diagnosis("constant offset", far)
    return Diagnosis(
        "constant offset",
        f"Every value is off by {offset:.4g}: is something added or subtracted once too often, "
        "or added to what was there before?",
    )


def lost_updates(comparison: Comparison) -> Diagnosis | None:
    """Sums that came out nearer to zero, most of them, and none larger; and what can lose some."""
    swapped, exchanged = comparison.clues.swapped_once, comparison.clues.exchanged_later
    if not (comparison.clues.racing_sum or swapped or exchanged):
        return None
    if comparison.wrong.sum() < 4 or not np.isfinite(comparison.got).all():
        return None
    got, expected = comparison.got[comparison.wrong], comparison.expected[comparison.wrong]
    nearer = (np.sign(got) == np.sign(expected)) | (np.abs(got) <= comparison.tolerance)
    if not (nearer & (np.abs(got) < np.abs(expected))).all():
        return None
    if swapped:
        return Diagnosis(
            "swapped once",
            f"Every wrong sum is too small. The compare-and-swap of line {swapped} stores only if "
            "the element still holds what it is compared with: if another thread was faster, "
            "nothing is stored, and this addition is lost. Look at what it returns, and try again "
            "until it has stored; or add with cuda.atomic.add.",
        )
    if exchanged:
        return Diagnosis(
            "exchanged later",
            f"Every wrong sum is too small. The exchange of line {exchanged} is one step, but "
            "without the reading: between the two other threads change the element, too, and that "
            "is lost. cuda.atomic.add reads, adds and stores in one step.",
        )
    return Diagnosis(
        "lost updates",
        "Every wrong sum is too small. Do several threads add to one element with +=? Then some "
        "additions get lost; cuda.atomic.add does not lose any.",
    )


def all_zero(comparison: Comparison) -> Diagnosis | None:
    if (comparison.got != 0).any() or not comparison.wrong.any():
        return None
    return Diagnosis(
        "all zero",
        "Every value is zero: was nothing added up, was it cleared afterwards, or were numbers "
        "below 1 made whole ones?",
    )


def in_some_channels(comparison: Comparison) -> Diagnosis | None:
    return the_same_in_some_channels(comparison, (constant_factor, constant_offset, *STEPS))


# The most telling first.
PATTERNS = (
    not_a_number, never_written, added_to_garbage, part_of_garbage, first_block_only,
    first_row_of_threads_only, tail_not_written, beginning_not_written, border_not_written,
    whole_blocks_missing, transposed, written_in_steps, partly_written, all_zero, flipped, shifted,
    swapped_channels, up_to_255, constant_factor, constant_offset, *STEPS, lost_updates,
    of_another_index, of_all_channels, zero_in_a_part, in_some_channels, in_every_round,
    the_rest_to_one,
)  # fmt: skip
