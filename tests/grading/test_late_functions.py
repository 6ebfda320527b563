"""Functions that are made in a loop and run behind it."""

import pytest

from lessons.grading.advice.late_functions import read_too_late

LOOP = "def f(rows, first):\n    queue = []\n    for step, row in enumerate(rows, first):\n"


@pytest.mark.parametrize(
    "body, told",
    [
        ("        queue.append(lambda: train(step, row))", "reads row and step when"),
        ("        queue.append(lambda row=row: train(step, row))", "reads step when"),
        (
            "        number = step\n        def task():\n            train(number)",
            "reads number when",
        ),
        ("        queue.append(lambda step=step, row=row: train(step, row))", ""),
        ("        queue.append(lambda: train(first))", ""),
        ("        queue.append(lambda row: train(first, row))", ""),
        ("        queue.append(partial(train, step, row))", ""),
        ("        train(step, row)\n    last = lambda: train(first)", ""),
        ("        train(step, row", ""),
    ],
)
def test_what_a_function_reads_too_late(body, told):
    found = read_too_late((LOOP + body).splitlines())
    assert bool(found) == bool(told) and told in found
