"""Checks of lesson 12. Sizes are no multiples of a tile, and no two of them are alike."""

import ast

import numpy as np

from lessons.grading.judge.case import Curve, check
from lessons.reference import products as reference

SIDE, PER_THREAD, WIDTH, DEPTH = 16, 4, 64, 16
WARPS = SIDE**2 // 32  # of a block
# m, k, n:
RAGGED = 70, 48, 67  # two blocks each way, three whole rounds
ONE_ROUND = 9, 16, 11
CUT = 21, 37, 30  # one block, and a round that is cut
SMALL = 18, 20, 17
# In the first one each piece of rows and columns has numbers: of others zeros tell little.
OF_HALVES = (121, 30, 125), (130, 96, 133)
SHARED_READS = 1.25 * 2 / PER_THREAD  # allowed per product
FETCHES = 1.5  # allowed of each number, per block that needs it
SECTORS = 1.5  # allowed per 8 numbers fetched
PASSES = 1.2  # allowed per request to shared memory
TOUCHES_OF_C = 1.2  # allowed reads and writes per element
FRAGMENT_READS = 1.3  # allowed, relative to ours
MOST_STATEMENTS = 100  # of a loop in which loads are looked for
GLOBAL_READS = 1 / 8  # allowed per product of a kernel without tiles


@check("registers")
def test_registers(case):
    for size in (ONE_ROUND, CUT, RAGGED):
        multiply(case, "launch_product_registers", *size)


@check("few_reads")
def test_few_reads(case):
    m, k, n = 64, 32, 192
    a, b, c = matrices(case, m, k, n)
    counts = case.measure("launch_product_registers", a, b, c)
    case.expect(c, reference.product(a, b), "c")
    case.budget(
        "reads of shared memory per product",
        yours=counts.shared().shared_reads / (m * k * n),
        ours=2 / PER_THREAD,
        allowed=SHARED_READS,
        diagnosis="read for every product",
        sentence="a number of a tile is read again for each product. Four of a and four of b are "
        "enough for sixteen products: read them into local arrays first.",
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
        allowed=FETCHES * blocks,
        diagnosis="fetched again and again",
        sentence=f"each number of {name} is read {reads:.0f} times from global memory. "
        + (f"{blocks} blocks need it" if blocks > 1 else "One block needs it")
        + ", and each block should fetch it once.",
        line=counts.busiest_line("reads", matrix),
    )


@check("double_buffered")
def test_double_buffered(case):
    for size in (CUT, RAGGED, ONE_ROUND):
        multiply(case, "launch_product_double_buffered", *size)


@check("one_barrier")
def test_one_barrier(case):
    m, k, n = 33, 80, 20
    a, b, c = matrices(case, m, k, n)
    counts = case.measure("launch_product_double_buffered", a, b, c)
    case.expect(c, reference.product(a, b), "c")
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
    late = late_loads(case.submission.text)
    case.require(
        late == 0,
        "loaded too late",
        "what the next round needs is loaded when this round's products are done, and stored right "
        "then: the threads wait for memory and do nothing. Load it between the barrier and the "
        "products, which need no memory, and store it after them.",
        line=late,
    )


def late_loads(text):
    """The line of a load in the loop whose numbers are stored before any product is made.

    text: a student's file, bytes. 0 if there is none, or if it cannot be told.
    """
    try:
        functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return 0
    kernel = next((one for one in functions if one.name == "product_double_buffered"), None)
    if kernel is None or len(kernel.args.args) < 2:
        return 0
    matrices = {argument.arg for argument in kernel.args.args[:2]}
    tiles, registers = arrays_of(kernel, "shared"), arrays_of(kernel, "local")
    for loop in ast.walk(kernel):
        if not isinstance(loop, (ast.For, ast.While)) or len(loop.body) > MOST_STATEMENTS:
            continue
        if "syncthreads" in ast.dump(loop):
            found = [named_in(statement) for statement in loop.body]
            loads = {i: names & registers for i, names in enumerate(found) if names & matrices}
            stores = [names & registers if names & tiles else set() for names in found]
            loaded = set().union(*loads.values())
            products = [bool(names & tiles and not names & loaded) for names in found]
            for i, names in loads.items():
                after = [j % len(found) for j in range(i + 1, i + 1 + len(found))]
                stored = next((j for j in after if stores[j] & names), None)
                if any(products) and stored is not None and names:
                    if not any(products[j] for j in after[: after.index(stored)]):
                        return loop.body[i].lineno
    return 0


def arrays_of(kernel, kind):
    """Names of a kernel's shared or local arrays."""
    return {
        node.targets[0].id
        for node in ast.walk(kernel)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and ast.unparse(node.value).startswith(f"cuda.{kind}.array")
    }


def named_in(statement):
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}


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
    case.expect(c, reference.product_nt(a, b), "c")
    fetched = counts.of(a, b)
    case.budget(
        "sectors of global memory per 8 numbers fetched",
        yours=8 * fetched.sectors / (a.size + b.size),
        ours=1,
        allowed=SECTORS,
        diagnosis="neighbours read far apart",
        sentence="threads that are neighbours read numbers that lie far apart, and of each sector "
        "of 32 bytes that moves, most is not used. x counts fastest: let it go along the row in "
        "what reads, here load_turned, and store in keep_turned what that has read. And fetch each "
        "number once.",
        line=counts.busiest_line("sectors", a, b),
    )
    shared = counts.shared()
    case.budget(
        "passes per request to shared memory",
        yours=shared.shared_passes / max(1, shared.shared_requests),
        ours=1,
        allowed=PASSES,
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
        case.expect(np.array(got), reference.gelu(x), "gelu", over=Curve(x))
    for size in (CUT, (70, 40, 67)):
        c, counts = multiply_bias_gelu(case, *size)
    touched = counts.of(c)
    case.budget(
        "times that each element of c is read or written",
        yours=(touched.reads + touched.writes) / c.array.size,
        ours=1,
        allowed=TOUCHES_OF_C,
        diagnosis="c read again",
        sentence="what is in c already is read again, or written twice. The sums are in registers: "
        "finish them there, after the last round and before `store`.",
        line=counts.busiest_line("reads", c) or counts.busiest_line("writes", c),
    )


@check("tensor_cores")
def test_tensor_cores(case):
    for size in OF_HALVES:
        multiply_halves(case, *size)
    m, k, n = 128, 32, 128
    counts = multiply_halves(case, m, k, n, measure=True)
    # Per warp and 16 inner indices: 64 rows and 32 columns, eight words of each.
    ours = 8 * (64 + 32) / (64 * 32 * 16)
    case.budget(
        "words of shared memory per 1,000 products",
        yours=1000 * counts.shared().shared_reads / (m * k * n),
        ours=1000 * ours,
        allowed=1000 * FRAGMENT_READS * ours,
        diagnosis="fragments read again",
        sentence="a fragment is read again for each product that it is part of. Those of all rows "
        "fit into registers: read them first, then those of one column after the other.",
        line=counts.busiest_line("shared_reads"),
    )


@check("float32")
def test_float32(case):
    multiply(case, "launch_product_registers", *SMALL)
    multiply(case, "launch_product_double_buffered", *SMALL)
    multiply_nt(case, *SMALL)
    multiply_tn(case, *SMALL)
    multiply_bias_gelu(case, *SMALL)


@check("large")
def test_large(case):
    m, k, n = case.size(large=(200, 150, 270), small=(66, 40, 70))
    multiply(case, "launch_product_double_buffered", m, k, n, "large")
    multiply_tn(case, m, k, n, "large")
    multiply_bias_gelu(case, m, k, n, "large")
    run(case, "launch_product_double_buffered", *matrices(case, *SMALL), None)


# ---------------------------------------------------------------- running


def matrices(case, m, k, n):
    return case.random((m, k), -1, 1), case.random((k, n), -1, 1), case.output((m, n))


def multiply(case, launch, m, k, n, engine=None):
    a, b, c = matrices(case, m, k, n)
    run(case, launch, a, b, c, engine)
    case.expect(c, reference.product(a, b), "c")


def run(case, launch, a, b, c, engine):
    """On the checked simulator also see whether there are tiles: else it is lesson 5 again."""
    if engine:
        case.run(launch, a, b, c, engine=engine)
        return
    require_tiles(case, case.measure(launch, a, b, c), a, b, c)


def require_tiles(case, counts, a, b, c):
    """Tiles in shared memory, or as few reads without; and threads that share the work."""
    case.require_many_threads(counts, c)
    if counts.shared().shared_reads > 0:
        return
    reads = counts.of(a, b).reads / (c.array.size * a.shape[1])
    case.keep_within(
        "reads of global memory per product of two numbers",
        yours=reads,
        ours=2 / 64,
        allowed=min(GLOBAL_READS, reads / 2),
        diagnosis="no tiles",
        sentence="nothing is read from shared memory: each thread reads all its numbers from "
        "global memory, again and again, and waits for each of them.",
        line=counts.busiest_line("reads", a),
    )


def multiply_nt(case, m, k, n, engine=None):
    a, b, c = case.random((m, k), -1, 1), case.random((n, k), -1, 1), case.output((m, n))
    run(case, "launch_product_nt", a, b, c, engine)
    case.expect(c, reference.product_nt(a, b), "c")


def multiply_tn(case, m, k, n, engine=None):
    a, b, c = case.random((k, m), -1, 1), case.random((k, n), -1, 1), case.output((m, n))
    run(case, "launch_product_tn", a, b, c, engine)
    case.expect(c, reference.product_tn(a, b), "c")


def multiply_bias_gelu(case, m, k, n, engine=None):
    """Returns (c, how often each array was touched; None for a large input)."""
    a, b, c = matrices(case, m, k, n)
    bias = case.random(n, -1, 1)
    arguments = "launch_product_bias_gelu", a, b, bias, c
    counts = case.run(*arguments, engine=engine) if engine else case.measure(*arguments)
    case.expect(c, reference.product_bias_gelu(a, b, bias), "c")
    if not engine:
        require_tiles(case, counts, a, b, c)
    return c, counts


def multiply_halves(case, m, k, n, measure=False):
    """Returns how often each array was touched, if that is measured."""
    a, b, c = case.random((m, k), -1, 1), case.random((n, k), -1, 1), case.output((m, n))
    words = reference.words_of_halves(a), reference.words_of_halves(b)
    counts = (case.measure if measure else case.run)("launch_product_halves", *words, c)
    case.expect(c, reference.product_nt(*map(reference.rounded_to_halves, (a, b))), "c")
    return counts
