"""What is said of a call that the text has, and that was never made."""

from lessons.grading.advice.never_called import condition_of_call, lines_of_calls

UNDER = """
def evaluate(stages, arrays):
    if not arrays.features.any():
        stages.encode(arrays.uv)
    stages.mlp_forward(arrays)
"""
ELSE = """
def evaluate(stages, step):
    if step > 1:
        if step > 2:
            return
    else:
        stages.encode(step)
"""


def test_the_condition_around_the_one_call():
    told = condition_of_call("encode", UNDER.splitlines())
    assert "Line 4 calls it, but only under the `if` of line 3" in told
    told = condition_of_call("encode", ELSE.splitlines())
    assert "Line 7 calls it, but only under the `else` of the `if` of line 3" in told


def test_where_nothing_is_known():
    for text in (UNDER + UNDER, "def f(:", "def f(stages):\n    encode = stages.encode\n"):
        assert condition_of_call("encode", text.splitlines()) == ""
    assert condition_of_call("mlp_forward", UNDER.splitlines()) == ""


def test_the_lines_of_calls():
    assert lines_of_calls("encode", (UNDER + UNDER).splitlines()) == [4, 9]
    assert lines_of_calls("backward", UNDER.splitlines()) == []
