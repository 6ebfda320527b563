"""Checks of lesson 19: layer norm and attention, against float64.

Most inputs leave threads without a row, a column or a key.
"""

import numpy as np

from lessons.grading.judge.case import check
from lessons.reference import attention as reference

# Rows and columns: less than a warp, a warp, more; blocks of eight warps that are not full.
ROWS = (9, 40), (1, 1), (8, 32), (3, 7), (2, 100)
FOR_GAINS = (40, 7, 1), (3, 70, 2), (300, 33, 3), (1, 1, 4)  # rows, columns, blocks that share rows
FAR = 10_000.0
# Batch, heads, places, channels. Blocks have 64 queries, and tiles 32 keys.
FOR_NAIVE = (1, 2, 9, 5), (2, 1, 1, 1), (1, 1, 40, 6), (1, 1, 130, 2)
FOR_FLASH = (1, 1, 36, 6), (1, 2, 3, 64), (2, 1, 1, 1), (1, 1, 70, 5)
FOR_BACKWARD = (1, 1, 36, 6), (1, 2, 3, 64), (2, 1, 1, 1), (1, 1, 70, 3)
COUNTED = 1, 1, 128, 8
QUERIES, OWN = 64, 32  # rows of a block, forward and backward
MORE = 1.15  # allowed times ours
LARGEST = 40  # of whole numbers whose scores reach 10,000
CLOSE_ENOUGH = 1e-4  # of scores of 10,000, whose logarithms are rounded to 0.001


@check("layer_norm")
def test_layer_norm(case):
    # So little spread that EPSILON counts.
    normalize(case, case.random((5, 40), -0.01, 0.01))
    for rows, width in ROWS:
        normalize(case, case.random((rows, width), -1, 1))
    # A row of equal numbers has no deviation.
    normalize(case, np.full((2, 33), 0.5, np.float32))
    some, none = (2, 1, 2), (0, 0, 0)  # groups: how many numbers, their mean, their squares
    merged = (some, (3, 6, 8), (5, 4, 40)), (none, some, some), (some, none, some), (none,) * 3
    for own, other, both in merged:
        case.expect(case.call("merge", *np.float32(own + other)), both, "merge")


@check("far_from_zero")
def test_far_from_zero(case):
    for rows, width in ((9, 40), (3, 100)):
        x = case.random((rows, width), -1, 1) + np.float32(FAR)
        normalize(case, x, scales=case.check.tolerance * 2)


@check("layer_norm_backward")
def test_layer_norm_backward(case):
    for rows, width in ROWS:
        normalize_backward(case, *norm_inputs(case, rows, width))


@check("gain_gradients")
def test_gain_gradients(case):
    for rows, width, blocks in FOR_GAINS:
        add_gains(case, rows, width, blocks)


@check("naive")
def test_naive(case):
    for sizes in FOR_NAIVE:
        attend_naively(case, *vectors(case, sizes))
    attend_naively(case, *large_vectors(case, (1, 1, 20, 16)), tolerance=CLOSE_ENOUGH)


@check("flash")
def test_flash(case):
    for sizes in FOR_FLASH:
        attend(case, *vectors(case, sizes))
    attend(case, *large_vectors(case, (1, 1, 36, 16)), tolerance=CLOSE_ENOUGH)


@check("backward_queries")
def test_backward_queries(case):
    for sizes in FOR_BACKWARD:
        queries_back(case, *gradient_inputs(case, sizes))


@check("backward_keys")
def test_backward_keys(case):
    for sizes in FOR_BACKWARD:
        keys_back(case, *gradient_inputs(case, sizes))


@check("skipped")
def test_skipped(case):
    q, k, v = vectors(case, COUNTED)
    blocks, rows = COUNTED[2] // QUERIES, COUNTED[2] // OWN
    before, behind = "queries before its first key", "keys behind its last query"
    expect_little_traffic(case, attend(case, q, k, v), {"k": k, "v": v}, (blocks + 1) / 2, behind)
    (q, k, v, grad_out), *_ = inputs = gradient_inputs(case, COUNTED)
    ours, seen = (rows + 1) / 2, {"k": k, "v": v}
    expect_little_traffic(case, queries_back(case, *inputs), seen, ours, behind)
    seen = {"q": q, "grad_out": grad_out}
    expect_little_traffic(case, keys_back(case, *inputs), seen, ours, before)


@check("float32")
def test_float32(case):
    normalize(case, case.random((3, 40), -1, 1))
    normalize_backward(case, *norm_inputs(case, 3, 40))
    add_gains(case, 3, 40, 2)
    attend_naively(case, *vectors(case, (1, 1, 9, 5)))
    attend(case, *vectors(case, (1, 1, 9, 5)))
    inputs = gradient_inputs(case, (1, 1, 9, 5))
    queries_back(case, *inputs)
    keys_back(case, *inputs)


# ---------------------------------------------------------------- layer norm


def normalize(case, x, scales=None):
    gain = case.random(x.shape[1], 0.5, 1.5)
    rows = x.shape[:1]
    out, means, own_scales = case.output(x.shape), case.output(rows), case.output(rows)
    case.run("launch_layer_norm", x, gain, out, means, own_scales)
    mean, scale = reference.statistics(x)
    case.expect(means, mean, "means", tolerance=1e-6 * max(1, abs(mean).max()))
    case.expect(own_scales, scale, "scales", tolerance=scales)
    case.expect(out, reference.layer_norm(x, gain), "out")


def norm_inputs(case, rows, width):
    """x, gain, means, scales and grad_out; float32."""
    x = case.random((rows, width), -1, 1)
    means, scales = reference.statistics(x)
    gain, grad_out = case.random(width, 0.5, 1.5), case.random((rows, width), -1, 1)
    return x, gain, np.float32(means), np.float32(scales), grad_out


def normalize_backward(case, x, gain, means, scales, grad_out):
    grad_x = case.output(x.shape)
    case.run("launch_layer_norm_backward", x, gain, means, scales, grad_out, grad_x)
    right, _ = reference.layer_norm_gradients(x, gain, grad_out)
    # With one column the scale is 316, and what it is multiplied with should be 0.
    room = case.check.tolerance * max(1, scales.max())
    case.expect(grad_x, right, "grad_x", tolerance=room)


def add_gains(case, rows, width, blocks):
    x, _, means, scales, grad_out = norm_inputs(case, rows, width)
    partials = case.output((blocks, width))
    case.run("launch_gain_gradients", x, means, scales, grad_out, partials)
    _, right = reference.layer_norm_gradients(x, np.ones(width), grad_out)
    # Which rows a block takes is left open; what all blocks have found is not.
    room = case.check.tolerance * max(1, rows / 30)
    case.expect(partials.array.sum(axis=0), right, "the sum of the partials", tolerance=room)


# ---------------------------------------------------------------- attention


def vectors(case, sizes):
    """q, k and v: weights are clearly unequal, and so are places and channels."""
    return case.random(sizes, -2, 2), case.random(sizes, -2, 2), case.random(sizes, -1, 1)


def large_vectors(case, sizes):
    """Whole numbers, so that scores of up to 10,000 are exact in float32, too.

    The first query sees one key, and its score is far below zero.
    """
    q, k = (case.rng.integers(-LARGEST, LARGEST + 1, sizes).astype(np.float32) for _ in range(2))
    k[:, :, 0] = -q[:, :, 0]
    return q, k, case.random(sizes, -1, 1)


def attend_naively(case, q, k, v, tolerance=None):
    out, weights = case.output(q.shape), case.output((*q.shape[:3], q.shape[2]))
    case.run("launch_attention_naive", q, k, v, weights, out)
    right, right_weights, _ = reference.attention(q, k, v)
    case.expect(weights, right_weights, "weights", tolerance=tolerance)
    case.expect(out, right, "out", tolerance=tolerance)


def attend(case, q, k, v, tolerance=None):
    """(counts of a run, out)."""
    out, log_sums = case.output(q.shape), case.output(q.shape[:3])
    counts = case.measure("launch_flash_attention", q, k, v, out, log_sums)
    right, _, logarithms = reference.attention(q, k, v)
    case.expect(out, right, "out", tolerance=tolerance)
    case.expect(log_sums, logarithms, "log_sums")
    return counts, out


def gradient_inputs(case, sizes):
    """(q, k, v and grad_out), (log_sums and products), and the right three gradients."""
    q, k, v = vectors(case, sizes)
    grad_out = case.random(sizes, -1, 1)
    out, _, log_sums = reference.attention(q, k, v)
    products = (grad_out * out).sum(axis=3)
    right = reference.attention_gradients(q, k, v, grad_out)
    return (q, k, v, grad_out), (np.float32(log_sums), np.float32(products)), right


def queries_back(case, given, kept, right):
    """(counts of a run, grad_q)."""
    grad_q = case.output(given[0].shape)
    counts = case.measure("launch_flash_backward_queries", *given, *kept, grad_q)
    case.expect(grad_q, right[0], "grad_q")
    return counts, grad_q


def keys_back(case, given, kept, right):
    """(counts of a run, grad_k)."""
    grad_k, grad_v = case.output(given[0].shape), case.output(given[0].shape)
    counts = case.measure("launch_flash_backward_keys", *given, *kept, grad_k, grad_v)
    case.expect(grad_v, right[2], "grad_v")
    case.expect(grad_k, right[1], "grad_k")
    return counts, grad_k


def expect_little_traffic(case, found, arrays, ours, needless):
    """found: (counts, result) of a run. arrays: name -> what it should read so often as ours."""
    counts, result = found
    for name, array in arrays.items():
        case.budget(
            f"reads of each number of {name} from global memory",
            yours=counts.of(array).reads / array.size,
            ours=ours,
            allowed=MORE * ours,
            diagnosis="tiles that nobody sees",
            sentence=f"a block fetches {needless}, whose weights are all 0, or fetches the same "
            "numbers more than once. Let the loop over tiles leave them out, and keep a tile in "
            "shared memory while the whole block needs it.",
            line=counts.busiest_line("reads", array),
        )
    case.budget(
        "writes of each number of the result, and reads of it",
        yours=(counts.of(result).writes + counts.of(result).reads) / result.array.size,
        ours=1,
        allowed=1.1,
        diagnosis="written again and again",
        sentence="the result is written in every round. Keep the sums in registers, and write them "
        "once, at the end.",
        line=counts.busiest_line("writes", result),
    )
