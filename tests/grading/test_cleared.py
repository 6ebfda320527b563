"""Which line of a kernel clears an argument."""

from lessons.grading.advice.cleared import line_that_clears, line_that_stores

KERNEL = """
@cuda.jit
def move(weights, gradient):
    i = cuda.grid(1)
    weights[i] = 0
    {first}
    {second}
"""


def test_the_line_that_clears():
    for zero in ("0", "0.0", "float32(0)"):
        text = KERNEL.format(first="weights[i] -= gradient[i]", second=f"gradient[i] = {zero}")
        assert line_that_clears("move", 1, text.splitlines()) == 7
        assert line_that_clears("move", 0, text.splitlines()) == 5


def test_none_or_several():
    for first, second in (("gradient[i] = 0", "gradient[i] = 0"), ("gradient[i] = 1", "pass")):
        text = KERNEL.format(first=first, second=second)
        assert line_that_clears("move", 1, text.splitlines()) is None
    assert line_that_clears("other", 1, text.splitlines()) is None
    assert line_that_clears("move", 2, text.splitlines()) is None
    assert line_that_clears("move", 1, ["def move(:"]) is None


def test_a_line_that_stores_whatever_it_is():
    text = KERNEL.format(first="cuda.atomic.add(gradient, i, 1)", second="gradient[i] = i + 1")
    assert line_that_stores("move", 1, text.splitlines()) == 7
    assert line_that_stores("move", 0, text.splitlines()) == 5
    text = KERNEL.format(first="gradient[i] += 1", second="pass")
    assert line_that_stores("move", 1, text.splitlines()) is None
