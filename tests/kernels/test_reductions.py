"""The kernels of lesson 11 against NumPy, on each engine there is.

Sizes are no multiples of a warp or a block; one element, and more blocks than the second stage has
threads, are among them.
"""

import numpy as np
import pytest

from kernels.launch import blocks_for
from kernels.reductions import columns, contrast, maximum, prefix_sum, sums
from lessons.lab import checked_run
from lessons.reference import reductions as reference
from tests.mutants import judge
from tests.mutants.generate import load, mutants_of_module


# Both engines take seconds; of each kernel, lesson 11's checks run the reference every time.
def engines(test):
    return pytest.mark.gpu(pytest.mark.slow(test))


SIZES = [1, 31, 33, 256, 300, 4097]
# More partial results than the one block of the second stage has threads.
MANY_BLOCKS = 300
SCHEDULES = ["reverse", 1, 2]


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def integers(size, high=9, seed=0):
    return np.random.default_rng(seed).integers(0, high, size).astype(np.int32)


def blocks_of(engine, count, many):
    """An array for the results of the blocks, of garbage."""
    blocks = MANY_BLOCKS if many else sums.blocks_for_values(count)
    return engine.array(np.full(blocks, 77))


def of_whole_numbers(engine, size):
    return engine.array(np.full(size, -7777), np.int32)


def add_up(engine, values, many=False):
    total, partials = engine.output((1,)), blocks_of(engine, values.size, many)
    sums.launch_sum(engine.array(values), partials, total.array, launch=engine.launch)
    return total.read()


@engines
@pytest.mark.parametrize("size", SIZES)
def test_sum(engine, size):
    values = normal(size)
    got = add_up(engine, values)
    # A tree of float32 numbers: the error grows with the sum of the magnitudes, times 2^-24.
    np.testing.assert_allclose(got, reference.total(values), atol=2e-6 * np.abs(values).sum())


@engines
def test_sum_of_more_blocks_than_threads_of_the_second_stage(engine):
    values = normal(900)
    np.testing.assert_allclose(add_up(engine, values, True), reference.total(values), atol=1e-3)


@engines
@pytest.mark.parametrize("lanes", [2, 4, 8, 16, 32])
def test_groups_of_lanes_have_sums_of_their_own(engine, lanes):
    values = integers(200).astype(np.float32)
    found = engine.output((200,))
    sums.launch_sum_groups(engine.array(values), lanes, found.array, launch=engine.launch)
    np.testing.assert_array_equal(found.read(), reference.group_sums(values, lanes))


# ---------------------------------------------------------------- the largest

SPECIAL = {
    "numbers": [],
    "ties": [(40, 9.0), (3000, 9.0), (41, 9.0)],
    "a tie of two blocks": [(300, 9.0), (256 * 2 + 3, 9.0)],
    "last": [(-1, 9.0)],
    "NaN": [(700, np.nan), (5, np.inf), (650, np.nan), (4000, np.nan)],
    # In two blocks, thread 0 has values 0, 512, ...
    "NaN of thread 0 and of a later one": [(512, np.nan), (5, np.nan)],
    "NaN of thread 0 and of another block": [(512, np.nan), (300, np.nan)],
    "NaN first": [(0, np.nan)],
}


def with_special_values(size, name):
    values = normal(size)
    for index, value in SPECIAL[name]:
        values[index] = value
    return values


def find_largest(engine, values, many=False):
    """(maximum, index) as the kernels find them."""
    on_device = engine.array(values)
    largest, partials = engine.output((1,)), blocks_of(engine, values.size, many)
    maximum.launch_max(on_device, partials, largest.array, launch=engine.launch)
    index = of_whole_numbers(engine, 1)
    candidates = of_whole_numbers(engine, partials.shape[0])
    maximum.launch_argmax(on_device, candidates, index, launch=engine.launch)
    return largest.read(), engine.to_host(index)


@engines
@pytest.mark.parametrize("name", SPECIAL)
def test_the_largest_and_its_index_are_numpys(engine, name):
    values = with_special_values(4500, name)
    largest, index = find_largest(engine, values)
    np.testing.assert_array_equal(largest, reference.largest(values))
    np.testing.assert_array_equal(index, reference.argmax(values))


@engines
@pytest.mark.parametrize("size", SIZES)
def test_the_largest_of_ragged_sizes(engine, size):
    values = normal(size, seed=size) - 10  # all below zero
    largest, index = find_largest(engine, values)
    np.testing.assert_array_equal(largest, values.max())
    np.testing.assert_array_equal(index, values.argmax())


@engines
@pytest.mark.parametrize("value", [-np.inf, np.inf, np.nan, 0.0])
def test_the_first_of_equal_values_is_taken(engine, value):
    values = np.full(900, value, np.float32)
    for many in (False, True):  # with many, blocks without any value
        largest, index = find_largest(engine, values, many)
        np.testing.assert_array_equal(largest, value)
        assert index[0] == 0


# ---------------------------------------------------------------- columns


@engines
@pytest.mark.parametrize("rows, width", [(1, 1), (33, 5), (300, 16), (520, 128)])
def test_column_sums_in_four_ways(engine, rows, width):
    matrix = normal(rows, width)
    expected, on_device = reference.column_sums(matrix), engine.array(matrix)
    room = 2e-6 * np.abs(matrix).sum(axis=0).max()
    for launch in (
        columns.launch_column_sums_by_threads,
        columns.launch_column_sums_by_warps,
        columns.launch_column_sums_by_blocks,
    ):
        found = engine.output((width,), np.full(width, 0.5))
        launch(on_device, found.array, launch=engine.launch)
        np.testing.assert_allclose(found.read(), expected + 0.5, atol=room)
    for blocks in (1, 3):
        partials, found = engine.array(np.full((blocks, width), 77)), engine.output((1, width))
        columns.launch_column_sums(on_device, partials, found.array, launch=engine.launch)
        np.testing.assert_allclose(found.read()[0], expected, atol=room)


def test_atomics_are_counted_per_thread_warp_and_block():
    matrix = normal(1024, 16)
    counted = []
    for kernel in (
        columns.column_sums_by_threads,
        columns.column_sums_by_warps,
        columns.column_sums_by_blocks,
    ):
        blocks = blocks_for(matrix.shape[0], 256)
        report = checked_run(kernel, blocks, 256, matrix, np.zeros(16, np.float32), ask_numba=False)
        counted.append(sum(traffic.atomics for traffic in report.counted.values()))
    # 262,144 rows are 256 times as many: 4,194,304, 131,072 and 16,384.
    assert [256 * count for count in counted] == [4_194_304, 131_072, 16_384]


# ---------------------------------------------------------------- running sums


@engines
@pytest.mark.parametrize("size", [*SIZES, 9000])
def test_prefix_sum(engine, size):
    counts = integers(size)
    part_sums = of_whole_numbers(engine, prefix_sum.parts_for(size))
    running = of_whole_numbers(engine, size)
    prefix_sum.launch_prefix_sum(
        engine.array(counts, np.int32), part_sums, running, launch=engine.launch
    )
    np.testing.assert_array_equal(engine.to_host(running), reference.running_sums(counts))


@engines
def test_prefix_sum_of_more_parts_than_a_block_has_threads(engine):
    if type(engine).__name__ == "Checked":
        pytest.skip("a million threads are for a compiled engine")
    counts = integers(257 * prefix_sum.PART)
    part_sums = of_whole_numbers(engine, prefix_sum.parts_for(counts.size))
    running = of_whole_numbers(engine, counts.size)
    prefix_sum.launch_prefix_sum(
        engine.array(counts, np.int32), part_sums, running, launch=engine.launch
    )
    np.testing.assert_array_equal(engine.to_host(running), reference.running_sums(counts))


# ---------------------------------------------------------------- contrast


@engines
@pytest.mark.parametrize("bins", [1, 10, 256, 300])
def test_levels_are_the_first_bins_with_enough_pixels(engine, bins):
    counts = integers(bins, 5) * (np.arange(bins) % 3 == 0)
    counts[0] += 1
    running = reference.running_sums(counts).astype(np.int32)
    per_mille = np.array([0, 5, 500, 995, 1000], np.int32)
    levels = of_whole_numbers(engine, per_mille.size)
    contrast.launch_find_levels(
        engine.array(running, np.int32), engine.array(per_mille, np.int32), levels,
        launch=engine.launch,
    )  # fmt: skip
    expected = [reference.level(running, share) for share in per_mille]
    np.testing.assert_array_equal(engine.to_host(levels), expected)
    pixels = np.repeat(np.arange(bins), counts)
    np.testing.assert_array_equal(
        expected[1:], np.percentile(pixels, per_mille[1:] / 10, method="inverted_cdf")
    )


@engines
def test_levels_of_very_many_pixels_do_not_overflow(engine):
    running = np.array([3, 2_000_000_000, 2_147_483_647], np.int32)
    levels = of_whole_numbers(engine, 2)
    contrast.launch_find_levels(
        engine.array(running, np.int32), engine.array([5, 995], np.int32), levels,
        launch=engine.launch,
    )  # fmt: skip
    np.testing.assert_array_equal(engine.to_host(levels), [1, 2])


@engines
def test_stretch(engine):
    colours = normal(300) * 0.3 + 0.5
    stretched = engine.output((300,))
    contrast.launch_stretch(
        engine.array(colours), engine.array([64, 191], np.int32), 256, stretched.array,
        launch=engine.launch,
    )  # fmt: skip
    np.testing.assert_allclose(stretched.read(), reference.stretch(colours, 0.25, 0.75), atol=1e-6)


# ---------------------------------------------------------------- schedules

STAGES = {
    "sum": lambda launch: sums.launch_sum(
        normal(700), np.zeros(3, np.float32), np.zeros(1, np.float32), launch=launch
    ),
    "max": lambda launch: maximum.launch_max(
        normal(700), np.zeros(3, np.float32), np.zeros(1, np.float32), launch=launch
    ),
    "argmax": lambda launch: maximum.launch_argmax(
        normal(700), np.zeros(3, np.int32), np.zeros(1, np.int32), launch=launch
    ),
    "column sums": lambda launch: columns.launch_column_sums(
        normal(700, 5), np.zeros((3, 5), np.float32), np.zeros((1, 5), np.float32), launch=launch
    ),
    "prefix sum": lambda launch: prefix_sum.launch_prefix_sum(
        integers(4500), np.zeros(2, np.int32), np.zeros(4500, np.int32), launch=launch
    ),
    "levels": lambda launch: contrast.launch_find_levels(
        np.arange(300, dtype=np.int32), integers(2), np.zeros(2, np.int32), launch=launch
    ),
}


def findings_in_any_order(stage):
    found = []

    def launch(kernel, blocks, threads, *arguments):
        report = checked_run(
            kernel, blocks, threads, *arguments, schedule=SCHEDULES, same_bits=True,
            ask_numba=False,
        )  # fmt: skip
        found.extend(finding.kind for finding in report.problems)

    stage(launch)
    return found


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name != "argmax")) for name in STAGES]
)
def test_every_schedule_gives_the_same_bits(name):
    assert findings_in_any_order(STAGES[name]) == []


@pytest.mark.slow
def test_atomic_sums_have_other_bits_in_another_order():
    by_blocks = columns.launch_column_sums_by_blocks
    found = findings_in_any_order(
        lambda launch: by_blocks(normal(1000, 5), np.zeros(5, np.float32), launch=launch)
    )
    assert found == ["order"]


# ---------------------------------------------------------------- mutants


def run_sums(module, launch):
    for size, blocks in ((300, 1), (4500, 2)):
        values, total = integers(size).astype(np.float32), np.zeros(1, np.float32)
        partials = np.full(blocks, 7e5, np.float32)
        module.launch_sum(values, partials, total, launch=launch)
        np.testing.assert_array_equal(total, values.sum())
    sums_of_eight = np.zeros(300, np.float32)
    values = integers(300).astype(np.float32)
    module.launch_sum_groups(values, 8, sums_of_eight, launch=launch)
    np.testing.assert_array_equal(sums_of_eight, reference.group_sums(values, 8))


def run_maximum(module, launch):
    for values in (
        normal(300) - 9,
        with_special_values(4500, "a tie of two blocks") - 9,
        with_special_values(4500, "NaN of thread 0 and of a later one"),
        with_special_values(4500, "NaN of thread 0 and of another block"),
    ):
        blocks = sums.blocks_for_values(values.size)
        largest, partials = np.zeros(1, np.float32), np.zeros(blocks, np.float32)
        module.launch_max(values, partials, largest, launch=launch)
        np.testing.assert_array_equal(largest, values.max())
        index, candidates = np.zeros(1, np.int32), np.zeros(blocks, np.int32)
        module.launch_argmax(values, candidates, index, launch=launch)
        np.testing.assert_array_equal(index, values.argmax())


def run_columns(module, launch):
    matrix = integers((300, 70)).astype(np.float32)
    expected = reference.column_sums(matrix)
    for launch_sums in (
        module.launch_column_sums_by_threads,
        module.launch_column_sums_by_warps,
        module.launch_column_sums_by_blocks,
    ):
        found = np.ones(70, np.float32)
        launch_sums(matrix, found, launch=launch)
        np.testing.assert_array_equal(found, expected + 1)
    found = np.zeros((1, 70), np.float32)
    module.launch_column_sums(matrix, np.zeros((2, 70), np.float32), found, launch=launch)
    np.testing.assert_array_equal(found[0], expected)


def run_prefix_sum(module, launch):
    counts = integers(4500)
    running, part_sums = np.zeros(4500, np.int32), np.full(2, 7777, np.int32)
    module.launch_prefix_sum(counts, part_sums, running, launch=launch)
    np.testing.assert_array_equal(running, reference.running_sums(counts))


def run_contrast(module, launch):
    running = reference.running_sums(integers(300)).astype(np.int32)
    shares, levels = np.array([0, 500, 1000], np.int32), np.zeros(3, np.int32)
    module.launch_find_levels(running, shares, levels, launch=launch)
    np.testing.assert_array_equal(levels, [reference.level(running, share) for share in shares])
    colours, found = normal(300), np.zeros(300, np.float32)
    module.launch_stretch(colours, np.array([64, 191], np.int32), 256, found, launch=launch)
    np.testing.assert_allclose(found, reference.stretch(colours, 0.25, 0.75), atol=1e-6)


RUNS = {
    sums: run_sums,
    maximum: run_maximum,
    columns: run_columns,
    prefix_sum: run_prefix_sum,
    contrast: run_contrast,
}
# Where all threads that could store have the same value, it does not matter how many of them do.
STORES_OF_ONE = "if lane == 0", "if cuda.threadIdx.x == 0", "if thread % WARP == 0"
ADDS = "column_sums_by_warps", "column_sums_by_blocks"


def is_equivalent(mutant):
    return mutant.old in STORES_OF_ONE and mutant.new == "if True" and mutant.kernel not in ADDS


KERNELS = [
    pytest.param(module, name, id=name)
    for module in RUNS
    for name, value in vars(module).items()
    if hasattr(value, "py_func") and value.py_func.__module__ == module.__name__
]


@pytest.mark.thorough
@pytest.mark.parametrize("module, name", KERNELS)
def test_every_mutant_is_noticed(module, name):
    RUNS[module](module, judge.launch_checked)
    found = [mutant for mutant in mutants_of_module(module, name) if not is_equivalent(mutant)]
    assert found or name == "sum_groups"
    for number, mutant in enumerate(found):
        changed = load(mutant.text, module.__name__, f"<mutant {number} of {name}>")
        with pytest.raises((judge.Noticed, AssertionError)):
            RUNS[module](changed, judge.launch_checked)
            print("missed:", mutant)


def test_more_columns_than_a_block_has_room_for_are_refused():
    gradient, sums = np.zeros((4, 129), np.float32), np.zeros((1, 129), np.float32)
    with pytest.raises(ValueError, match="129 columns"):
        columns.launch_column_sums(gradient, np.zeros((2, 129), np.float32), sums, launch=None)
