"""Patterns of right values that one step too many has changed: a root, levels, a cut, a range.

Each returns a `Diagnosis` if the same step explains every element, else None.
"""

import numpy as np

from lessons.grading.advice.comparison import ALMOST_ALL, Comparison
from lessons.grading.advice.garbage import OLD_VALUES, like_garbage
from lessons.grading.advice.unwritten import Diagnosis

FEWEST_WRONG_SIGNS = 3  # two may be wrong for another reason
MOST_CHANNELS = 8  # that are told by their numbers
FEWEST_VALUES = 5  # that a step has to explain, so that it is no accident
POWERS = {
    2.0: "the square of what it should be",
    0.5: "the square root of what it should be",
    3.0: "the cube of what it should be",
    2.2: "what it should be to the power 2.2, as if colours were made linear light",
    1 / 2.2: "what it should be to the power 1 / 2.2, as if linear light were made colours",
}
LEVELS = 255, 256, 100, 10, 1
MOST_LEVELS_OFF = 8  # where several roundings come together
FINE_LEVELS = 100  # that so many values do not hit by accident


def to_a_power(comparison: Comparison) -> Diagnosis | None:
    if not enough_values(comparison):
        return None
    for power, words in POWERS.items():
        if not power.is_integer() and (comparison.expected < 0).any():
            continue
        if comparison.fits(comparison.expected**power):
            return Diagnosis(
                "to a power", f"Every value is {words}: nothing asks for that step here."
            )
    return None


def signs_lost(comparison: Comparison) -> Diagnosis | None:
    """The sizes are right, and of some the sign is not; where all are turned, it is a factor."""
    got = comparison.got
    if not enough_values(comparison) or not same_sizes(comparison):
        return None
    if (got >= 0).all():
        return Diagnosis(
            "signs lost",
            "Every value has the right size, and none is negative: is the sign taken away, by abs, "
            "by a root of a square, or because the smaller or larger of two is taken?",
        )
    if np.count_nonzero(comparison.wrong) < FEWEST_WRONG_SIGNS or in_whole_channels(comparison):
        return None
    where = channels_without_signs(comparison)
    if where:
        return Diagnosis(
            "signs of some",
            f"Every value has the right size, and where the last index is {where}, and only there, "
            "none is negative: is the sign taken away, by abs, or by a root of a square?",
        )
    return Diagnosis(
        "signs of some",
        "Every value has the right size, and of some the sign is the wrong one: has a factor lost "
        "its sign, by abs or by a root of a square, or is one term of several subtracted?",
    )


def channels_without_signs(comparison: Comparison) -> str:
    """The channels with wrong values, if nothing in them is negative, and others are right."""
    if comparison.got.ndim < 2:
        return ""
    wrong = comparison.wrong.reshape(-1, comparison.wrong.shape[-1]).any(axis=0)
    if wrong.all() or wrong.sum() > MOST_CHANNELS or (comparison.got[..., wrong] < 0).any():
        return ""
    return ", ".join(str(channel) for channel in np.flatnonzero(wrong))


def in_whole_channels(comparison: Comparison) -> bool:
    """Whether the wrong ones are all of some channels: each of these has another factor, then."""
    if comparison.got.ndim < 2:
        return False
    others = tuple(range(comparison.got.ndim - 1))
    wrong = comparison.wrong.any(axis=others)
    nothing = comparison.close(comparison.expected, np.zeros(()))
    return bool(not wrong.all() and (comparison.wrong | nothing)[..., wrong].all())


def same_sizes(comparison: Comparison) -> bool:
    """Whether all values have the right size; a few near zero may be less exact, as a root makes
    much of a small error there."""
    got, expected = np.abs(comparison.got), np.abs(comparison.expected)
    room = comparison.tolerance * max(1.0, expected.max(initial=0.0))
    squares = np.abs(got**2 - expected**2) <= room
    return bool(squares.all() and np.mean(comparison.close(got, expected)) >= ALMOST_ALL)


def cut_off(comparison: Comparison) -> Diagnosis | None:
    """Values beyond a limit have become that limit."""
    got, wrong = comparison.got, comparison.wrong
    if not enough_values(comparison) or np.count_nonzero(wrong) < 3 or wrong.all():
        return None
    should = comparison.expected[wrong]
    for side, limit, beyond in (
        ("above", got.max(), should > got.max()),
        ("below", got.min(), should < got.min()),
    ):
        if beyond.all() and (got[wrong] == limit).all():
            return Diagnosis(
                "cut off",
                f"All values {side} {limit:.4g} have become {limit:.4g}: max, min or a ReLU cuts "
                "them off, and they should stay as they are.",
            )
    return None


def rounded_to_levels(comparison: Comparison) -> Diagnosis | None:
    """Values between the levels of a picture file, or between whole numbers, are gone."""
    if not enough_values(comparison):
        return None
    zeros_and_ones = len(np.unique(comparison.got)) > 1 and np.isin(comparison.got, (0, 1)).all()
    if zeros_and_ones and (np.abs(comparison.expected) < 1).any():
        return Diagnosis(
            "zeros and ones",
            "Every value is 0 or 1: is it rounded, is a comparison stored in place of a number, or "
            "does a condition choose between the two?",
        )
    for levels in LEVELS:
        step = 1 / levels
        off = float(np.abs(comparison.got - comparison.expected).max()) - comparison.tolerance
        most = MOST_LEVELS_OFF if levels >= FINE_LEVELS else 1
        if off > most * step or not on_levels(comparison, levels):
            continue
        name = "whole numbers" if levels == 1 else f"multiples of 1 / {levels}"
        if off <= step:
            sentence = f"The values are rounded to {name}: keep what is behind the point."
        else:
            sentence = (
                f"All values are {name}, and some are off by more than one of these: does each "
                "number become a whole one before they are added up (int, int32, //, >>)? That "
                "drops what is behind the point."
            )
        return Diagnosis("rounded", sentence)
    return None


def on_levels(comparison: Comparison, levels: int) -> bool:
    """Whether what came lies on so many levels, several of them, and what was expected does not."""
    room = 1e-5 * levels * max(1.0, float(np.abs(comparison.got).max()))
    if room > 0.1:
        return False
    off = np.abs(comparison.got * levels - np.rint(comparison.got * levels))
    should = np.abs(comparison.expected * levels - np.rint(comparison.expected * levels))
    several = len(np.unique(np.rint(comparison.got * levels))) > 2
    return bool(several and (off <= room).all() and np.mean(should > 2 * room) > 0.5)


def another_range(comparison: Comparison) -> Diagnosis | None:
    """A factor and an addend, the same for all."""
    expected, got = comparison.expected.ravel(), comparison.got.ravel()
    if not enough_values(comparison):
        return None
    factor, addend = np.polyfit(expected, got, 1)
    if abs(factor) < 1e-3 or not comparison.fits(factor * comparison.expected + addend):
        return None
    if abs(factor + 1) < 1e-3:
        sentence = f"Every value is subtracted from {addend:.4g}: is the order turned round?"
        return Diagnosis("turned round", sentence)
    if like_garbage(comparison, addend):
        return Diagnosis(
            "constant offset",
            f"Every value is multiplied by {factor:.4g}, and {addend:.4g} is added, far more than "
            f"they should be: {OLD_VALUES}",
        )
    return Diagnosis(
        "another range",
        f"Every value is multiplied by {factor:.4g}, and {addend:.4g} is added: is a range changed "
        "here, such as -1 to 1 into 0 to 1, that should stay as it is?",
    )


def enough_values(comparison: Comparison) -> bool:
    """Whether there are so many different ones that a step can be told from an accident."""
    expected, got = comparison.expected, comparison.got
    if not comparison.wrong.any() or not np.isfinite(got).all() or not np.isfinite(expected).all():
        return False
    apart = max(comparison.tolerance, 1e-12)
    return len(np.unique(np.round(expected / apart))) >= FEWEST_VALUES


STEPS = to_a_power, signs_lost, cut_off, rounded_to_levels, another_range
