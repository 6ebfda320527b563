"""Loops that never end are found at once, also those that store; long ones that end are not."""

import linecache

import numpy as np
import pytest
from numba import cuda

from lessons.lab import checked_run
from lessons.lab.simulator import loops

# A kernel per line: its body with `;` for a new line; `i` is the thread's number, `x` and `y` hold
# 64 zeros, `n` is 5. One thread, but for those that say otherwise.
ENDLESS = """
while n > 0: y[i] = 1
while x[0] >= 0: y[i] = 1
k = 0; while k < x.shape[0]: y[i] = k
k = 0; while k < len(x): y[k] = x[k] + 1
k = 0; step = n - 5; while k < n: x[k] = 1; k += step
k = 0; while k < n: x[i] += 1; k += 0
k = 0; while k < 10: k = 1 - k; x[k] = k
k = 0; while k < 10: k = (k + 1) % 7; x[k] = 3
while True: x[i] = 1 - x[i]
while x[i] < 2: x[i] = 1 - x[i]
while True: pass
while n: x[i] = n
lo = 0; hi = n; while lo < hi: mid = (lo + hi) // 2; y[mid] = 1; lo = mid
k = n; while k != 0: k = k - k % 2; y[i] = k
a = 1; b = 2; while a != b: a, b = b, a; x[a] = b
k = 1.0; while k > 0.5: k = k * 1.0; y[i] = 2
k = 0; while k < n: continue
k = 0; while k < n and x[k] == 0: y[k] = 1
k = 0; while not k > n: x[i] = k; k = k * 2
k = n; while k > 0: k = k + (-1 if k > 4 else 1); x[i] = k
while x[1] == 0: x[2] = 1
while x[1] == 0: x[2] += 1; x[2] = 0
t = cuda.local.array(2, np.int32); t[0] = 0; while t[0] < 4: t[1] = 3
t = cuda.local.array(2, np.int32); t[0] = 0; while t[0] < 4: t[0] = 3 - t[0]
k = 0; while k < n: for j in range(3): y[j] = k
k = 0; while True: k = k + 0; x[i] = 1; if k > 3: break
k = 0; while True: if x[k] != 0: return; y[k] = 1
while x[i] == 0: pass
while x[i] == 0: y[i] = x[i]
while cuda.atomic.add(x, 0, 0) == 0: pass
while cuda.atomic.cas(x, 0, 1, 2) != 1: y[i] = 1
k = 0; while k < n: cuda.atomic.add(y, 0, 1)
k = 0; while k < n: cuda.atomic.max(y, 0, k)
k = 9; while k >= 0: k = abs(k - 1); y[i] = k
x[9] = 0; k = 0; while x[k] == 0: k = 1 - k
k = 0; while k < n: k = min(k + 1, n - 1); x[k] = 1
k = 0; while k < math.ceil(n / 2): k = k ^ 1; y[k] = 1
32: k = 0; while k < n: cuda.syncthreads(); x[i] = k
k = 0; m = n; while k < m - 1: k += 1; m += 1; y[0] = k
t = 0.0; while t != 1.0: t += 0.1; y[0] = 1
t = np.float32(0); while t != np.float32(0.7): t += np.float32(0.1); y[0] = 1
k = 0; while not k == n: k = k + 2; y[0] = 1
k = 9; while k > n and k: k += 1; y[0] = k
k = 0; while True: y[0] = 1; k += 2; if k == n: break
32: k = i; m = i + n; while k < m: k += 1; m += 1; y[i] = k
"""
ENDS = """
k = 0; while k < 3000: k += 1; y[0] = k
k = 0; while k < 3000: k += 1; y[0] = 1
while x[0] < 2000: x[0] += 1
while x[0] < 700: x[0] += 1; y[i] = 1
k = 0; m = 500; while k < m: k += 2; m += 1; y[0] = k
t = 0.0; while t != 100.0: t += 0.5; y[0] = 1
k = np.int16(1); while k > 0: k = np.int16(k + 200); y[0] = k
k = 9223372036854775000; while k > 0: k += 1; y[0] = 1
k = 0; d = 1; while k != -50: k += d; y[0] = 1; if k == 200: d = -1
k = 0; while k < n: k -= 1; y[0] = k; if y[0] == -300: break
k = 300; j = 0; while k > j: k -= 1; j += 1; y[0] = 1
"""


def lines_of(texts):
    return [line for line in texts.splitlines() if line]


def body(text):
    """`a; while b: c; d` on lines of their own: all behind a head belongs to it."""
    lines, depth = [], 1
    for part in text.split("; "):
        while part:
            head, colon, rest = part.partition(": ")
            is_head = bool(colon) and head.split()[0] in ("while", "if", "for")
            lines.append("    " * depth + (head + ":" if is_head else part))
            depth += is_head
            part = rest if is_head else ""
            if not is_head and len(lines) > 1 and lines[-2].lstrip().startswith("if "):
                depth -= 1
    return lines


def run(text):
    threads, colon, rest = text.partition(": ")
    threads, rest = (int(threads), rest) if colon and threads.isdigit() else (1, text)
    lines = ["@cuda.jit", "def kernel(x, y, n):", "    i = cuda.grid(1)", *body(rest)]
    name = f"<{text}>"
    linecache.cache[name] = (0, None, [f"{line}\n" for line in lines], name)
    scope = {"cuda": cuda, "np": np, "math": __import__("math")}
    exec(compile("\n".join(lines), name, "exec"), scope)
    arrays = np.zeros(64, np.int32), np.zeros(64, np.int32)
    return checked_run(scope["kernel"], 1, threads, *arrays, 5, measure=False, budget=20_000)


def kinds(report):
    return {f.kind for f in report.problems}, report.budget_used_up


@pytest.mark.each(4)
@pytest.mark.parametrize("text", lines_of(ENDLESS))
def test_an_endless_loop_is_told_long_before_its_budget_ends(text):
    report = run(text)
    assert kinds(report) == ({"endless"}, False), report


def test_a_loop_that_runs_as_compiled_code_is_told_too(monkeypatch):
    monkeypatch.setattr(loops, "BUSY_SECONDS", 0)
    report = run("k = 0; m = n; while k < m: k += 1; m += 1")
    assert kinds(report) == ({"endless"}, False) and "adds 1 to `k` and 1 to `m`" in str(report)


@pytest.mark.each(4)
@pytest.mark.parametrize("text", lines_of(ENDS))
def test_a_long_loop_that_ends_is_none(text):
    assert kinds(run(text)) == (set(), False)
