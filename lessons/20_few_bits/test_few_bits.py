"""Checks of lesson 20: few bits, against float64 and whole numbers.

Values lie at least a twentieth of a step from where rounding would decide, or exactly there.
"""

import numpy as np

from lessons.grading.judge.case import check
from lessons.reference import bits as reference

BITS = 4, 1, 7, 10
WORD_BYTES = 4
WEIGHTS = 14 * 32 + 32 * 32 + 32 * 3
# Bits, columns, rows, width, height, texels.
PICTURES = (4, 7, 5, 33, 19, 9), (5, 6, 9, 17, 40, 5), (10, 1, 1, 3, 2, 3)
COUNTED = 5, 11, 8, 40, 30, 40  # so that one layer whose weights each texel reads counts
ALL_OF_IT = 4, 61, 47, 240, 170

OUR_BYTES = 23  # four cells of 15 bits: about two in five lie in two words
ALLOWED_BYTES = 64  # of the grid, per texel
ALLOWED_FETCHES = 2  # of each weight from global memory, per block


@check("quantised")
def test_quantised(case):
    for bits in BITS:
        quantise(case, values_of(case, 300, bits), bits)


@check("followed")
def test_followed(case):
    for count in (300, 1, 256):
        follow(case, count)


@check("packed")
def test_packed(case):
    for bits in (4, 8, 1):
        pack(case, 300, bits)
    for bits in (3, 5, 7, 10):
        pack(case, 303, bits)
    pack(case, 3, 5)


@check("one_writer")
def test_one_writer(case):
    counts, words = pack(case, 999, 5)
    traffic = counts.of(words)
    case.budget(
        "times that each word is written",
        yours=max(traffic.writes, traffic.atomics) / words.array.size,
        ours=1,
        allowed=1,
        diagnosis="written again and again",
        sentence="a word is written once for each number in it. Give each word an owner: a thread "
        "that gathers its numbers in a variable, and stores that once.",
        line=counts.busiest_line("writes", words),
    )


@check("unpacked")
def test_unpacked(case):
    for bits in (4, 1, 5, 7, 8, 10):
        levels = levels_of(case, 90, bits)
        cells = case.rng.permutation(90).astype(np.int32)
        found = case.output((90, 3), np.int32)
        case.run("launch_read_cells", reference.packed(levels, bits), bits, cells, found)
        case.expect(found, levels.reshape(90, 3)[cells], "levels", tolerance=0)
    # The last of these cells ends where the last word ends: there is no next one.
    last, found = np.array([31], np.int32), case.output((1, 3), np.int32)
    case.run("launch_read_cells", reference.packed(levels_of(case, 32, 5), 5), 5, last, found)


@check("texels")
def test_texels(case):
    for sizes in PICTURES:
        decode(case, *sizes)


@check("few_bytes")
def test_few_bytes(case):
    counts, words, _, number = decode(case, *COUNTED)
    case.budget(
        "bytes of the grid that a texel reads",
        yours=counts.of(words).reads * WORD_BYTES / number,
        ours=OUR_BYTES,
        allowed=ALLOWED_BYTES,
        diagnosis="read again and again",
        sentence="a texel reads words of the grid more often than it has to. Read each of its four "
        "cells once, in one word or two, and take all three levels out of them.",
        line=counts.busiest_line("reads", words),
    )


@check("weights_once")
def test_weights_once(case):
    counts, _, weights, _ = decode(case, *COUNTED)
    case.budget(
        "reads of each weight from global memory, per block",
        yours=counts.of(weights).reads / WEIGHTS,
        ours=1,
        allowed=ALLOWED_FETCHES,
        diagnosis="fetched by every thread",
        sentence="every thread reads the weights from global memory by itself. The block needs "
        "them once: fetch them into shared memory together, wait, and multiply by those.",
        line=counts.busiest_line("reads", weights),
    )


@check("float32")
def test_float32(case):
    quantise(case, values_of(case, 40, 4), 4)
    follow(case, 40)
    pack(case, 41, 5)
    decode(case, 5, 6, 9, 17, 40, 6)


@check("picture")
def test_picture(case):
    bits, columns, rows, width, height = ALL_OF_IT
    values, count = values_of(case, columns * rows * 3, bits), width * height
    quantise(case, values, bits, engine="large")
    levels = reference.levels_of(values, bits)
    right = reference.packed(levels, bits)
    words = case.output(right.shape, np.uint32)
    case.run("launch_pack_cells", values, bits, words, engine="large")
    case.expect(words, right, "words", tolerance=0)
    texels = case.rng.permutation(count).astype(np.int32)[: case.size(large=count, small=600)]
    weights, colours = weights_of(case), case.output((len(texels), 3))
    case.run(
        "launch_decode_texels", right, bits, columns, rows, weights, width, height, texels,
        colours, engine="large",
    )  # fmt: skip
    grid = reference.values_of(levels, bits).reshape(rows, columns, 3)
    case.expect(colours, reference.decode(grid, weights, width, height, texels), "colours")


# ---------------------------------------------------------------- helpers


def levels_of(case, cells, bits):
    return case.rng.integers(0, 2**bits, 3 * cells)


def values_of(case, count, bits):
    """float32, at most 0.45 of a step from a level; some beyond -1 and 1, and both of these."""
    steps = 2**bits - 1
    levels = case.rng.integers(-2, steps + 3, count) + case.rng.uniform(-0.45, 0.45, count)
    values = np.float32(levels * 2 / steps - 1)
    values[:3] = 0, -1, 1  # with any number of bits, 0 is halfway between two levels
    return values


def weights_of(case):
    """Some of the size that training makes them."""
    return case.rng.normal(0, 0.3, WEIGHTS).astype(np.float32)


def quantise(case, values, bits, engine=None):
    levels = reference.levels_of(values, bits)
    right = reference.values_of(levels, bits)
    case.expect([case.call("level_of", x, bits) for x in values[:9]], levels[:9], "level_of")
    case.expect([case.call("level_value", n, bits) for n in levels[:9]], right[:9], "level_value")
    quantised = case.output(values.shape)
    case.run("launch_quantise", values, bits, quantised, engine=engine)
    case.expect(quantised, right, "quantised")


def follow(case, count):
    values = case.random((count,), -1.5, 1.5)
    values[:2] = (-1, 1)[:count]
    quantised = np.float32(np.clip(values, -1, 1) + case.random((count,), -0.05, 0.05))
    moved = np.float32(quantised + case.random((count,), -0.1, 0.1))
    followed = case.output(values.shape, initial=values)
    case.run("launch_follow", followed, quantised, moved)
    case.expect(followed, reference.followed(values, quantised, moved), "values")


def pack(case, count, bits):
    """(counts of a run whose words are right, words)."""
    values = values_of(case, count, bits)
    right = reference.packed(reference.levels_of(values, bits), bits)
    words = case.output(right.shape, np.uint32, initial=np.zeros(right.shape, np.uint32))
    counts = case.measure("launch_pack_cells", values, bits, words)
    case.expect(words, right, "words", tolerance=0)
    return counts, words


def decode(case, bits, columns, rows, width, height, number):
    """(counts of a run whose colours are right, words, weights, number of texels)."""
    levels = levels_of(case, columns * rows, bits)
    words, weights = reference.packed(levels, bits), weights_of(case)
    texels = case.rng.permutation(width * height).astype(np.int32)[:number]
    colours = case.output((number, 3))
    counts = case.measure(
        "launch_decode_texels", words, bits, columns, rows, weights, width, height, texels, colours
    )
    grid = reference.values_of(levels, bits).reshape(rows, columns, 3)
    case.expect(colours, reference.decode(grid, weights, width, height, texels), "colours")
    return counts, words, weights, number
