"""Checks of lesson 5. The three sizes differ, and are no multiples of a tile."""

import numpy as np

from lessons.grading.case import check

THREADS = ("grid", 2, (16, 16))
TILE = 16


@check("naive")
def test_naive(case):
    for m, k, n in ((5, 7, 9), (19, 40, 35)):
        multiply(case, "launch_matmul_naive", m, k, n)


@check("one_tile")
def test_one_tile(case):
    for m, k, n in ((16, 16, 16), (5, 9, 7)):
        multiply(case, "launch_matmul_tiled", m, k, n)


@check("many_tiles")
def test_many_tiles(case):
    for m, k, n in ((19, 40, 35), (33, 17, 16)):
        multiply(case, "launch_matmul_tiled", m, k, n)


@check("large")
def test_large(case):
    for launch in ("launch_matmul_naive", "launch_matmul_tiled"):
        multiply(case, launch, 130, 200, 150, engine="native")


def multiply(case, launch, m, k, n, engine=None):
    a, b = case.random((m, k), -1, 1), case.random((k, n), -1, 1)
    c = case.output((m, n))
    case.run(launch, a, b, c, engine=engine)
    a, b = a.astype(np.float64), b.astype(np.float64)
    whole = k // TILE * TILE
    last = (k - 1) // TILE * TILE
    candidates = {
        "last tile missing": (
            a[:, :whole] @ b[:whole],
            "The last, cut tile is missing: range(0, k, TILE) takes it along, k // TILE does not.",
        ),
        "only the last tile": (
            a[:, last:] @ b[last:],
            "Only the last tile counts: set total to zero once, before the loop over tiles.",
        ),
        "first tile again": (
            sum(a[:, :TILE] @ b[:TILE] for _ in range(0, k, TILE)),
            "Every round multiplies the first tile again: fetch from start on.",
        ),
        "last index missing": (
            a[:, :-1] @ b[:-1],
            "The last product of each sum is missing: the loop ends one too early.",
        ),
    }
    if k <= TILE:
        candidates = {"last index missing": candidates["last index missing"]}
    if m == k == n:
        candidates["transposed factor"] = (a.T @ b, "a is read with its indices exchanged.")
        candidates["transposed second factor"] = (a @ b.T, "b is read with its indices exchanged.")
        candidates["factors exchanged"] = (b @ a, "This is b @ a: the order of factors matters.")
    case.expect(c, a @ b, "c", THREADS, candidates=candidates)
