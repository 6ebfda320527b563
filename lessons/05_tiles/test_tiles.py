"""Checks of lesson 5. The three sizes differ, and are no multiples of a tile."""

import itertools

import numpy as np

from lessons.grading.advice.counted import counted_otherwise
from lessons.grading.checks.case import check

THREADS = ("grid", 2, (16, 16))
TILE = 16
THEY_FETCH = (
    "threads that have no element of c fetch nothing, though the others need the numbers that they "
    "should fetch: the guard of a fetch is about a, or about b, never about c."
)
OR_STORED = ". Or it is stored at [x, y]: store at [y, x], or read it turned as well."
SHORT_SUM = (
    "either a loop, or the guard of a fetch, compares with {}, and should with k = a.shape[1]; or "
    + THEY_FETCH
)


@check("naive")
def test_naive(case):
    case.explain = explained
    for m, k, n in ((5, 7, 9), (19, 40, 35)):
        multiply(case, "launch_matmul_naive", m, k, n)


@check("one_tile")
def test_one_tile(case):
    for m, k, n in ((16, 16, 16), (5, 9, 7)):
        multiply(case, "launch_matmul_tiled", m, k, n)


@check("many_tiles")
def test_many_tiles(case):
    # The last sum is longer than sixteen tiles: a block is as wide as that, too.
    for m, k, n in ((19, 75, 37), (33, 17, 16), (5, 300, 7)):
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
    sizes = case.size(large=(130, 200, 150), small=(35, 40, 37))
    for launch in ("launch_matmul_naive", "launch_matmul_tiled"):
        multiply(case, launch, *sizes, engine="large")


def multiply(case, launch, m, k, n, engine=None):
    a, b, c = matrices(case, m, k, n)
    if launch == "launch_matmul_tiled" and engine is None:
        counts = case.measure(launch, a, b, c)
        require_tiles(case, counts, a, b, c)
        expect_product(case, a, b, c, tuple(counts.of(one).reads for one in (a, b)))
        return
    if engine is None:
        counts = case.measure(launch, a, b, c)
        expect_product(case, a, b, c)
        require_own_element(case, counts, a, b, c)
        return
    case.run(launch, a, b, c, engine=engine)
    expect_product(case, a, b, c)


def explained(found):
    """What a race in `matmul_naive` says: that it is about whose element it is, not of atomics."""
    if found.kind != "race" or "read-modify-write of c[" not in found.message:
        return ""
    return (
        "No atomic is needed here: each element of c belongs to one thread, c[row, column] to the "
        "one with column, row = cuda.grid(2). It goes over the whole sum by itself, in a `total` "
        "that begins at float32(0), and stores it once, with =: no other thread adds to it."
    )


def require_own_element(case, counts, a, b, c):
    """Not all elements of a row, or all of c, computed by every thread of it."""
    products = c.array.size * a.shape[1]
    times = counts.of(a).reads / products
    case.keep_within(
        "reads of a per product of two numbers",
        yours=times,
        ours=1,
        allowed=8,
        diagnosis="same work again",
        sentence=f"each product is computed about {times:.0f} times: several threads compute the "
        "same elements. A thread has one element of c, at its own row and column.",
        line=counts.busiest_line("reads", a),
    )


def matrices(case, m, k, n):
    return case.random((m, k), -1, 1), case.random((k, n), -1, 1), case.output((m, n))


def require_tiles(case, counts, a, b, c):
    """Neither shared memory nor any other way that spares reads: the naive kernel again."""
    if counts.shared().shared_reads > 0:
        return
    case.keep_within(
        "reads of global memory per product of two numbers",
        yours=counts.of(a, b).reads / (c.array.size * a.shape[1]),
        ours=2 / TILE,
        allowed=1.99,
        diagnosis="no tiles",
        sentence="each thread multiplies numbers that it reads from global memory, as in "
        "matmul_naive: multiply from tiles of a and b in cuda.shared.array, not from a and b.",
        line=counts.busiest_line("reads", a),
    )


def expect_product(case, a, b, c, reads=None):
    """reads: how often numbers of a, and of b, were read by tiles; None if that is not known."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    expected = a @ b
    case.expect(
        c,
        expected,
        "c",
        THREADS,
        candidates=lambda: {
            **wrong_sums(a, b, reads),
            **wrong_rounds(a, b),
            **wrong_tiles(a, b),
            **wrong_products(a, b, c.array),
        },
    )


# ---------------------------------------------------------------- wrong in known ways


def wrong_sums(a, b, reads=None):
    """What a sum gives that leaves something out, or takes something else. reads: see above."""
    m, k = a.shape
    n = b.shape[1]
    whole, last = k // TILE * TILE, (k - 1) // TILE * TILE
    results = {
        "last tile missing": (
            a[:, :whole] @ b[:whole],
            "The last, cut tile is missing: does the loop end before it, as with k // TILE rounds "
            "(range(0, k, TILE) takes it along)? Or does a guard put zeros into all of it?",
        ),
        "only the last tile": (
            a[:, last:] @ b[last:],
            "Only the last tile counts: set total to zero once, before the loop over tiles.",
        ),
        "last index missing": (
            a[:, :-1] @ b[:-1],
            "The last product of each sum is missing: a loop, or the guard of a fetch, ends one "
            "too early.",
        ),
        "first index missing": (
            a[:, 1:] @ b[1:],
            "The first product of each sum is missing: a loop, or the guard of a fetch, begins at "
            "1, not at 0.",
        ),
        "only the last product": (
            a[:, -1:] @ b[-1:],
            "Only the last product is left: add to total, with +=, which begins once, before the "
            "loop.",
        ),
        "plus": (
            a.sum(axis=1)[:, None] + b.sum(axis=0),
            "The numbers are added; they should be multiplied, and the products added.",
        ),
    }
    if k % TILE:
        results["padded with ones"] = (
            a @ b + (tiles(k) - k),
            "Beyond the edges the tiles hold ones, and 1 * 1 is added: put zeros there.",
        )
        results["last number again"] = (
            a @ b + (tiles(k) - k) * np.outer(a[:, -1], b[-1]),
            "Beyond the edge both tiles hold the last number again, and its product is added again "
            "and again: put zeros there, or end the sum over a tile with the last number of a row.",
        )
    rows, columns = tiles(m), tiles(n)
    if rows < k and rows != whole:
        results["as many tiles as rows"] = (
            a[:, :rows] @ b[:rows],
            "The loop over tiles ends with the rows of a: it has to go over the inner size, "
            "a.shape[1].",
        )
    if columns < k and columns != whole:
        results["as many tiles as columns"] = (
            a[:, :columns] @ b[:columns],
            "The loop over tiles ends with the columns of b: it has to go over a.shape[1].",
        )
    if max(m, k, n) <= TILE and m == k == n:
        results["row and column exchanged"] = (
            np.full((m, n), np.trace(a * b.diagonal())),
            "Each element is the sum of a[i, i] * b[i, i]: are row and column exchanged where the "
            "numbers are fetched, or x and y? x counts columns, in cuda.grid(2) and in "
            "cuda.threadIdx.",
        )
    if m < k:
        results["as many as rows"] = (
            a[:, :m] @ b[:m],
            f"Only as many products are summed as a has rows: {why_short('m', a, b, reads)}",
        )
    if n < k:
        results["as many as columns"] = (
            a[:, :n] @ b[:n],
            f"Only as many products are summed as c has columns: {why_short('n', a, b, reads)}",
        )
    if k > TILE:
        results["only 16 products"] = (
            a[:, :TILE] @ b[:TILE],
            "Only the first 16 products are summed: the length of the sum is a.shape[1], not 16. "
            "Of tiles, only the first counts: every round fetches numbers of its own.",
        )
    if k > TILE * TILE:
        results["only 16 tiles"] = (
            a[:, : TILE * TILE] @ b[: TILE * TILE],
            "Only 16 tiles are summed, 256 products: how many there are depends on a.shape[1], and "
            "not on how wide a block is.",
        )
    if m == k == n:
        results["transposed factor"] = (a.T @ b, indices_exchanged("a"))
        results["transposed second factor"] = (a @ b.T, indices_exchanged("b"))
        results["written the other way round"] = (
            (a @ b).T,
            "Rows and columns of the result are exchanged: it is c[row, column] = total.",
        )
        results["factors exchanged"] = (b @ a, "This is b @ a: the order of factors matters.")
    return results


def why_short(length, a, b, reads):
    """Why sums end with the rows, or the columns, of c: as far as it tells who has fetched what.

    One block tells: it reads each number once, but for those that nobody fetches.
    """
    (m, k), n = a.shape, b.shape[1]
    if reads == (a.size, b.size) and max(m, k, n) <= TILE:
        return f"a loop compares with {length}, and should with k = a.shape[1]."
    # Thread (x, y) fetches a[y, x] and b[y, x], and has c[y, x], if all three are there.
    fetched_by_c, by_length = (m * min(k, n), n * min(k, m)), (m * min(k, m), n * min(k, m))
    if reads == fetched_by_c != by_length and max(m, k, n) <= TILE:
        return THEY_FETCH
    return SHORT_SUM.format(length)


def indices_exchanged(name):
    return (
        f"{name} has its indices exchanged: where it is read, or where its tile is stored or read."
    )


def wrong_products(a, b, got):
    """Products that are left out, or counted again; for small matrices alone."""
    if a.shape[0] * a.shape[1] * b.shape[1] > 100_000:
        return {}
    products = a.T[:, :, np.newaxis] * b[:, np.newaxis, :]
    return counted_otherwise(got, products, "products of each sum")


def wrong_rounds(a, b):
    """What rounds give that begin in other places than 0, 16, 32, ..."""
    k = a.shape[1]
    numbers = np.arange(k)

    def from_places(starts):
        weights = sum(((numbers >= s) & (numbers < s + TILE)).astype(float) for s in starts)
        return (a * weights) @ b

    def one_apart(factor):
        """The tiles of this factor begin one further on from round to round, and not TILE."""
        far = [1 if factor == "a" else TILE, 1 if factor == "b" else TILE]
        places = np.arange(-(-k // TILE))[:, np.newaxis] * far
        padded_a = np.pad(a, ((0, 0), (0, TILE)))
        padded_b = np.pad(b, ((0, TILE), (0, 0)))
        return sum(padded_a[:, p : p + TILE] @ padded_b[q : q + TILE] for p, q in places)

    rounds_left = -(-k // TILE) - numbers // TILE
    again = sum((numbers < min(TILE, k - s)).astype(float) for s in range(0, k, TILE))
    return {
        "rounds one apart": (
            from_places(range(k)),
            "The rounds are one apart: start goes up by TILE each time, range(0, k, TILE).",
        ),
        "start not multiplied": (
            from_places(range(-(-k // TILE))),
            "start is the number of the round: multiply it by TILE.",
        ),
        "start of a not multiplied": (
            one_apart("a"),
            "a's tiles are one column apart: its column is the round times TILE, plus x.",
        ),
        "start of b not multiplied": (
            one_apart("b"),
            "b's tiles are one row apart: its row is the round times TILE, plus y.",
        ),
        "every second tile": (
            from_places(range(0, k, 2 * TILE)),
            "Every second tile is left out: start goes up by TILE each time.",
        ),
        "rounds half a tile apart": (
            from_places(range(0, k, TILE // 2)),
            "The rounds are half a tile apart: start goes up by TILE each time.",
        ),
        "sum of a round goes on": (
            (a * rounds_left) @ b,
            "What a round has summed up is added again in each later round: the sum of one round "
            "begins at zero, or goes into total once, after the last.",
        ),
        "first tiles again": (
            (a * again) @ b,
            "Every round multiplies the first tiles again: fetch from start on.",
        ),
    }


def wrong_tiles(a, b):
    """What tiles give that are filled, or read, in another way than they should be."""
    # p, q: row and column of a block; y, x: of a thread in it; t: the round; i: within the tile.
    k = a.shape[1]
    left = cut(a).transpose(0, 2, 1, 3)  # (p, t, y, x): a_tile of each block and round
    right = cut(b).transpose(2, 0, 1, 3)  # (q, t, y, x)

    def product(subscripts, first=left, second=right, more=()):
        rows, columns = a.shape[0], b.shape[1]
        result = np.einsum(f"{subscripts}->pyqx", first, second, *more)
        return result.reshape(len(left) * TILE, -1)[:rows, :columns]

    first_of_a = np.repeat(left[:, :1], left.shape[1], axis=1)
    first_of_b = np.repeat(right[:, :1], right.shape[1], axis=1)
    return {
        "a_tile read by columns": (
            product("ptiy,qtix"),
            "a_tile is read as a_tile[i, y]: its row belongs to the thread, a_tile[y, i]"
            f"{OR_STORED}",
        ),
        "b_tile read by rows": (
            product("ptyi,qtxi"),
            "b_tile is read as b_tile[x, i]: its column belongs to the thread, b_tile[i, x]"
            f"{OR_STORED}",
        ),
        "both tiles exchanged": (
            product("ptiy,qtxi"),
            "Both tiles are stored, or read, with their indices exchanged: they are stored at "
            "[y, x], and what is summed is a_tile[y, i] * b_tile[i, x].",
        ),
        "b_tile does not go along": (
            product("ptyi,qtyx"),
            "b_tile is read in the row y all the time: the loop goes down b_tile[i, x].",
        ),
        "a_tile does not go along": (
            product("ptyx,qtix"),
            "a_tile is read in the column x all the time: the loop goes along a_tile[y, i].",
        ),
        "numbers of the round before": (
            product("ptyi,qtix", kept(left, k, axis=3), kept(right, k, axis=2)),
            "Beyond the edge the tiles keep the numbers of the round before: put zeros there in "
            "every round.",
        ),
        "first tile again": (
            product("ptyi,qtix", first_of_a, first_of_b),
            "Every round multiplies the first tile again: fetch from start on.",
        ),
        "first tile of a again": (
            product("ptyi,qtix", first_of_a),
            "a is always read from its first tile: fetch another one in each round, from column "
            "start + x.",
        ),
        "first tile of b again": (
            product("ptyi,qtix", left, first_of_b),
            "b is always read from its first tile: fetch another one in each round, from row "
            "start + y.",
        ),
        "own numbers only": (
            product("ptyx,qtyx"),
            "A thread multiplies only the two numbers that it has fetched itself: it needs a row "
            "of a_tile and a column of b_tile, a_tile[y, i] * b_tile[i, x] for i from 0 to 15.",
        ),
        "a_tile fetched by y": (
            product("pty,qtix", np.einsum("ptyy->pty", left)),
            "All threads of a row fetch the same number of a: its column is start + x.",
        ),
        "b_tile fetched by x": (
            product("ptyi,qtx", left, np.einsum("qtxx->qtx", right)),
            "All threads of a column fetch the same number of b: its row is start + y.",
        ),
        "rows of the first block": (
            product("ptyi,qtix", np.repeat(left[:1], len(left), axis=0)),
            "Every block fetches the first rows of a: the row is that of cuda.grid, not y.",
        ),
        "columns of the first block": (
            product("ptyi,qtix", left, np.repeat(right[:1], len(right), axis=0)),
            "Every block fetches the first columns of b: the column is that of cuda.grid, not x.",
        ),
        "both are the tile of b": (
            both_tiles(right, len(left), "qtyi,qtix->yqx", a, b),
            "Both tiles hold numbers of b: are they one and the same shared array (each needs its "
            "own), or is the tile of a fetched from b, too?",
        ),
        **guarded_by_c(product, a, b),
        **other_indices(product, a, b),
    }


def guarded_by_c(product, a, b):
    """Tiles with zeros where a thread without an element of c should have fetched a number."""
    # Thread (i, y) fetches a_tile[y, i]: it has a column of c. Thread (x, i) has a row of c.
    rows, columns = tiles(a.shape[0]), tiles(b.shape[1])
    has_row = (np.arange(rows) < a.shape[0]).reshape(-1, TILE).astype(float)
    has_column = (np.arange(columns) < b.shape[1]).reshape(-1, TILE).astype(float)
    sentence = f"{THEY_FETCH[0].upper()}{THEY_FETCH[1:]}"
    masks = {
        "fetches guarded by c": (has_row, has_column),
        "fetch of a guarded by c": (np.ones_like(has_row), has_column),
        "fetch of b guarded by c": (has_row, np.ones_like(has_column)),
    }
    return {code: (product("ptyi,qtix,pi,qi", more=more), sentence) for code, more in masks.items()}


def kept(rounds, k, axis):
    """Tiles of all rounds where nothing is stored beyond k, counted along this axis of a tile."""
    result = rounds.copy()
    last = rounds.shape[1] - 1
    beyond = np.arange(TILE) >= k - last * TILE
    if last and beyond.any():
        place = [slice(None)] * rounds.ndim
        place[axis] = beyond
        before, now = list(place), list(place)
        before[1], now[1] = last - 1, last
        result[tuple(now)] = rounds[tuple(before)]
    return result


def both_tiles(tiles_of_b, blocks_down, subscripts, a, b):
    """A tile of b multiplied by itself, for all blocks of a column."""
    once = np.einsum(subscripts, tiles_of_b, tiles_of_b)
    result = np.repeat(once[None], blocks_down, axis=0).reshape(blocks_down * TILE, -1)
    return result[: a.shape[0], : b.shape[1]]


def other_indices(product, a, b):
    """a_tile and b_tile, each read with any two of y, x and i; for small matrices alone."""
    if a.shape[0] * a.shape[1] * b.shape[1] > 100_000:
        return {}
    ones = np.ones(TILE)
    found = {}
    for of_a, of_b in itertools.product(itertools.product("yxi", repeat=2), repeat=2):
        read = f"a_tile[{', '.join(of_a)}] * b_tile[{', '.join(of_b)}]"
        result = product(f"pt{''.join(of_a)},qt{''.join(of_b)},y,x,i", more=(ones, ones, ones))
        sentence = (
            f"Of tiles that are stored at [y, x], what is summed over i is {read}: it has to be "
            "a_tile[y, i] * b_tile[i, x]."
        )
        found[read] = result, sentence
    return found


def tiles(size):
    """A size, rounded up to whole tiles."""
    return -(-size // TILE) * TILE


def cut(matrix):
    """(blocks down, 16, blocks across, 16), with zeros beyond the edges."""
    down, across = (-(-size // TILE) for size in matrix.shape)
    whole = np.zeros((down * TILE, across * TILE))
    whole[: matrix.shape[0], : matrix.shape[1]] = matrix
    return whole.reshape(down, TILE, across, TILE)
