"""Checks of lesson 12. Sizes are no multiples of a tile, and no two of them are alike."""

import itertools
import math
import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from lessons.grading.checks.case import check
from lessons.reference import products as reference

SIDE, PER_THREAD, WIDTH, DEPTH = 16, 4, 64, 16
WARPS = SIDE**2 // 32  # of a block
RAGGED = 70, 48, 67  # m, k, n: two blocks each way, three whole rounds
ONE_ROUND = 9, 16, 11
CUT = 21, 37, 30  # one block, and a round that is cut
PART = 128  # of the product on tensor cores


@check("registers")
def test_registers(case):
    case.explain = why_not_in_the_tile
    for size in (ONE_ROUND, CUT, RAGGED):
        multiply(case, "launch_product_registers", *size)


@check("few_reads")
def test_few_reads(case):
    m, k, n = 64, 32, 192
    a, b, c = matrices(case, m, k, n)
    counts = case.measure("launch_product_registers", a, b, c)
    expect_product(case, a, b, c)
    per_product = counts.shared().shared_reads / (m * k * n)
    one_of_two = abs(per_product - (1 + 1 / PER_THREAD)) < 0.01
    read_again = (
        "the numbers of one of the two tiles are" if one_of_two else "a number of a tile is"
    )
    case.budget(
        "reads of shared memory per product",
        yours=per_product,
        ours=2 / PER_THREAD,
        allowed=1.25 * 2 / PER_THREAD,
        diagnosis="read for every product",
        sentence=f"{read_again} read again for each product. Four of a "
        "and four of b are enough for sixteen products: read them into local arrays first.",
        line=counts.busiest_line("shared_reads"),
    )
    fetched_once(case, counts, a, n // WIDTH, "a")
    fetched_once(case, counts, b, m // WIDTH, "b")


def fetched_once(case, counts, matrix, blocks, name):
    reads = counts.of(matrix).reads / matrix.size
    case.budget(
        f"reads of each number of {name} from global memory",
        yours=reads,
        ours=blocks,
        allowed=1.5 * blocks,
        diagnosis="fetched again and again",
        sentence=f"each number of {name} is read {reads:.0f} times from global memory. "
        + (f"{blocks} blocks need it" if blocks > 1 else "One block needs it")
        + ", and each block should fetch it once.",
        line=counts.busiest_line("reads", matrix),
    )


@check("double_buffered")
def test_double_buffered(case):
    case.explain = why_not_two_rounds
    case.no_second_barrier = True  # one_barrier takes a point for it
    for size in (CUT, RAGGED, ONE_ROUND):
        multiply(case, "launch_product_double_buffered", *size)


@check("one_barrier")
def test_one_barrier(case):
    m, k, n = 33, 80, 20
    a, b, c = matrices(case, m, k, n)
    counts = case.measure("launch_product_double_buffered", a, b, c)
    expect_product(case, a, b, c)
    rounds = k // DEPTH
    waited = counts.everything().barriers
    case.budget(
        "barriers that a thread waits at",
        yours=waited / WARPS,
        ours=rounds,
        # One more, before the loop or behind it, costs nothing.
        allowed=rounds + 1,
        diagnosis="two barriers per round",
        sentence=f"there are {rounds} rounds. With room for two of them, the next one overwrites "
        "nothing that is still read: one barrier per round, between storing and multiplying.",
    )
    require_tiles(case, counts, a, b, c)


@check("transposed")
def test_transposed(case):
    for size in (CUT, RAGGED):
        multiply_nt(case, *size)
        multiply_tn(case, *size)


@check("neighbours")
def test_neighbours(case):
    m, k, n = 64, 32, 64
    a, b, c = case.random((m, k), -1, 1), case.random((n, k), -1, 1), case.output((m, n))
    counts = case.measure("launch_product_nt", a, b, c)
    case.expect(c, reference.product_nt(a, b), "c", candidates=lambda: wrong_nt(a, b))
    fetched = counts.of(a, b)
    times = fetched.reads / (a.size + b.size)
    sectors = 8 * fetched.sectors / (a.size + b.size)
    case.budget(
        "sectors of global memory per 8 numbers fetched",
        yours=sectors,
        ours=1,
        allowed=1.5,
        diagnosis="neighbours read far apart",
        sentence="threads that are neighbours read numbers that lie far apart, and of each sector "
        "of 32 bytes that moves, most is not used. x counts fastest: let it go along the row in "
        "what reads, here load_turned, and store in keep_turned what that has read."
        if sectors > 1.5 * times
        else f"each number is read {times:.1f} times from global memory, and one block needs it, "
        "which should fetch it once.",
        line=counts.busiest_line("sectors", a, b),
    )
    shared = counts.shared()
    case.budget(
        "passes per request to shared memory",
        yours=shared.shared_passes / max(1, shared.shared_requests),
        ours=1,
        allowed=1.2,
        diagnosis="bank conflicts",
        sentence="threads of a warp want different words of one bank, and wait for each other: the "
        "rows of a tile are PITCH words long, so that a turned piece lies in all banks.",
        line=counts.busiest_line("shared_passes"),
    )


@check("epilogue")
def test_epilogue(case):
    near = np.array([-3.1, -1.2, -0.4, 0.3, 0.9, 2.2], np.float32)
    # As large as sums of some hundred products: no exponential in it may overflow.
    far = np.array([-16, -0.5, 0.5, 16], np.float32)
    for x in (near, far):
        got = [case.call("gelu", number) for number in x]
        case.expect(np.array(got), reference.gelu(x), "gelu", candidates=wrong_gelu(x))
    for size in (CUT, (70, 40, 67)):
        c, counts = multiply_bias_gelu(case, *size)
    touched = counts.of(c)
    case.budget(
        "times that each element of c is read or written",
        yours=(touched.reads + touched.writes) / c.array.size,
        ours=1,
        allowed=1.2,
        diagnosis="c read again",
        sentence="what is in c already is read again, or written twice. The sums are in registers: "
        "finish them there, after the last round and before `store`.",
        line=counts.busiest_line("reads", c) or counts.busiest_line("writes", c),
    )


@check("tensor_cores")
def test_tensor_cores(case):
    case.explain = why_no_fragment
    # In the first one each piece of rows and columns has numbers: of others zeros tell little.
    for m, k, n in ((121, 30, 125), (130, 96, 133)):
        a, b, words, c = halves(case, m, k, n)
        case.run("launch_product_halves", *words, c)
        expect_fragments(case, a, b, words, c)
    m, k, n = 128, 32, 128
    a, b, words, c = halves(case, m, k, n)
    counts = case.measure("launch_product_halves", *words, c)
    expect_fragments(case, a, b, words, c)
    # Per warp and 16 inner indices: 64 rows and 32 columns, eight words of each.
    ours = 8 * (64 + 32) / (64 * 32 * 16)
    case.budget(
        "words of shared memory per 1,000 products",
        yours=1000 * counts.shared().shared_reads / (m * k * n),
        ours=1000 * ours,
        allowed=1300 * ours,
        diagnosis="fragments read again",
        sentence="a fragment is read again for each product that it is part of. Those of all rows "
        "fit into registers: read them first, then those of one column after the other.",
        line=counts.busiest_line("shared_reads"),
    )


def expect_fragments(case, a, b, words, c):
    known = wrong_fragments(a, b) | wrong_sums(a, b) | rounded_words(a, b, *words)
    case.expect(c, reference.product_nt(a, b), "c", candidates=known)


def in_a_tile(found):
    """Whether a finding is about shared memory, whatever the student calls the tiles."""
    shared = "_tile[" in found.message or "shared memory" in found.message
    return shared or f", {WIDTH + 2})" in found.message


def about_own_numbers(found):
    """Whether a race is about what a thread loads or adds up for itself: one index, or the sums."""
    return bool(re.search(r"(writes|reads) (\w+\[\d+\]|\w*sums?\[)", found.message))


OWN_NUMBERS = (
    "cuda.shared.array belongs to the whole block. What a thread loads or adds up for itself is in "
    "cuda.local.array"
)


def why_not_in_the_tile(found):
    if found.kind == "race" and about_own_numbers(found):
        return OWN_NUMBERS
    if (
        found.kind == "race"
        and " writes c[" not in found.message
        and found.message.count(" writes ") == 2
    ):
        return (
            "two threads store in the same place of a tile: keep in the rows top + thread // WIDTH "
            "+ i * ROWS_AT_ONCE, keep_turned in row top + x, columns y + i * SIDE. No barrier "
            "mends that"
        )
    if found.kind == "uninitialised" and in_a_tile(found):
        return (
            "a thread stores LOADS numbers of each tile: keep_turned in row top + x, and in the "
            "columns y + i * SIDE. Of a tile, add_products reads the rows top to top + DEPTH - 1, "
            "and the columns 0 to WIDTH - 1"
        )
    return ""


def why_not_two_rounds(found):
    if found.kind == "out-of-bounds" and in_a_tile(found):
        if f"its shape ({2 * DEPTH}, " in found.message:
            return (
                f"the tiles have room for two rounds, rows 0 to {2 * DEPTH - 1}: `top` is 0 in one "
                "round and DEPTH in the next, and then 0 again"
            )
        return "the tiles have room for two rounds: (TWO_ROUNDS, PITCH)"
    if found.kind == "uninitialised" and "sums[" in found.message:
        return "clear(sums) comes before the loop"
    if found.kind == "uninitialised" and not in_a_tile(found):
        return "what the first round stores has to be loaded before the loop"
    if found.kind == "race" and about_own_numbers(found):
        return OWN_NUMBERS
    if found.kind == "race" and " writes c[" in found.message:
        return ""
    if found.kind == "race" and "begins without one" in found.message:
        return (
            "a second barrier would be one too many: the rounds take turns instead. Even rounds "
            "store and multiply the rows 0 to DEPTH - 1 of both tiles, odd ones the rows DEPTH to "
            f"{2 * DEPTH - 1}: `top` is 0 and DEPTH in turn, and whoever stores or multiplies "
            "begins at row `top`, of a_tile as of b_tile"
        )
    if found.kind == "race":
        return (
            "if there is a barrier between storing and multiplying: between two barriers fill only "
            "one half of both tiles, as slow threads still multiply the other. `top` changes from "
            "round to round, from 0 to DEPTH and back, and whoever stores or multiplies begins at "
            "row `top`"
        )
    if found.kind == "uninitialised":
        return (
            "if there is a barrier between storing and multiplying, two rounds use the same half: "
            "`top` changes from round to round, from 0 to DEPTH and back, and whoever stores or "
            "multiplies begins at row `top` of both tiles"
        )
    return ""


def why_no_fragment(found):
    """What a lane mostly has in mind that reads what is not its own."""
    if found.kind not in ("race", "uninitialised", "out-of-bounds"):
        return ""
    if "local memory" in found.message:
        return ""  # a lane's own array
    copied = (
        ". Or, if you have changed product_halves: the copies of the next round go to the half of "
        "both tiles that is not multiplied now. They are waited for, then comes the barrier, and "
        "only behind it the next copies begin"
    )
    return (
        "a lane reads words here that its warp does not have; no barrier mends that. A round has "
        "WORDS words per row, and a warp has WARP_ROWS rows of a_tile, WARP_COLUMNS of b_tile: "
        "lane is threadIdx.x % WARP, group is lane // 4, from 0 to 7, and place is lane % 4, from "
        "0 to 3. Pieces are 16 rows of a_tile, at first_row + 16 * i, and 8 of b_tile, at "
        f"first_column + 8 * j{copied if 'begin_copies' in found.message else ''}"
    )


@check("float32")
def test_float32(case):
    multiply(case, "launch_product_registers", 18, 20, 17)
    multiply(case, "launch_product_double_buffered", 18, 20, 17)
    multiply_nt(case, 18, 20, 17)
    multiply_tn(case, 18, 20, 17)
    multiply_bias_gelu(case, 18, 20, 17)


@check("large")
def test_large(case):
    m, k, n = case.size(large=(200, 150, 270), small=(66, 40, 70))
    multiply(case, "launch_product_double_buffered", m, k, n, "large")
    multiply_tn(case, m, k, n, "large")
    multiply_bias_gelu(case, m, k, n, "large")


# ---------------------------------------------------------------- running


def matrices(case, m, k, n):
    return case.random((m, k), -1, 1), case.random((k, n), -1, 1), case.output((m, n))


def multiply(case, launch, m, k, n, engine=None):
    a, b, c = matrices(case, m, k, n)
    run(case, launch, a, b, c, engine)
    # product_registers is given: what it calls is right.
    expect_product(case, a, b, c, own_calls=launch != "launch_product_registers")


def run(case, launch, a, b, c, engine):
    """On the checked simulator also see whether there are tiles: else it is lesson 5 again."""
    if engine:
        case.run(launch, a, b, c, engine=engine)
        return
    require_tiles(case, case.measure(launch, a, b, c), a, b, c)


def require_tiles(case, counts, a, b, c):
    if counts.shared().shared_reads > 0:
        return
    reads = counts.of(a, b).reads / (c.array.size * a.shape[1])
    case.keep_within(
        "reads of global memory per product of two numbers",
        yours=reads,
        ours=2 / 64,
        allowed=min(1 / 8, reads / 2),
        diagnosis="no tiles",
        sentence="nothing is read from shared memory: each thread reads all its numbers from "
        "global memory, again and again, and waits for each of them.",
        line=counts.busiest_line("reads", a),
    )


def expect_product(case, a, b, c, own_calls=True):
    right = reference.product(a, b)
    row, column = np.indices(right.shape)
    height, width = (-(-size // WIDTH) * WIDTH for size in right.shape)
    exchanged = (row < width) & (column < height)
    known = {
        "blocks exchanged": (
            np.where(exchanged, right, c.sentinel),
            "The numbers of a block are exchanged: blockIdx.y counts parts of rows, blockIdx.x "
            "parts of columns.",
        )
    }

    def candidates():
        if own_calls:
            return known | wrong_products(a, b) | wrong_calls(a, b)
        # Here they are in load_turned, or in keep_turned, and not in what is called with what; and
        # one of the two is likelier than both, which leave in a small tile what others leave, too.
        insides = wrong_insides(a, b)
        both = {code: insides.pop(code) for code in ("a read and stored as b",)}
        return known | insides | wrong_products(a, b) | both

    case.expect(c, right, "c", candidates=candidates)


def multiply_nt(case, m, k, n, engine=None):
    a, b, c = case.random((m, k), -1, 1), case.random((n, k), -1, 1), case.output((m, n))
    run(case, "launch_product_nt", a, b, c, engine)
    case.expect(c, reference.product_nt(a, b), "c", candidates=lambda: wrong_nt(a, b))


def multiply_tn(case, m, k, n, engine=None):
    a, b, c = case.random((k, m), -1, 1), case.random((k, n), -1, 1), case.output((m, n))
    run(case, "launch_product_tn", a, b, c, engine)
    case.expect(c, reference.product_tn(a, b), "c", candidates=lambda: wrong_tn(a, b))


def multiply_bias_gelu(case, m, k, n, engine=None):
    """Returns (c, how often each array was touched; None for a large input)."""
    a, b, c = matrices(case, m, k, n)
    bias = case.random(n, -1, 1)
    arguments = "launch_product_bias_gelu", a, b, bias, c
    counts = case.run(*arguments, engine=engine) if engine else case.measure(*arguments)
    expected = reference.product_bias_gelu(a, b, bias)
    case.expect(c, expected, "c", candidates=lambda: wrong_epilogues(a, b, bias))
    return c, counts


def halves(case, m, k, n):
    """(a, b as they are after rounding, (their words), c)."""
    a, b = case.random((m, k), -1, 1), case.random((n, k), -1, 1)
    words = reference.words_of_halves(a), reference.words_of_halves(b)
    return (*map(reference.rounded_to_halves, (a, b)), words, case.output((m, n)))


# ---------------------------------------------------------------- wrong in known ways


def wrong_products(a, b):
    """What known mistakes make of a (m, k) @ b (k, n)."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    return {**wrong_rounds(a, b), **wrong_places(a, b), **wrong_tiles(a, b)}


def wrong_rounds(a, b):
    """Sums that leave something out, or take something else."""
    k = a.shape[1]
    last = (k - 1) // DEPTH * DEPTH
    inner = np.arange(k)
    known = {
        "last round only": (
            a[:, last:] @ b[last:],
            "Only the last round counts: sums are cleared once, before the loop over rounds, and "
            "each round adds to them what it has, +=.",
        ),
        "last index missing": (
            a[:, inner % DEPTH != DEPTH - 1] @ b[inner % DEPTH != DEPTH - 1],
            "The last inner index of each round is missing: a round has DEPTH of them.",
        ),
        "one index per round": (
            a[:, ::DEPTH] @ b[::DEPTH],
            "Each round multiplies its first inner index only: go over all DEPTH of them.",
        ),
        "four indices per round": (
            a[:, inner % DEPTH < 4] @ b[inner % DEPTH < 4],
            "Each round multiplies its first four inner indices only; a round has DEPTH of them.",
        ),
        "plus": (
            a.sum(axis=1)[:, None] + b.sum(axis=0),
            "The numbers are added; they should be multiplied, and the products added.",
        ),
    }
    if k % DEPTH == 0:  # the last product of a round that is cut is zero
        known["last product only"] = (
            a[:, -1:] @ b[-1:],
            "Only the last product is left: add to sums, with +=, which begin once, before the "
            "loop.",
        )
    if k > DEPTH:
        a_whole, b_whole = padded(a, 1, DEPTH), padded(b, DEPTH, 1)  # whole rounds
        a_first, b_first = a_whole[:, inner % DEPTH], b_whole[inner % DEPTH]
        places = np.arange(len(b_whole))
        late = np.where(places < DEPTH, places, places - DEPTH)
        now_and_next = "while this round is multiplied, the next one is loaded, inner + DEPTH."
        known |= {
            "last round missing": (
                a[:, :last] @ b[:last],
                "The last round is missing: what is loaded last has to be multiplied as well, in "
                "the last turn of the loop or behind it.",
            ),
            "first round missing": (
                a[:, DEPTH:] @ b[DEPTH:],
                "The first round is missing: it has to be loaded before the loop, and then stored "
                "and multiplied as the others are.",
            ),
            "first round only" if k <= WIDTH else "every fourth round": (
                a[:, inner % WIDTH < DEPTH] @ b[inner % WIDTH < DEPTH],
                "Only the first round is there: does the loop end too early, or does the inner "
                "index go on by WIDTH? From round to round it goes on by DEPTH."
                if k <= WIDTH
                else "Only every fourth round is there: from round to round the inner index goes "
                "on by DEPTH, and not by WIDTH.",
            ),
            "first round again": (
                a_first @ b_first,
                "Every round multiplies the tiles of the first one: each round is loaded from its "
                "own `inner` on, and multiplied from the rows on where it has been stored.",
            ),
            "a stays in the first round": (
                a_first @ b,
                "Of a every round multiplies what the first one has loaded: its column is inner + "
                "x, and each round stores its own.",
            ),
            "b stays in the first round": (
                a @ b_first,
                "Of b every round multiplies what the first one has loaded: its rows begin at "
                "inner, and each round stores its own.",
            ),
            "a alone a round late": (
                a_whole[:, late] @ b_whole,
                f"a is a round behind b: {now_and_next}",
            ),
            "b alone a round late": (
                a_whole @ b_whole[late],
                f"b is a round behind a: {now_and_next}",
            ),
            "a round late": (
                a[:, :last] @ b[:last] + a[:, :DEPTH] @ b[:DEPTH],
                "The first round is multiplied twice, and the last one not at all: in the loop, "
                "the next round is loaded, from inner + DEPTH on.",
            ),
            "rounds one apart": (
                a[:, :-DEPTH] @ b[DEPTH:],
                "a and b of different rounds are multiplied: both are loaded from the same inner "
                "index on.",
            ),
        }
    return known


def without_buffers(known):
    """The same mistakes where a round is loaded and multiplied in one go."""
    if "last round missing" in known:
        known["last round missing"] = (
            known["last round missing"][0],
            "The last round is missing: the loop goes up to the end of the inner index.",
        )


def wrong_places(a, b):
    """Products that are right, of the wrong rows and columns."""
    m, n = a.shape[0], b.shape[1]
    whole = padded(a, WIDTH, 1) @ padded(b, 1, WIDTH)  # whole parts of c
    i, thread = np.divmod(np.arange(WIDTH), SIDE)  # of what a thread stores

    def taken(rows, columns):
        """c, if the element of row r and column q of a part is that of rows[r], columns[q]."""
        parts = whole.reshape(-1, WIDTH, whole.shape[1] // WIDTH, WIDTH)
        return parts[:, rows][:, :, :, columns].reshape(whole.shape)[:m, :n]

    six = whole.reshape(-1, PER_THREAD, SIDE, whole.shape[1] // WIDTH, PER_THREAD, SIDE)
    same = np.stack([six[:, number, :, :, number] for number in range(PER_THREAD)], axis=1)
    same = np.repeat(same[:, :, :, :, None], PER_THREAD, axis=4)
    equal = np.einsum("piyqjy->piqjy", six)[:, :, None]  # rows and columns of the same number
    own, side_by_side = np.arange(WIDTH), PER_THREAD * thread + i
    which = "Those of thread (x, y) are SIDE apart: y + i * SIDE and x + i * SIDE."
    beside, one_apart = "of a thread stand side by side.", "of a thread are one apart, y + i."
    return {
        "i and j exchanged": (
            six.swapaxes(1, 4).reshape(whole.shape)[:m, :n],
            "i and j are exchanged: sums[i, j] belongs to row i and column j, so it is "
            "a_numbers[i] * b_numbers[j].",
        ),
        "x and y exchanged": (
            six.swapaxes(2, 5).reshape(whole.shape)[:m, :n],
            "x and y are exchanged: y counts the rows, so it belongs to a_tile, and x to b_tile.",
        ),
        "side by side": (
            taken(side_by_side, side_by_side),
            f"The rows and columns {beside} {which}",
        ),
        "x for both": (
            np.repeat(equal, SIDE, axis=2).reshape(whole.shape)[:m, :n],
            "Rows and columns are both counted by x: y counts the rows, so it belongs to a_tile.",
        ),
        "y for both": (
            np.repeat(equal.swapaxes(2, 5), SIDE, axis=5).reshape(whole.shape)[:m, :n],
            "Rows and columns are both counted by y: x counts columns, so it belongs to b_tile.",
        ),
        "rows one apart": (taken(thread + i, own), f"The rows {one_apart} {which}"),
        "columns one apart": (
            taken(own, thread + i),
            f"The columns of a thread are one apart, x + i. {which}",
        ),
        "rows and columns one apart": (
            taken(thread + i, thread + i),
            f"The rows and columns of a thread are one apart, y + i and x + i. {which}",
        ),
        "rows side by side": (taken(side_by_side, own), f"The rows {beside} {which}"),
        "columns side by side": (taken(own, side_by_side), f"The columns {beside} {which}"),
        "same number for both": (
            same.reshape(whole.shape)[:m, :n],
            "sums[i, j] takes the same of four numbers from both: a_numbers[i] * b_numbers[j].",
        ),
        "first block again": (
            np.tile(padded(a[:WIDTH], WIDTH, 1), (len(whole) // WIDTH, 1))[:m] @ b,
            "Every block loads the same rows of a: they begin at `first`.",
        ),
        "one row for all": (
            taken(thread, own),
            "All four rows of a thread get the numbers of the first: the row is y + i * SIDE.",
        ),
        "one column for all": (
            taken(own, thread),
            "All four columns of a thread get the numbers of the first: it is x + j * SIDE.",
        ),
        "one element for all": (
            taken(thread, thread),
            "All elements of a thread get the sum of the first: rows are y + i * SIDE, columns "
            "x + j * SIDE.",
        ),
    }


def wrong_tiles(a, b):
    """Products of tiles whose elements are not where they should be."""
    # p, q: row and column of a block; t: the round; k: the inner index; r, c: within the tile.
    left = padded(a, WIDTH, DEPTH)
    left = left.reshape(-1, WIDTH, left.shape[1] // DEPTH, DEPTH).transpose(0, 2, 3, 1)
    right = padded(b, DEPTH, WIDTH)
    right = right.reshape(-1, DEPTH, right.shape[1] // WIDTH, WIDTH).transpose(2, 0, 1, 3)
    thread = np.arange(SIDE * SIDE)
    y, x = np.divmod(thread, SIDE)
    straight = np.empty((2, DEPTH, WIDTH), int)  # what the thread that stores here has read
    turned = np.empty((2, DEPTH, WIDTH), int)
    for i in range(PER_THREAD):
        row, column = thread // WIDTH + i * PER_THREAD, thread % WIDTH
        straight[:, x, y + i * SIDE] = row, column
        turned[:, row, column] = x, y + i * SIDE

    def product(first, second, subscripts="ptkr,qtkc->prqc"):
        result = np.einsum(subscripts, first, second)
        return result.reshape(-1, len(right) * WIDTH)[: a.shape[0], : b.shape[1]]

    def scrambled(tiles, places):
        return tiles[:, :, places[0], places[1]]

    halfway = (
        "A tile is turned in one half only: keep stores what load has read, and keep_turned what "
        "load_turned has."
    )
    replaced = np.broadcast_to(scrambled(right, straight), (len(left), *right.shape))
    pieces = left.reshape(*left.shape[:2], SIDE, PER_THREAD, SIDE)
    not_turned = pieces.swapaxes(2, 4).reshape(left.shape)
    return {
        "a not turned": (
            product(not_turned, right),
            "A row of the tile of a is taken for a row of a, and it is an inner index: keep_turned "
            "stores in tile[top + x, y + i * SIDE], and add_products reads a_tile[top + inner, y + "
            "i * SIDE].",
        ),
        "a loaded as b": (
            product(loaded_as_b(a, len(left), left.shape[1]), right),
            "a is read from row `inner` and column `first` on: for load_turned the row is `first` "
            "+ y + i * SIDE, and the column inner + x.",
        ),
        "b loaded as a": (
            product(left, loaded_as_b(b.T, len(right), right.shape[1])),
            "b is read from row `first` and column `inner` on: load takes the row first, `inner`, "
            "and then the column.",
        ),
        "a along its row": (
            product(loaded_along(a, len(left), left.shape[1]), right),
            "The four numbers of a thread come from one row of a: they come from four rows, first "
            "+ y + i * SIDE, and one column.",
        ),
        "a turned in one half only": (product(scrambled(left, straight), right), halfway),
        "a kept as it is": (product(scrambled(left, turned), right), halfway),
        "b turned in one half only": (product(left, scrambled(right, straight)), halfway),
        "b kept as it is": (product(left, scrambled(right, turned)), halfway),
        "b in the place of a": (
            product(replaced, right, "pqtkr,qtkc->prqc"),
            "What was loaded of a is lost: b is loaded into the same array before a is stored. "
            "Both are on their way at once, and need an array each.",
        ),
    }


def loaded_as_b(a, blocks, rounds):
    """Tiles of a (blocks, rounds, DEPTH, WIDTH) whose row and column begin are exchanged."""
    size = max(blocks * WIDTH, rounds * DEPTH) + WIDTH
    table = read_as(a, size, size)
    tiles = np.empty((blocks, rounds, DEPTH, WIDTH))
    for block in range(blocks):
        for number in range(rounds):
            rows = slice(number * DEPTH, number * DEPTH + WIDTH)
            columns = slice(block * WIDTH, block * WIDTH + DEPTH)
            tiles[block, number] = table[rows, columns].T
    return tiles


def loaded_along(a, blocks, rounds):
    """Tiles of a (blocks, rounds, DEPTH, WIDTH) whose threads read columns 16 apart of one row."""
    size = max(blocks * WIDTH, rounds * DEPTH) + WIDTH
    table = read_as(a, size, size)
    tiles = np.empty((blocks, rounds, DEPTH, WIDTH))
    for block in range(blocks):
        for number in range(rounds):
            for i in range(PER_THREAD):
                rows = slice(block * WIDTH, block * WIDTH + SIDE)
                column = number * DEPTH + i * SIDE
                part = table[rows, column : column + DEPTH].T
                tiles[block, number, :, i * SIDE : (i + 1) * SIDE] = part
    return tiles


# The row and the column of a thread's four numbers, (threads, 4) each: in the part of a matrix that
# a function reads, and in the tile where one stores them.
THREAD, NUMBER = np.indices((SIDE * SIDE, PER_THREAD))
STRAIGHT = THREAD // WIDTH + NUMBER * PER_THREAD, THREAD % WIDTH
TURNED = THREAD // SIDE + NUMBER * SIDE, THREAD % SIDE
READS = {"load": STRAIGHT, "load_turned": TURNED}
STORES = {"keep": STRAIGHT, "keep_turned": TURNED[::-1]}


def wrong_calls(a, b, a_turned=True, b_turned=False):
    """What is left of a product if a tile is filled by other functions, or with other positions.

    a, b: as the kernel gets them. a_turned, b_turned: whether load_turned is the right one.
    """
    rows, columns = a.shape[not a_turned], b.shape[not b_turned]
    right = [
        filled_tiles(matrix, turned, *right_call(turned))
        for matrix, turned in ((a, a_turned), (b, b_turned))
    ]
    known = {}
    for place, (name, matrix, turned, first) in enumerate(
        (("a", a, a_turned, "first_row"), ("b", b, b_turned, "first_column"))
    ):
        load, _, keep = right_call(turned)
        positions = {True: f"{first}, inner", False: f"inner, {first}"}
        for call in itertools.product(READS, (False, True), STORES):
            if call == right_call(turned):
                continue
            tiles = [*right]
            tiles[place] = filled_tiles(matrix, turned, *call)
            product = np.einsum("ptkr,qtkc->prqc", *tiles)
            how = f"{call[0]}({name}, {positions[call[1]]}, ...)"
            known[f"{name} by {how} and {call[2]}"] = (
                product.reshape(product.shape[0] * WIDTH, -1)[:rows, :columns],
                f"{name} is read by {how} and stored by {call[2]}. Here it needs "
                f"{load}({name}, {positions[turned]}, ...), and {keep}.",
            )
    return known


def wrong_insides(a, b):
    """The same if the calls are right, and the two functions for a do what those for b do."""
    tiles_of_b = filled_tiles(b, False, *right_call(False))
    reads = (
        "load_turned reads as load does. Its thread (x, y) reads row first + y + i * SIDE, column "
        "inner + x."
    )
    stores = "keep_turned stores as keep does. Its thread (x, y) stores in row top + x of the tile."
    known = {}
    for load, keep, code, sentence in (
        ("load", "keep_turned", "a read as b", reads),
        ("load_turned", "keep", "a stored as b", stores),
        ("load", "keep", "a read and stored as b", f"{reads} And {stores}"),
    ):
        tiles = filled_tiles(a, True, load, True, keep)
        product = np.einsum("ptkr,qtkc->prqc", tiles, tiles_of_b)
        whole = product.reshape(product.shape[0] * WIDTH, -1)
        known[code] = whole[: a.shape[0], : b.shape[1]], sentence
    return known


def right_call(turned):
    """(the function that reads, whether the inner index is its last position, the one that stores).

    turned: whether the inner index is the column of the matrix.
    """
    return ("load_turned", True, "keep_turned") if turned else ("load", False, "keep")


def filled_tiles(matrix, turned, load, inner_is_last, keep):
    """(blocks, rounds, DEPTH, WIDTH): what these functions leave in the tiles of all rounds."""
    outer, inner = matrix.shape if turned else matrix.shape[::-1]
    blocks, rounds = -(-outer // WIDTH), -(-inner // DEPTH)
    size = max(blocks * WIDTH, rounds * DEPTH) + WIDTH
    table = read_as(matrix.astype(np.float64), size, size)
    tiles = np.empty((blocks, rounds, DEPTH, WIDTH))
    for block, number in np.ndindex(blocks, rounds):
        positions = block * WIDTH, number * DEPTH
        row, column = positions if inner_is_last else positions[::-1]
        tiles[block, number][STORES[keep]] = table[row:, column:][READS[load]]
    return tiles


def padded(matrix, rows, columns):
    """The matrix with zeros up to multiples of rows and columns."""
    m, n = matrix.shape
    result = np.zeros((-(-m // rows) * rows, -(-n // columns) * columns))
    result[:m, :n] = matrix
    return result


def read_as(matrix, rows, columns):
    """What is read of a matrix as if it had this shape: zeros outside."""
    result = np.zeros((rows, columns))
    inside = matrix[:rows, :columns]
    result[: inside.shape[0], : inside.shape[1]] = inside
    return result


def wrong_nt(a, b):
    """What known mistakes make of a (m, k) @ b.T, b (n, k)."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    (m, k), n = a.shape, b.shape[0]
    blocks = -(-n // WIDTH)
    again = np.tile(b[:WIDTH], (blocks, 1))[:n]
    of_rows = [
        a[row : row + WIDTH] @ read_as(b[row:], n, k)[np.arange(n) % WIDTH].T
        for row in range(0, m, WIDTH)
    ]
    known = wrong_products(a, b.T)
    without_buffers(known)
    known["b loaded as a"] = (
        known["b loaded as a"][0],
        "b is read from row `inner` and column `first` on: it is (n, k) here, so for load_turned "
        "the row comes first, which is first_column, and then the column, `inner`.",
    )
    return {
        "operands exchanged": (
            read_as(b @ a.T, m, n),
            "a and b are exchanged: rows of c are rows of a, its columns are rows of b.",
        ),
        "b not turned": (
            a @ read_as(b, k, n),
            "b is read as if it were (k, n): it is (n, k) here, so it is turned, as a is.",
        ),
        "columns of the first block": (
            a @ again.T,
            "Every block reads the same rows of b: they begin at first_column.",
        ),
        "last numbers again": (
            a @ b.T + -k % DEPTH * np.outer(a[:, -1], b[:, -1]),
            "Where the inner index ends within a round, the last numbers are multiplied again: "
            "outside of a matrix a zero is read, as number_at gives it.",
        ),
        "rows in place of columns": (
            np.concatenate(of_rows),
            "b is read from first_row on: its rows are the columns of c, from first_column on.",
        ),
        **known,
        **wrong_calls(a, b, True, True),
    }


def wrong_tn(a, b):
    """What known mistakes make of a.T @ b, a (k, m), b (k, n)."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    k, m = a.shape
    seen = min(-(-m // DEPTH) * DEPTH, k)  # if the loop goes to a.shape[1]
    plain = wrong_products(a.T, b)
    without_buffers(plain)
    plain["a loaded as b"] = (
        plain["a loaded as b"][0],
        "a is read from row first_row and column `inner` on: load takes the row first, which is "
        "`inner`, and then the column.",
    )
    return {
        "operands exchanged": (
            read_as(b.T @ a, m, b.shape[1]),
            "c is transposed, b.T @ a: its rows are columns of a, from first_row on, and its "
            "columns are columns of b, from first_column on.",
        ),
        "a turned": (
            read_as(a, m, k) @ b,
            "a is read as if it were (m, k): it is (k, m) here, so it is not turned.",
        ),
        "as many rounds as c has rows": (
            a[:seen].T @ b[:seen],
            "The loop ends with the columns of a: the inner index goes over its rows, a.shape[0].",
        ),
        "both": (
            read_as(a, m, k)[:, :seen] @ b[:seen],
            "a is read as if it were (m, k): it is (k, m) here. It is not turned, and the inner "
            "index goes over its rows.",
        ),
        **plain,
        **wrong_calls(a, b, False, False),
    }


def wrong_gelu(x):
    x = x.astype(np.float64)
    slope, cube = np.sqrt(2 / np.pi), 0.044715
    inside = slope * (x + cube * x**3)
    formula = "gelu is x / 2 times 1 + tanh(SLOPE * (x + CUBE * x * x * x))."
    return {
        "relu": (np.maximum(x, 0), f"This is a ReLU; {formula}"),
        "nothing activated": (x, f"What comes out is x itself; {formula}"),
        "tanh alone": (np.tanh(inside), f"This is the tanh alone; {formula}"),
        "not times x": ((1 + np.tanh(inside)) / 2, f"x itself is missing in front; {formula}"),
        "twice as large": (x * (1 + np.tanh(inside)), f"The half is missing; {formula}"),
        "minus": (x / 2 * (1 - np.tanh(inside)), f"The sign before tanh is wrong; {formula}"),
        "tan, not tanh": (
            x / 2 * (1 + np.tan(inside)),
            f"This is the tangent of an angle: math.tanh; {formula}",
        ),
        "bracket closed too early": (
            x / 2 * (1 + np.tanh(slope * (x + cube) * x**3)),
            f"The bracket is closed before x * x * x: CUBE goes with it; {formula}",
        ),
        "bracket closed after one x": (
            x / 2 * (1 + np.tanh(slope * (x + cube * x) * x**2)),
            f"The bracket is closed before x * x: it goes around the whole cube; {formula}",
        ),
        "no cube": (x / 2 * (1 + np.tanh(slope * x)), f"The cube is missing; {formula}"),
        "square, not cube": (
            x / 2 * (1 + np.tanh(slope * (x + cube * x**2))),
            f"x * x is the square: the formula has the cube; {formula}",
        ),
        "slope for x only": (
            x / 2 * (1 + np.tanh(slope * x + cube * x**3)),
            f"SLOPE goes with the cube as well; {formula}",
        ),
        "slope missing": (x / 2 * (1 + np.tanh(x + cube * x**3)), f"SLOPE is missing; {formula}"),
        "one missing": (x / 2 * np.tanh(inside), f"The 1 is missing; {formula}"),
        "exact form": (
            x / 2 * (1 + np.array([math.erf(number / math.sqrt(2)) for number in x])),
            f"This is the exact GELU, with erf, which differs in the fourth digit; {formula}",
        ),
        "sigmoid form": (
            x / (1 + np.exp(-1.702 * x)),
            f"This is the form with a sigmoid, another approximation; {formula}",
        ),
    }


def wrong_epilogues(a, b, bias):
    """What known mistakes make of gelu(a @ b + bias)."""
    a, b, bias = (array.astype(np.float64) for array in (a, b, bias))
    product, gelu = a @ b, reference.gelu
    m, n = product.shape
    rounds = -(-a.shape[1] // DEPTH)
    first = bias[np.arange(n) % WIDTH]
    in_the_loop = np.zeros_like(product)
    for inner in range(0, a.shape[1], DEPTH):
        in_the_loop += a[:, inner : inner + DEPTH] @ b[inner : inner + DEPTH]
        in_the_loop = gelu(in_the_loop + bias)
    known = {
        "no epilogue": (
            product,
            "This is a @ b alone: bias and GELU are missing, or come after `store`, "
            "which has put the sums into c as they were.",
        ),
        "no bias": (gelu(product), "The bias is missing: gelu(sum + bias of the column)."),
        "no activation": (product + bias, "The activation is missing: gelu(sum + bias)."),
        "bias after the activation": (
            gelu(product) + bias,
            "The bias is added after GELU; it belongs to the sum, before GELU.",
        ),
        "bias activated by itself": (
            product + gelu(bias),
            "GELU is applied to the bias alone: it is that of the sum, bias included.",
        ),
        "both activated": (
            gelu(product) + gelu(bias),
            "GELU is applied to the product and to the bias: add them first, then apply it once.",
        ),
        "bias before and after": (
            gelu(product + bias) + bias,
            "The bias is added to the sum, and again after GELU: only the sum gets it.",
        ),
        "bias in every round": (
            gelu(product + rounds * bias),
            "The bias is added in every round: once is enough, after the last one.",
        ),
        "activated in every round": (
            in_the_loop,
            "Bias and GELU come in every round, to sums that are not complete: they belong behind "
            "the loop.",
        ),
        "activated twice": (gelu(gelu(product + bias)), "GELU is applied twice."),
        "bias of the first columns": (
            gelu(product + first),
            "Every block takes the first biases: the column is first_column + x + j * SIDE.",
        ),
    }
    row, column = np.indices(product.shape)
    which = column // SIDE % PER_THREAD
    for code, place, sentence in (
        (
            "bias of j",
            which,
            "The bias is that of the thread's own number j: it is that of the column of c, "
            "first_column + x + j * SIDE.",
        ),
        (
            "biases side by side",
            column // WIDTH * WIDTH + column % SIDE * PER_THREAD + which,
            "The columns of a thread are SIDE apart: first_column + x + j * SIDE.",
        ),
        (
            "i and j of the bias exchanged",
            column // WIDTH * WIDTH + row // SIDE % PER_THREAD * SIDE + column % SIDE,
            "i and j are exchanged: sums[i, j] belongs to the column first_column + x + j * SIDE.",
        ),
        (
            "bias of y",
            column // SIDE * SIDE + row % SIDE,
            "The column of a thread is first_column + x + j * SIDE: y counts rows.",
        ),
        (
            "bias of the block's rows",
            row // WIDTH * WIDTH + column % WIDTH,
            "The bias begins at the block's first row: it begins at first_column.",
        ),
    ):
        own = bias[np.minimum(place, n - 1)]
        known[code] = (np.where(place < n, gelu(product + own), product), sentence)
        known[f"{code}, none beyond the last"] = (gelu(product + own * (place < n)), sentence)
        known[f"{code}, the last one beyond it"] = (gelu(product + own), sentence)
    rows = min(m, n)
    by_row = np.concatenate([gelu(product[:rows] + bias[:rows, None]), product[rows:]])
    known["bias by row"] = (by_row, "The bias is that of the row; it belongs to the column.")
    plain = wrong_products(a, b) | wrong_calls(a, b)
    return known | {name: (gelu(sums + bias), sentence) for name, (sums, sentence) in plain.items()}


# ---------------------------------------------------------------- wrong fragments


class Reading(NamedTuple):
    """Which words the lanes of a warp hand over for one operand."""

    size: int  # rows of a piece; a warp has four of them
    # Of each register: how many rows further, and how many words, from group and place.
    places: tuple[tuple[int, int], ...]
    parts: Callable[[int, int], tuple[int, int]] = divmod  # (group, place), of lane and 4
    starts: tuple[int, ...] = (0, 8)  # the words of a round at which its steps begin
    again: int | None = None  # the number of the piece that all of a warp are
    apart: int | None = None  # rows from piece to piece, if not `size`


A = Reading(16, ((0, 0), (8, 0), (0, 4), (8, 4)))
B = Reading(8, ((0, 0), (0, 4)))


def exchanged(lane, places):
    """(group, place), if each is taken for the other."""
    return divmod(lane, places)[::-1]


def by_eight(lane, places):
    """(group, place), if neighbouring lanes have neighbouring groups."""
    return lane % 8, lane // 8


def side_by_side(lane, places):
    """(group, place), if a lane's two words are neighbours."""
    return lane // places, lane % places * 2


WORDS_OF_B = (
    "A row of b_tile is a column of c, and the inner index goes along its words: the row is that "
    "of group, the word that of place. It is not a matrix (k, n), whose rows are inner indices."
)


def wrong_fragments(a, b):
    """What known mistakes make of a @ b.T on tensor cores."""

    def product(of_a=A, of_b=B):
        left, right = fragments(a, of_a), fragments(b, of_b)
        result = np.einsum("isrx,jscx->irjc", left, right)
        return result.reshape(len(left) * 16, -1)[: len(a), : len(b)]

    return {
        "group and place exchanged": (
            product(A._replace(parts=by_eight), B._replace(parts=by_eight)),
            "Neighbouring lanes have neighbouring places, and not neighbouring groups: group is "
            "lane // 4, place is lane % 4.",
        ),
        "words of a exchanged": (
            product(A._replace(places=((0, 0), (0, 4), (8, 0), (8, 4)))),
            "The second and the third word of a are exchanged: first the row 8 further down, then "
            "the words 4 further right.",
        ),
        "rows of a exchanged": (
            product(A._replace(places=((8, 0), (0, 0), (8, 4), (0, 4)))),
            "The words of row r and row r + 8 of a are exchanged.",
        ),
        "words of b exchanged": (
            product(of_b=B._replace(places=((0, 4), (0, 0)))),
            "The two words of b are exchanged: first the one at word, then the one at word + 4.",
        ),
        "halves of a exchanged": (
            product(A._replace(places=((0, 4), (8, 4), (0, 0), (8, 0)))),
            "The words of a at word and at word + 4 are exchanged.",
        ),
        "two words further": (
            product(
                A._replace(places=((0, 0), (8, 0), (0, 2), (8, 2))),
                B._replace(places=((0, 0), (0, 2))),
            ),
            "The second words lie 4 further right, not 2: a lane has one word of each four.",
        ),
        "one word further": (
            product(
                A._replace(places=((0, 0), (8, 0), (0, 1), (8, 1))),
                B._replace(places=((0, 0), (0, 1))),
            ),
            "The second words lie 4 further right, not 1: a lane has one word of each four.",
        ),
        "one word of b further": (
            product(of_b=B._replace(places=((0, 0), (0, 1)))),
            "The second word of b lies 4 further right, not 1.",
        ),
        "four rows further": (
            product(A._replace(places=((0, 0), (4, 0), (0, 4), (4, 4)))),
            "The second row of a is 8 further down, not 4: there are eight groups.",
        ),
        "rows of a without the 8": (
            product(A._replace(places=((0, 0), (0, 0), (0, 4), (0, 4)))),
            "Words a1 and a3 are those of the row 8 further down, group + 8: here they are of the "
            "same row as a0 and a2.",
        ),
        "words of a without the 4": (
            product(A._replace(places=((0, 0), (8, 0), (0, 0), (8, 0)))),
            "Words a2 and a3 lie 4 further right, at w + place + 4: here they are a0 and a1 again.",
        ),
        "words of b without the 4": (
            product(of_b=B._replace(places=((0, 0), (0, 0)))),
            "Word b1 lies 4 further right, at w + place + 4: here it is b0 again.",
        ),
        "words without the 4": (
            product(
                A._replace(places=((0, 0), (8, 0), (0, 0), (8, 0))),
                B._replace(places=((0, 0), (0, 0))),
            ),
            "The words a2, a3 and b1 lie 4 further right, at w + place + 4: here they are those "
            "before again.",
        ),
        "pieces of a 8 apart": (
            product(A._replace(apart=8)),
            "Pieces of a have 16 rows: the row is first_row + 16 * i + group.",
        ),
        **halves_counted(product),
        "second half of the words missing": (
            product(A._replace(starts=(0,)), B._replace(starts=(0,))),
            "Only the first 8 of the 16 words of a row of the tiles are multiplied: one "
            "instruction takes 8, so the loop over the steps has two of them.",
        ),
        "words of a do not go on": (
            product(A._replace(starts=(0, 0))),
            "The words of a are those of the first step in both: read them within the loop over "
            "the steps, from the word where the step begins.",
        ),
        "words of b do not go on": (
            product(of_b=B._replace(starts=(0, 0))),
            "The words of b are those of the first step in both: read them within the loop over "
            "the steps, from the word where the step begins.",
        ),
        "words do not go on": (
            product(A._replace(starts=(0, 0)), B._replace(starts=(0, 0))),
            "Both steps multiply the first 8 words: the second one begins at word 8.",
        ),
        "first rows again": (
            product(A._replace(again=0)),
            "Every piece of 16 rows is the first one: the row is first_row + 16 * i + group.",
        ),
        "first columns again": (
            product(of_b=B._replace(again=0)),
            "Every piece of 8 columns is the first one: it is first_column + 8 * j + group.",
        ),
        "words of the last rows": (
            product(A._replace(again=3)),
            "All pieces of 16 rows are multiplied with the words of the last one, which has "
            "overwritten the others: ROW_TILES pieces have four words each.",
        ),
        "words of the last columns": (
            product(of_b=B._replace(again=3)),
            "All pieces of 8 columns are multiplied with the words of the last one, which has "
            "overwritten the others: read the two words of a piece, multiply, then read the next.",
        ),
        **{
            f"steps at 0 and {start}": (
                product(A._replace(starts=(0, start)), B._replace(starts=(0, start))),
                f"The second step begins at word {start}: an instruction takes 8 words of a row, "
                "so it begins at word 8.",
            )
            for start in (1, 2, 4)
        },
        "rows of b for inner indices": (
            product(of_b=B._replace(parts=exchanged, places=((0, 0), (4, 0)))),
            WORDS_OF_B,
        ),
        "group and place of b exchanged": (product(of_b=B._replace(parts=exchanged)), WORDS_OF_B),
        "group and place of a exchanged": (
            product(A._replace(parts=exchanged)),
            "A row of a_tile is a row of c, and the inner index goes along its words: the row is "
            "that of group, the word that of place.",
        ),
        "words of a side by side": (
            product(A._replace(parts=side_by_side, places=((0, 0), (8, 0), (0, 1), (8, 1)))),
            "A lane has the words place and place + 4 of a, and not two neighbours.",
        ),
        "words of b side by side": (
            product(of_b=B._replace(parts=side_by_side, places=((0, 0), (0, 1)))),
            "A lane has the words place and place + 4 of b, and not two neighbours.",
        ),
    }


def halves_counted(product):
    """What comes out if inner indices, which are halves, are taken for words; see `product`."""
    known = {}
    for parts, further in ((side_by_side, 8), (side_by_side, 4), (divmod, 8)):
        words = ["The inner index is taken for one of halves; along a tile it counts words of two."]
        if parts is side_by_side:
            words.append("Neighbouring places are one word apart, and not two.")
        if further == 8:
            words.append("The words a2, a3 and b1 lie 4 further right, and not 8.")
        words.append("A step has 8 words, and a round two steps.")
        doubled = ", places two apart" if parts is side_by_side else ""
        of_a = ((0, 0), (8, 0), (0, further), (8, further))
        known[f"halves taken for words{doubled}, {further} further"] = (
            product(
                A._replace(parts=parts, places=of_a, starts=(0,)),
                B._replace(parts=parts, places=((0, 0), (0, further)), starts=(0,)),
            ),
            " ".join(words),
        )
    return known


def wrong_sums(a, b):
    """What is left of a @ b.T if lanes do not keep what an instruction gives them."""
    right = a.astype(np.float64) @ b.T.astype(np.float64)
    row, column = np.indices(right.shape)
    last = (a.shape[1] + 31) // 32 * 32 - 16
    last_round = last - 16
    known = {
        "last step only": (
            a[:, last:].astype(np.float64) @ b[:, last:].T,
            "Only the last step is left: the instruction adds to the four sums that it is given, "
            "so give it those of this piece.",
        ),
        "last round only": (
            a[:, last_round:].astype(np.float64) @ b[:, last_round:].T,
            "Only the last round is left: sums has what the rounds before have added. It is zero "
            "once, before the first round; give the instruction its four numbers, and store what "
            "comes back, or add to it what this round has in an array of its own.",
        ),
        "nothing kept": (
            np.zeros_like(right),
            "What the instruction returns is lost: store c0 to c3 in sums.",
        ),
    }
    warps = padded(right, 64, 32)
    pieces = warps.reshape(-1, 4, 16, warps.shape[1] // 32, 4, 8)
    known["i and j exchanged"] = (
        pieces.swapaxes(1, 4).reshape(warps.shape)[: len(a), : len(b)],
        "The sums of a piece lie in sums[i, j]: i counts pieces of rows, j pieces of columns.",
    )
    for number in range(4):
        below, beside = divmod(number, 2)
        lost = (row % 16 // 8 == below) & (column % 2 == beside)
        known[f"c{number} not kept"] = (
            np.where(lost, 0, right),
            f"The instruction returns four numbers, and c{number} is lost: store it in "
            f"sums[i, j, {number}].",
        )
    return known


def rounded_words(a, b, a_words, b_words):
    """What comes out if words of two halves lie in arrays of float32: that rounds them."""

    def rounded(words):
        halves = words.astype(np.float32).astype(np.uint32).view(np.float16)
        return halves.astype(np.float64)

    both = (rounded(a_words), rounded(b_words))
    sentence = (
        "A word is kept as a float32, which rounds it, and half of it is lost: an array of words "
        "is cuda.local.array(..., uint32)."
    )
    shape = slice(0, a.shape[1])
    return {
        "words of a as numbers": (both[0][:, shape] @ b.T, sentence),
        "words of b as numbers": (a @ both[1][:, shape].T, sentence),
        "words as numbers": (both[0][:, shape] @ both[1][:, shape].T, sentence),
    }


def fragments(matrix, reading):
    """What the lanes of a warp hand over, as matrices: (pieces, inner steps, rows of one, 16)."""
    size, places, parts, starts, again, apart = reading
    pieces, rounds = -(-len(matrix) // size), -(-matrix.shape[1] // 32)
    words = padded(np.pad(matrix, ((0, PART), (0, 32))), 1, 32)
    words = words.reshape(len(words), -1, 2)
    begins = (16 * np.arange(rounds)[:, None] + starts).ravel()
    result = np.zeros((pieces, len(begins), size, 16))
    for lane in range(32):
        group, place = parts(lane, 4)
        for number, (rows, further) in enumerate(places):
            # Where the instruction takes this word to be.
            below, beside = (number % 2, number // 2) if size == 16 else (0, number)
            row, column = lane // 4 + 8 * below, lane % 4 * 2 + 8 * beside
            for piece in range(pieces):
                own_piece = piece % 4 if again is None else again
                first = size * (piece // 4 * 4) + (apart or size) * own_piece + group + rows
                own = words[first, begins + place + further]
                result[piece, :, row, column : column + 2] = own
    return result
