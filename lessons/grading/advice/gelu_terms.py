"""Which numbers stand in a GELU, or in its slope, where one of its factors is another.

A formula with a wrong factor keeps its shape. So its factors are fitted to what came; whoever
compares sees whether they explain it.
"""

from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

import numpy as np

ROOT, CUBIC = float(np.sqrt(2 / np.pi)), 0.044715
RIGHT = (0.0, ROOT, 0.0, ROOT * CUBIC)  # what stands inside of the tangent: factors of 1, x, ...
# What else stands there.
OTHERS = (
    (0.0, 1.0, 0.0, CUBIC),
    (0.0, ROOT, 0.0, 0.0),
    (0.0, ROOT, 0.0, CUBIC),
    (0.0, ROOT, 0.0, 3 * ROOT * CUBIC),
    (0.0, ROOT, ROOT * CUBIC, 0.0),
    (0.0, ROOT, 0.0, ROOT),
    (0.0, 1.0, 0.0, 0.0),
)
PRODUCT_RULE = (
    "The slope of a product is the sum of two parts: the slope of each factor, times the other "
    "factor as it is."
)
NEAR = 1e-3  # how much a factor may be off, of its size, and still be the right one
CURVED = 2.5  # beyond it a tangent is so near to 1 that nobody can see what is inside of it

Factors = Sequence[float]  # of the powers of x
Candidates = dict[str, tuple[np.ndarray, str]]


class Names(NamedTuple):
    """What a lesson calls the two numbers."""

    root: str
    cubic: str

    @property
    def inner(self) -> str:
        return f"{self.root} * (x + {self.cubic} * x * x * x)"


def wrong_inner(x: np.ndarray, got: np.ndarray, names: Names) -> Candidates:
    """code -> (result, sentence), if other factors than ours stand inside of GELU's tangent."""
    x = np.asarray(x, np.float64)
    curved = (np.abs(x) > 0.1) & (np.abs(x) < CURVED)
    tangent = 2 * got[curved] / x[curved] - 1
    if not np.isfinite(tangent).all() or (np.abs(tangent) >= 1).any():
        return {}
    yours = [0.0, *fitted([x[curved] ** n for n in (1, 2, 3)], np.arctanh(tangent))]
    if alike(yours, RIGHT):
        return {}
    result = x / 2 * (1 + np.tanh(value(yours, x)))
    return {"other factors inside of tanh": (result, said_of_inner(yours, names))}


def said_of_inner(yours: Factors, names: Names) -> str:
    return (
        f"Inside of tanh stands {in_words(yours)}, and it should be {in_words(RIGHT)}: "
        f"{names.inner}."
    )


def wrong_slope(
    x: np.ndarray, got: np.ndarray, names: Names, gradient: float | np.ndarray = 1.0
) -> Candidates:
    """The same of its slope times a gradient: two parts with factors, and a tangent inside."""
    x = np.asarray(x, np.float64)
    found: Candidates = {}
    for inner in (RIGHT, *OTHERS):
        tangent = np.tanh(value(inner, x))
        other = x / 2 * (1 - tangent**2)
        terms = [gradient * term for term in ((1 + tangent) / 2, *(other * x**n for n in range(4)))]
        first, *slope = fitted(terms, got)
        result = gradient * (first * (1 + tangent) / 2 + other * value(slope, x))
        parts = said_of_parts(first, slope, inner, names)
        if inner == RIGHT and parts:
            found["other factors in the slope"] = result, parts
        elif inner != RIGHT and parts is not None:
            sentence = f"{said_of_inner(inner, names)} {parts}".rstrip()
            found[f"{in_words(inner)} inside of tanh"] = result, sentence
    return found


def wrong_rules(x: np.ndarray, names: Names, gradient: float | np.ndarray = 1.0) -> Candidates:
    """The same of a slope in which the product or the chain rule was taken for another one."""
    x = np.asarray(x, np.float64)
    inner = value(RIGHT, x)
    tangent, slope = np.tanh(inner), value(slope_of(RIGHT), x)
    of_tangent = (1 - tangent**2) * slope
    found: Candidates = {
        "product of the slopes": (
            gradient * of_tangent / 2,
            f"This is the slope of x / 2 times that of 1 + tanh(inner). {PRODUCT_RULE}",
        ),
        "sum of the slopes": (
            gradient * (of_tangent + 0.5),
            f"This is the slope of x / 2 plus that of 1 + tanh(inner). {PRODUCT_RULE}",
        ),
    }
    steps = {  # what stands in place of tanh(inner), where its slope is 1 minus the square of that
        "tanh(x)": np.tanh(x),
        f"tanh({names.root} * x)": np.tanh(ROOT * x),
        "tanh(tanh(inner))": np.tanh(tangent),
        "inner": inner,
        "x": x,
    }
    for name, other in steps.items():
        found[f"slope of tanh with {name}"] = (
            gradient * ((1 + tangent) / 2 + x / 2 * (1 - other**2) * slope),
            f"The slope of tanh(inner) is 1 - tanh(inner)^2, and yours is 1 - {name}^2. "
            f"The same inner stands there as in gelu, {names.inner}.",
        )
    return found


def said_of_parts(first: float, slope: Factors, inner: Factors, names: Names) -> str | None:
    """What is wrong with the factors of the product rule's parts; None if that is no one thing.

    inner: what stands inside of the tangent, whose slope may be wrong in the same way.
    """
    right = slope_of(RIGHT)
    if near(first, 1) and (alike(slope, right) or alike(slope, slope_of(inner))):
        return ""
    if inner == RIGHT and alike([ROOT * f for f in slope], [slope[0] * f for f in right]):
        both = "Both parts of the product rule are there. " if first and slope[0] else ""
        return (
            f"{both}That of x / 2 counts {first:.4g} times, "
            f"and that of 1 + tanh(inner) {slope[0] / ROOT:.4g} times: each counts once."
        )
    if not near(first, 1):
        return None
    return (
        f"The slope of what should stand inside of tanh is {in_words(right)}, and yours is "
        f"{in_words(slope)}. {why(slope, names)}"
    ).rstrip()


def why(slope: Factors, names: Names) -> str:
    """How the factors of the inner slope can have come about; "" for others."""
    ways = {
        (ROOT, 0, 3 * CUBIC): f"{names.root} multiplies the whole bracket, also the cube's slope.",
        (1, 0, 3 * ROOT * CUBIC): f"{names.root} multiplies the whole bracket, also the 1.",
        (ROOT, 0, ROOT * CUBIC): "The slope of x^3 is 3 x^2: the 3 is missing.",
        (ROOT, 0, 2 * ROOT * CUBIC): "The slope of x^3 is 3 x^2, not 2 x^2.",
        (ROOT, 0, CUBIC): f"The slope of x^3 is 3 x^2, and {names.root} multiplies it, too.",
        (ROOT, 0, 3 * ROOT): f"{names.cubic} is missing before the slope of the cube.",
        (ROOT, 0, 0): "The slope of the cube is missing.",
        (0, 0, 3 * ROOT * CUBIC): "The slope of x, which is 1, is missing.",
        (ROOT, 2 * ROOT * CUBIC, 0): "The slope of x^3 is 3 x^2, not 2 x.",
        (ROOT, 3 * ROOT * CUBIC, 0): "The slope of x^3 is 3 x^2, not 3 x.",
        (ROOT, 0, 0, 3 * ROOT * CUBIC): "The slope of x^3 is 3 x^2, not 3 x^3.",
    }
    return next((told for factors, told in ways.items() if alike(slope, factors)), "")


def slope_of(inner: Factors) -> Factors:
    """The factors of a sum's derivative."""
    return [power * factor for power, factor in enumerate(inner)][1:]


def value(factors: Factors, x: np.ndarray) -> np.ndarray:
    return sum((factor * x**power for power, factor in enumerate(factors)), np.zeros_like(x))


def alike(one: Factors, other: Factors) -> bool:
    return all(near(a, b) for a, b in zip_longest(one, other, fillvalue=0.0))


def fitted(terms: list[np.ndarray], values: np.ndarray) -> list[float]:
    """How often each term counts in the values; what is next to nothing is nothing."""
    every = np.stack(terms).T
    counts, *_ = np.linalg.lstsq(every, values, rcond=None)
    some = np.abs(counts) > NEAR * np.abs(counts).max()
    if some.any():
        counts[~some] = 0
        counts[some], *_ = np.linalg.lstsq(every[:, some], values, rcond=None)
    return [float(count) for count in counts]


def near(one: float, other: float) -> bool:
    return abs(one - other) <= NEAR * max(abs(one), abs(other), NEAR)


def in_words(factors: Factors) -> str:
    """[0.8, 0, 0.1] is "0.8 + 0.1 x^2"."""
    powers = zip(factors, ("", " x", " x^2", " x^3"), strict=False)
    told = [f"{factor:.4g}{power}" for factor, power in powers if factor]
    return " + ".join(told).replace("+ -", "- ") or "0"
