"""Checks of lesson 5. The three sizes differ, and are no multiples of a tile."""

import numpy as np

from lessons.grading.judge.case import check

THREADS = "grid", 2, (16, 16)  # one per element of c
TILE = 16
NAIVE, TILED = "launch_matmul_naive", "launch_matmul_tiled"
# m, k, n: a is (m, k), b is (k, n), c is (m, n).
FOR_NAIVE = (5, 7, 9), (19, 40, 35)
ONE_TILE = (16, 16, 16), (5, 9, 7)
# The last sum is longer than sixteen tiles: a block is as wide as that, too.
MANY_TILES = (19, 75, 37), (33, 17, 16), (5, 300, 7)
COUNTED = 48, 33, 64
LARGE, SMALL = (130, 200, 150), (35, 40, 37)
# Reads of each number of a and b, as multiples of ours: tiles of 8 would do, and so would a few
# guards that read too much.
ALLOWED_FETCHES = 2.2
ALLOWED_READS = 1.99  # per product, of global memory by tiles: the naive kernel needs 2
ALLOWED_TIMES = 8  # that each product is computed


@check("naive")
def test_naive(case):
    for sizes in FOR_NAIVE:
        check_naive(case, sizes)


@check("one_tile")
def test_one_tile(case):
    for sizes in ONE_TILE:
        check_tiled(case, sizes)


@check("many_tiles")
def test_many_tiles(case):
    for sizes in MANY_TILES:
        check_tiled(case, sizes)


@check("fetched_once")
def test_fetched_once(case):
    m, _, n = COUNTED
    a, b, c = matrices(case, COUNTED)
    counts = case.measure(TILED, a, b, c)
    expect_product(case, a, b, c)
    case.require_many_threads(counts, c)
    for name, matrix, tiles in (("a", a, n // TILE), ("b", b, m // TILE)):
        reads = counts.of(matrix).reads / matrix.size
        case.budget(
            f"reads of each number of {name} from global memory",
            yours=reads,
            ours=tiles,
            allowed=ALLOWED_FETCHES * tiles,
            diagnosis="read again and again",
            sentence=f"each number of {name} is read {reads:.0f} times from global memory. A block "
            f"should fetch it once into shared memory, for all its threads: {tiles} blocks need "
            f"it, so {tiles} times are enough.",
            line=counts.busiest_line("reads", matrix),
        )


@check("float32")
def test_float32(case):
    check_naive(case, (18, 20, 17))
    check_tiled(case, (18, 20, 17))


@check("large")
def test_large(case):
    check_tiled(case, ONE_TILE[0])  # the kernel with tiles, and not the other one again
    sizes = case.size(large=LARGE, small=SMALL)
    for launch in (NAIVE, TILED):
        a, b, c = matrices(case, sizes)
        case.run(launch, a, b, c, engine="large")
        expect_product(case, a, b, c)


def check_naive(case, sizes):
    a, b, c = matrices(case, sizes)
    counts = case.measure(NAIVE, a, b, c)
    expect_product(case, a, b, c)
    times = counts.of(a).reads / (c.array.size * a.shape[1])
    case.keep_within(
        "reads of a per product of two numbers",
        yours=times,
        ours=1,
        allowed=ALLOWED_TIMES,
        diagnosis="same work again",
        sentence=f"each product is computed about {times:.0f} times: several threads compute the "
        "same elements. A thread has one element of c, at its own row and column.",
        line=counts.busiest_line("reads", a),
    )


def check_tiled(case, sizes):
    a, b, c = matrices(case, sizes)
    counts = case.measure(TILED, a, b, c)
    # Shared memory is not asked for: other ways to read less are as good.
    if counts.shared().shared_reads == 0:
        case.keep_within(
            "reads of global memory per product of two numbers",
            yours=counts.of(a, b).reads / (c.array.size * a.shape[1]),
            ours=2 / TILE,
            allowed=ALLOWED_READS,
            diagnosis="no tiles",
            sentence="each thread multiplies numbers that it reads from global memory, as in "
            "matmul_naive: multiply from tiles of a and b in cuda.shared.array, not from a and b.",
            line=counts.busiest_line("reads", a),
        )
    expect_product(case, a, b, c)
    case.require_many_threads(counts, c)


def matrices(case, sizes):
    m, k, n = sizes
    return case.random((m, k), -1, 1), case.random((k, n), -1, 1), case.output((m, n))


def expect_product(case, a, b, c):
    case.expect(c, a.astype(np.float64) @ b.astype(np.float64), "c", THREADS)
