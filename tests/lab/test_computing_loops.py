"""Loops that only compute give the same values, findings and table when they are compiled."""

import math

import numpy as np
import pytest
from numba import cuda, float32, int32, uint32

from lessons.lab import checked_run
from lessons.lab.simulator import loops
from tests.lab.helpers import floats

LIMIT = 40
FEW = 8


@cuda.jit
def escapes(values, out):
    i = cuda.grid(1)
    c, z, rounds, far = values[i], float32(0), 0, False
    for k in range(3, 300, 2):
        if abs(z) > float32(4):
            far = True
            break
        if k % 3 == 0:
            continue
        z = z + c * float32(0.4) if k > 20 else z + c * float32(0.5)
        rounds = k
    out[i] = float32(rounds) + (float32(1000) if far else z)


@cuda.jit
def uneven(values, out):
    i = cuda.grid(1)
    a, b, sign = i, 7, int32(1)
    limit = 40 + i * 3
    for k in range(limit, 0, -1):
        a, b = b, (a * 31 + k) % 1009
        sign = int32(-sign)
    out[i] = float32(a) * float32(sign)


@cuda.jit
def whiles(values, out):
    i = cuda.grid(1)
    if i % 5 != 1:
        x, n = values[i], 0
        scale = x * x + float32(1)
        while n < LIMIT * FEW and x < float32(9) * scale:
            step = 0
            while step < FEW:
                x += math.sqrt(scale) * float32(0.01)
                step += 1
            n += 1
        out[i] = x + float32(n)


@cuda.jit
def hashes(values, out):
    i = cuda.grid(1)
    state = uint32(i + 1)
    rounds = 0
    while rounds < 200:
        state = uint32(state * uint32(1664525) + uint32(1013904223))
        rounds += 1
    out[i] = float32(state)


KERNELS = [escapes, uneven, whiles, hashes]
ONE_QUICK = [pytest.param(k, marks=[pytest.mark.slow] * (k is not hashes)) for k in KERNELS]


@pytest.mark.parametrize("kernel", ONE_QUICK)
@pytest.mark.slow
def test_compiled_loops_are_as_the_interpreted_ones(kernel, monkeypatch):
    results = []
    for busy_seconds in (math.inf, 0):
        monkeypatch.setattr(loops, "BUSY_SECONDS", busy_seconds)
        out = np.zeros(80, np.float32)
        compiled = []
        keep = loops.ComputingLoops.run
        monkeypatch.setattr(
            loops.ComputingLoops,
            "run",
            lambda *a, keep=keep, compiled=compiled: compiled.append(1) or keep(*a),
        )
        report = checked_run(kernel, 2, 40, floats(80), out)
        results.append((out, str(report), report.table()))
        assert bool(compiled) == (busy_seconds == 0)
    interpreted, compiled = results
    np.testing.assert_array_equal(interpreted[0], compiled[0])
    assert interpreted[1:] == compiled[1:]


@cuda.jit
def never_ends(out):
    n = 1
    while n > 0:
        n = (n * 5 + 1) % 1000 + 1
    out[cuda.grid(1)] = n


@pytest.mark.slow
def test_a_compiled_loop_keeps_to_the_budget(monkeypatch):
    monkeypatch.setattr(loops, "BUSY_SECONDS", 0)
    report = checked_run(never_ends, 1, 32, np.zeros(32, np.int32), budget=5000)
    assert [finding.kind for finding in report.problems] == ["endless"]
    assert "budget of 5,000" in report.problems[0].message
