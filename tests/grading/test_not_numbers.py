"""For which inputs a result is NaN, and what in a file can have made it."""

import ast

import numpy as np
import pytest

from lessons.grading.checks.answers import Returned
from lessons.grading.checks.not_numbers import divisions_in, inputs_of, told_nan

X = np.array([-500, -30, -1.5, 0, 2, 40, 300.0])


def told(bad, text="def f(x):\n    return x", checked=True, **inputs):
    return told_nan(np.array(bad), inputs or {"x": X}, ast.parse(text).body, checked)


@pytest.mark.parametrize(
    "bad, words",
    [
        (X == 0, "where x is 0, and nowhere else"),
        (X < 0, "where x is negative"),
        (X >= 40, "where x is 40 or more"),
        (np.abs(X) >= 40, "where x is 40 in size or more"),
        (X <= -30, "where x is 30 below zero or more"),
        (X <= -500, "where x is 500"),
    ],
)
def test_the_inputs_are_told_for_which_a_result_is_nan(bad, words):
    assert words in told(bad)


@pytest.mark.parametrize("bad", [(X == 0) | (X == 2), X == 2, X < 1, X == X])
def test_other_inputs_tell_nothing(bad):
    assert "where x" not in told(bad)


def test_the_line_is_told_that_divides_where_an_input_is_0():
    text = "def f(x):\n    y = gelu(x) / x\n    return y / float32(2) + 1 / SCALE"
    assert "Line 2 divides by `x`." in told(X == 0, text)
    assert "Line" not in told(X < 0, text)
    assert divisions_in(ast.parse(text).body) == [(2, "x")]


def test_only_causes_are_listed_that_a_file_can_have():
    everything = "def f(x):\n    return math.sqrt(x) / x"
    causes = told(X == 2, everything, checked=False)
    assert all(word in causes for word in ("by zero", "root", "too large", "memory"))
    no_root = told(X == 2, "def f(x):\n    return 1 / x")
    assert "by zero" in no_root and "root" not in no_root and "memory" not in no_root
    assert told(X == 2).endswith("?")


def test_inputs_are_those_of_the_calls_that_returned_the_rows():
    answers = [Returned("f", float(x), (float(x), 7.0)) for x in (9, *X)]
    found = inputs_of(X, answers, ["x", "gradient"], (1.0, 2.0))
    assert found["x"].tolist() == X.tolist() and set(found["gradient"]) == {7}


def test_inputs_of_a_launch_are_its_arrays_of_the_same_shape():
    given = X.astype(np.float32), np.zeros(3), 4
    assert list(inputs_of(X, [], ["values", "few", "n"], given)) == ["values"]
