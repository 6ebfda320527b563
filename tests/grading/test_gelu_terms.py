"""What is told of a GELU, or of its slope, whose formula has another factor."""

import numpy as np
import pytest

from lessons.grading.advice.gelu_terms import (
    CUBIC,
    ROOT,
    Names,
    wrong_inner,
    wrong_rules,
    wrong_slope,
)

NAMES = Names("ROOT", "CUBIC")
X = np.array([-2.1, -1.3, -0.8, -0.5, 0.0, 0.45, 0.9, 1.4, 2.2, 30.0])
GRADIENT = np.linspace(-1.5, 1.2, len(X))


INNER = ROOT * (X + CUBIC * X**3)
SLOPE = ROOT * (1 + 3 * CUBIC * X**2)


def gelu(root=ROOT, cubic=CUBIC):
    return X / 2 * (1 + np.tanh(root * X + root * cubic * X**3))


def slope(first=1.0, plain=ROOT, squared=3 * ROOT * CUBIC, root=ROOT):
    t = np.tanh(root * (X + CUBIC * X**3))
    return first * (1 + t) / 2 + X / 2 * (1 - t * t) * (plain + squared * X**2)


def told_of(candidates, got):
    return [said for array, said in candidates.values() if np.allclose(array, got, atol=1e-6)]


def test_the_right_formulas_are_no_mistake():
    assert wrong_inner(X[X != 0], gelu()[X != 0], NAMES) == {}
    assert told_of(wrong_slope(X, slope(), NAMES), slope()) == []


def test_what_stands_inside_of_the_tangent_is_told():
    got = gelu(cubic=3 * CUBIC)
    (said,) = told_of(wrong_inner(X, got, NAMES), got)
    assert "0.7979 x + 0.107 x^3, and it should be 0.7979 x + 0.03568 x^3" in said


@pytest.mark.parametrize(
    ("factors", "words"),
    [
        ({"squared": 3 * CUBIC}, "ROOT multiplies the whole bracket, also the cube's slope"),
        ({"squared": ROOT * CUBIC}, "the 3 is missing"),
        ({"plain": 1.0}, "ROOT multiplies the whole bracket, also the 1."),
        ({"first": 2.0}, "That of x / 2 counts 2 times"),
        (
            {"root": 1.0, "plain": 1.0, "squared": 3 * CUBIC},
            "Inside of tanh stands 1 x + 0.04471 x^3, and",
        ),
    ],
)
def test_what_stands_in_the_slope_is_told(factors, words):
    got = GRADIENT * slope(**factors)
    said = told_of(wrong_slope(X, got, NAMES, GRADIENT), got)
    assert words in said[0]


@pytest.mark.parametrize(
    ("first", "other", "words"),
    [
        (0, (1 - np.tanh(INNER) ** 2) / 2, "x / 2 times that of 1 + tanh(inner)"),
        (1, X / 2 * (1 - np.tanh(X) ** 2), "yours is 1 - tanh(x)^2"),
        (1, X / 2 * (1 - INNER**2), "yours is 1 - inner^2"),
    ],
)
def test_a_rule_taken_for_another_is_told(first, other, words):
    got = GRADIENT * (first * (1 + np.tanh(INNER)) / 2 + other * SLOPE)
    (said,) = told_of(wrong_rules(X, NAMES, GRADIENT), got)
    assert words in said


def test_the_right_rules_are_no_mistake():
    assert told_of(wrong_rules(X, NAMES), slope()) == []


def test_of_two_wrong_parts_nothing_is_told():
    got = slope(first=2.0, squared=0.3)
    assert told_of(wrong_slope(X, got, NAMES), got) == []


def test_another_function_is_explained_by_no_factor():
    got = X * (0.5 + np.arctan(2 * X) / np.pi)
    assert told_of(wrong_inner(X, got, NAMES), got) == []


def test_nothing_at_all_has_no_factors():
    nothing = np.zeros_like(X)
    assert wrong_inner(X, nothing, NAMES) == {}
    ((_, said),) = [one for one in wrong_slope(X, nothing, NAMES).values() if "counts" in one[1]]
    assert "counts 0 times" in said
