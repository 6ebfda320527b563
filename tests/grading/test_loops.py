"""What a file's loops store: only what is certainly nothing counts as nothing."""

import ast

import pytest

from lessons.grading.untrusted.loops import has_conditions, only_loop_around, stores_in_loops

TREE = """
def total_of(shared, value):
    shared[cuda.threadIdx.x] = value
    n = 16
    while n > 0:
        cuda.syncthreads()
        shared[cuda.threadIdx.x] += shared[cuda.threadIdx.x + n]
        n //= 2
    return shared[0]
"""
KERNEL = """
def kernel(values, out):
    shared = cuda.shared.array(32, float32)
    c = cuda.threadIdx.x
    out[0, c] = values[0, c] / total_of(shared, values[0, c])
"""


def functions(text):
    return ast.parse(text).body


@pytest.mark.parametrize(
    "text, stores",
    [
        (TREE + KERNEL, False),
        (TREE + KERNEL.replace("total_of(shared", "total_of(values"), True),
        (TREE, True),  # nobody knows what it is given
        (KERNEL + "    for k in range(3):\n        total = k\n", False),
        (KERNEL + "    for k in range(3):\n        out[0, k] = k\n", True),
        (KERNEL + "    for k in range(3):\n        cuda.atomic.add(out, (0, k), 1)\n", True),
        (
            "def put(a, k):\n    a[k] = k\ndef f(a):\n    for k in range(3):\n        put(a, k)",
            True,
        ),
    ],
)
def test_loops_that_store_results_are_seen(text, stores):
    assert stores_in_loops(functions(text)) == stores


def test_conditions_are_seen():
    assert not has_conditions(functions(KERNEL))
    assert has_conditions(functions("def f(a):\n    if a:\n        return"))


def test_the_one_loop_around_a_line_is_seen():
    inner = "        while i:\n            a[i] = 2\n    a[0] = 3"
    lines = functions(f"def f(a):\n    for i in a:\n        a[i] = 1\n{inner}")
    assert [only_loop_around(line, lines) for line in (2, 3, 5, 6)] == [0, 2, 0, 0]
