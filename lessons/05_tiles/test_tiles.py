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
    for m, k, n in ((19, 75, 37), (33, 17, 16)):
        multiply(case, "launch_matmul_tiled", m, k, n)


@check("fetched_once")
def test_fetched_once(case):
    m, k, n = 48, 33, 64
    a, b, c = matrices(case, m, k, n)
    counts = case.measure("launch_matmul_tiled", a, b, c)
    expect_product(case, a, b, c)
    for name, matrix, times in (("a", a, n), ("b", b, m)):
        reads = counts.of(matrix).reads / matrix.size
        case.budget(
            f"reads of each number of {name} from global memory",
            yours=reads,
            ours=times / TILE,
            # A tile of 8 would do, and so would a few guards that read too much.
            allowed=2.2 * times / TILE,
            diagnosis="read again and again",
            sentence=f"each number of {name} is read {reads:.0f} times from global memory. A block "
            f"should fetch it once into shared memory, for all its threads: {times // TILE} blocks "
            f"need it, so {times // TILE} times are enough.",
            line=counts.busiest_line("reads", matrix),
        )


@check("float32")
def test_float32(case):
    for launch in ("launch_matmul_naive", "launch_matmul_tiled"):
        multiply(case, launch, 18, 20, 17)


@check("large")
def test_large(case):
    sizes = case.size(native=(130, 200, 150), checked=(35, 40, 37))
    for launch in ("launch_matmul_naive", "launch_matmul_tiled"):
        multiply(case, launch, *sizes, engine="native")


def multiply(case, launch, m, k, n, engine=None):
    a, b, c = matrices(case, m, k, n)
    if launch == "launch_matmul_tiled" and engine is None:
        require_tiles(case, case.measure(launch, a, b, c), a, b, c)
    else:
        case.run(launch, a, b, c, engine=engine)
    expect_product(case, a, b, c)


def matrices(case, m, k, n):
    return case.random((m, k), -1, 1), case.random((k, n), -1, 1), case.output((m, n))


def require_tiles(case, counts, a, b, c):
    """Neither shared memory nor any other way that spares reads: the naive kernel again."""
    naive = counts.of(a, b).reads >= 2 * c.array.size * a.shape[1]
    case.require(
        not (naive and counts.shared().shared_reads == 0),
        "no tiles",
        "each thread reads all its numbers from global memory, as in matmul_naive: fetch tiles of "
        "a and b into cuda.shared.array, and multiply from there.",
    )


def expect_product(case, a, b, c):
    a, b = a.astype(np.float64), b.astype(np.float64)
    candidates = {**wrong_sums(a, b), **wrong_tiles(a, b)}
    case.expect(c, a @ b, "c", THREADS, candidates=candidates)


# ---------------------------------------------------------------- wrong in known ways


def wrong_sums(a, b):
    """What a sum gives that leaves something out, or takes something else."""
    m, k = a.shape
    n = b.shape[1]
    whole, last = k // TILE * TILE, (k - 1) // TILE * TILE
    results = {
        "last tile missing": (
            a[:, :whole] @ b[:whole],
            "The last, cut tile is missing: range(0, k, TILE) takes it along, k // TILE does not.",
        ),
        "only the last tile": (
            a[:, last:] @ b[last:],
            "Only the last tile counts: set total to zero once, before the loop over tiles.",
        ),
        "last index missing": (
            a[:, :-1] @ b[:-1],
            "The last product of each sum is missing: the loop ends one too early.",
        ),
        "first index missing": (
            a[:, 1:] @ b[1:],
            "The first product of each sum is missing: the loop begins at 1, not at 0.",
        ),
        "only the last product": (
            a[:, -1:] @ b[-1:],
            "Only the last product is left: add to total, total += ..., instead of replacing it.",
        ),
        "plus": (
            a.sum(axis=1)[:, None] + b.sum(axis=0),
            "The numbers are added; they should be multiplied, and the products added.",
        ),
    }
    rows, columns = tiles(m), tiles(n)
    if rows < k and rows != whole:
        results["as many tiles as rows"] = (
            a[:, :rows] @ b[:rows],
            "The loop over tiles ends with the rows of a: it goes over the inner size, a.shape[1].",
        )
    if columns < k and columns != whole:
        results["as many tiles as columns"] = (
            a[:, :columns] @ b[:columns],
            "The loop over tiles ends with the columns of b: it goes over a.shape[1].",
        )
    if max(m, k, n) <= TILE and m == k == n:
        results["row and column exchanged"] = (
            np.full((m, n), np.trace(a * b.diagonal())),
            "row and column are exchanged: column, row = cuda.grid(2), x first.",
        )
    if m < k:
        results["as many as rows"] = (
            a[:, :m] @ b[:m],
            "The sum has as many products as a has rows; its length is a.shape[1].",
        )
    if n < k:
        results["as many as columns"] = (
            a[:, :n] @ b[:n],
            "The sum has as many products as c has columns; its length is a.shape[1].",
        )
    if k > TILE:
        results["only 16 products"] = (
            a[:, :TILE] @ b[:TILE],
            "Only the first 16 products are summed: the length of the sum is a.shape[1], not 16.",
        )
    if m == k == n:
        results["transposed factor"] = (a.T @ b, "a is read with its indices exchanged.")
        results["transposed second factor"] = (a @ b.T, "b is read with its indices exchanged.")
        results["factors exchanged"] = (b @ a, "This is b @ a: the order of factors matters.")
    return results


def wrong_tiles(a, b):
    """What tiles give that are filled, or read, in another way than they should be."""
    # p, q: row and column of a block; y, x: of a thread in it; t: the round; i: within the tile.
    left = cut(a).transpose(0, 2, 1, 3)  # (p, t, y, x): a_tile of each block and round
    right = cut(b).transpose(2, 0, 1, 3)  # (q, t, y, x)

    def product(subscripts, first=left, second=right):
        rows, columns = a.shape[0], b.shape[1]
        result = np.einsum(f"{subscripts}->pyqx", first, second)
        return result.reshape(len(left) * TILE, -1)[:rows, :columns]

    first_of_a = np.repeat(left[:, :1], left.shape[1], axis=1)
    first_of_b = np.repeat(right[:, :1], right.shape[1], axis=1)
    return {
        "a_tile read by columns": (
            product("ptiy,qtix"),
            "a_tile is read as a_tile[i, y]: its row belongs to the thread, a_tile[y, i].",
        ),
        "b_tile read by rows": (
            product("ptyi,qtxi"),
            "b_tile is read as b_tile[x, i]: its column belongs to the thread, b_tile[i, x].",
        ),
        "both tiles exchanged": (
            product("ptiy,qtxi"),
            "Both tiles are read with their indices exchanged: a_tile[y, i] * b_tile[i, x].",
        ),
        "b_tile does not go along": (
            product("ptyi,qtyx"),
            "b_tile is read in the row y all the time: the loop goes down b_tile[i, x].",
        ),
        "a_tile does not go along": (
            product("ptyx,qtix"),
            "a_tile is read in the column x all the time: the loop goes along a_tile[y, i].",
        ),
        "first tile again": (
            product("ptyi,qtix", first_of_a, first_of_b),
            "Every round multiplies the first tile again: fetch from start on.",
        ),
        "first tile of a again": (
            product("ptyi,qtix", first_of_a),
            "a is always read from its first tile: the column is start + x.",
        ),
        "first tile of b again": (
            product("ptyi,qtix", left, first_of_b),
            "b is always read from its first tile: the row is start + y.",
        ),
        "a_tile fetched by y": (
            product("pty,qtix", np.einsum("ptyy->pty", left)),
            "All threads of a row fetch the same number of a: its column is start + x.",
        ),
        "b_tile fetched by x": (
            product("ptyi,qtx", left, np.einsum("qtxx->qtx", right)),
            "All threads of a column fetch the same number of b: its row is start + y.",
        ),
    }


def tiles(size):
    """A size, rounded up to whole tiles."""
    return -(-size // TILE) * TILE


def cut(matrix):
    """(blocks down, 16, blocks across, 16), with zeros beyond the edges."""
    down, across = (-(-size // TILE) for size in matrix.shape)
    whole = np.zeros((down * TILE, across * TILE))
    whole[: matrix.shape[0], : matrix.shape[1]] = matrix
    return whole.reshape(down, TILE, across, TILE)
