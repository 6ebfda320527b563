"""Who watches a kernel sees each number that it computes, and can put others in their place."""

import ast

import numpy as np
import pytest
from numba import cuda, float32

from lessons.lab import checked_run
from lessons.lab.simulator.watch import Computed
from tests.lab.helpers import floats


@cuda.jit(device=True)
def halved(x):
    return x * float32(0.5)


@cuda.jit
def sums(values, out):
    i = cuda.grid(1)
    if i < out.size:
        total = float32(0)
        for k in range(3):
            total += values[i, k]
        out[i] = halved(total) + float32(1)


class Seen:
    """Keeps what was computed, by the text of its expression; changes one of them."""

    def __init__(self, changed="", to=None):
        self.changed, self.to = changed, to
        self.texts: list[str] = []
        self.values: dict[str, list[np.ndarray]] = {}

    def __call__(self, computed: Computed):
        text = ast.unparse(computed.node)
        self.texts.append(text)
        values = computed.team.full(computed.value)[computed.mask]
        self.values.setdefault(text, []).append(values)
        return computed.value.dtype.type(self.to) if text == self.changed else computed.value


def run(watch, blocks=2, kernel=sums):
    values, out = floats(50, 3), np.zeros(50, np.float32)
    report = checked_run(kernel, blocks, 32, values, out, watch=watch)
    report.raise_if_problems()
    return values, out


def test_each_number_is_seen_in_the_threads_that_compute_it():
    seen = Seen()
    values, out = run(seen)
    loads = seen.values["values[i, k]"]
    assert len(loads) == 3  # rounds
    np.testing.assert_array_equal(np.stack(loads, 1), values)
    running = seen.values["total += values[i, k]"]
    np.testing.assert_array_equal(running[2], (values[:, 0] + values[:, 1]) + values[:, 2])
    np.testing.assert_array_equal(seen.values["x * float32(0.5)"][0] + 1, out)
    assert len(seen.values["i < out.size"][0]) == 64  # those beyond the end ask, too


def test_parts_are_seen_before_what_is_made_of_them():
    seen = Seen()
    run(seen)
    texts = list(dict.fromkeys(seen.texts))
    assert texts.index("x * float32(0.5)") < texts.index("halved(total)")
    assert texts.index("halved(total)") < texts.index("halved(total) + float32(1)")


@pytest.mark.parametrize(
    "changed, to, expected",
    [
        ("halved(total)", 3, lambda values: np.full(50, 4)),
        ("values[i, k]", 1, lambda values: np.full(50, 2.5)),
        ("total += values[i, k]", 8, lambda values: np.full(50, 5)),
        ("halved(total) + float32(1)", -1, lambda values: np.full(50, -1)),
    ],
)
def test_a_kernel_goes_on_with_the_number_that_it_is_given(changed, to, expected):
    values, out = run(Seen(changed, to))
    np.testing.assert_array_equal(out, expected(values))


@cuda.jit
def long_loop(values, out):
    i = cuda.grid(1)
    if i < out.size:
        x = values[i, 0]
        for _ in range(3000):
            x = x * float32(0.999) + float32(0.001)
        out[i] = x


@pytest.mark.slow
def test_every_round_of_a_long_loop_is_seen():
    _, plain = run(None, kernel=long_loop)
    for _ in range(2):  # the second time it would be compiled
        seen = Seen()
        _, out = run(seen, kernel=long_loop)
        assert len(seen.values["x * float32(0.999)"]) == 3000
        np.testing.assert_allclose(out, plain, rtol=1e-6)


def test_other_orders_are_not_watched():
    seen = Seen()
    values, out = floats(50, 3), np.zeros(50, np.float32)
    checked_run(sums, 2, 32, values, out, watch=seen, schedule="reverse").raise_if_problems()
    assert len(seen.values["values[i, k]"]) == 3
