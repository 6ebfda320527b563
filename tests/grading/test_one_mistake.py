"""What a run of several checks tells: each mistake once, and who waits for whom."""

import collections

import numpy as np
import pytest
from numba import cuda

from lessons.course.exercises import solution_text
from lessons.course.lesson import lessons
from lessons.grading.explain.clues import changed_input, clues_of, own_launch
from lessons.grading.explain.messages import (
    divides_an_index,
    hands_over_a_shape,
    lines_of_findings,
    told_error,
)
from lessons.grading.judge.result import Result
from lessons.grading.judge.waiting import endless_before, not_begun_either, told_once
from lessons.grading.walls.fingerprint import remarks_on
from lessons.grading.worker.outcome import Counts, Found, read_rows
from lessons.grading.worker.output import Output
from lessons.grading.worker.own_kernels import NoBlocks, NoKernel, OwnKernels, require_kernel
from lessons.lab.simulator.traffic import SUMS

LESSON = next(lesson for lesson in lessons() if lesson.name == "01_grayscale")
VALUES = "call\n3 of 5 elements of luminance are wrong (allowed: 1)\n  a[0]: 1\nflipped: it is."
LUMINANCE, EVERY_PIXEL, MANY_BLOCKS = (
    LESSON.check(name) for name in ("luminance", "every_pixel", "many_blocks")
)


def failed(check, message, diagnosis="wrong"):
    return Result(LESSON.name, check.name, 0, 1, "failed", message, diagnosis, "checked", "", 0.0)


def told(check, message, *before, diagnosis="wrong"):
    return told_once(check, LESSON, diagnosis, message, before, {})


def test_wrong_values_wait_for_the_function_that_another_check_looks_at():
    before = failed(LUMINANCE, VALUES)
    wrong = VALUES.replace("luminance", "gray")
    assert told(EVERY_PIXEL, wrong, before)[0] == "waits for luminance"
    race = "call\nline 3: race: two threads"
    assert told(EVERY_PIXEL, race, before, diagnosis="race") == ("race", race)
    outside = "call\nline 3: out-of-bounds: no such element"
    diagnosis, message = told(EVERY_PIXEL, outside, before, diagnosis="out-of-bounds")
    assert diagnosis == "waits for luminance"
    assert outside in message


def test_the_same_mistake_is_told_once():
    race = "call\nline 3: race: threads 1 and 2\n  3 | x"
    before = failed(EVERY_PIXEL, race, "race")
    again = "another call\nline 3: race: threads 7 and 8\n  3 | x"
    assert told(MANY_BLOCKS, again, before, diagnosis="race")[1] == "as in every_pixel, above: race"
    other = "call\nline 4: race: threads 1 and 2\n  4 | y"
    assert told(MANY_BLOCKS, other, before, diagnosis="race")[1] == other


def test_what_an_earlier_check_has_found_out_besides_is_the_same_mistake():
    first = VALUES.replace("luminance", "gray")
    more = first + "\ngray[0, 1] does not change when image[0, 1, 0] changes; it should."
    before = failed(EVERY_PIXEL, more, "flipped")
    assert told(MANY_BLOCKS, first, before, diagnosis="flipped")[1].startswith("as in every_pixel")


def test_values_in_no_known_pattern_wait_for_a_check_that_names_the_mistake():
    unknown = VALUES.replace("luminance", "gray").replace("flipped: it is.", "wrong: no pattern.")
    named = failed(EVERY_PIXEL, VALUES.replace("luminance", "gray"), "flipped")
    assert told(MANY_BLOCKS, unknown, named)[0] == "waits for every_pixel"
    assert told(MANY_BLOCKS, VALUES, named, diagnosis="flipped")[1].startswith("as in every_pixel")
    other = failed(EVERY_PIXEL, "call\nline 3: race: two threads", "race")
    assert told(MANY_BLOCKS, unknown, other) == ("wrong", unknown)


def test_numbers_that_are_none_wait_for_a_check_that_names_the_mistake():
    none = "call\nnot the largest: a probability is no number in some rows."
    named = failed(EVERY_PIXEL, VALUES.replace("luminance", "gray"), "flipped")
    assert told(MANY_BLOCKS, none, named, diagnosis="overflow")[0] == "waits for every_pixel"
    unknown = failed(EVERY_PIXEL, VALUES.replace("luminance", "gray"))
    assert told(MANY_BLOCKS, none, unknown, diagnosis="overflow") == ("overflow", none)


def test_what_has_not_ended_once_is_not_run_again():
    before = [failed(EVERY_PIXEL, "call\nnot finished", "endless or too slow")]
    assert "not begun" in endless_before(MANY_BLOCKS, LESSON, before)
    assert endless_before(LUMINANCE, LESSON, before) is None
    assert endless_before(MANY_BLOCKS, LESSON, [failed(EVERY_PIXEL, VALUES)]) is None


def test_findings_are_quoted_and_consequences_left_out():
    source = ["total = 0.0", "total = total + a[i]"]
    cause = Found("slow", 1, "`0.0` is a double (float64)", True)
    effect = Found("slow", 2, "`total` is a double (float64) since line 1, so", True)
    lines = lines_of_findings([cause, effect, cause], source)
    assert lines == ["line 1: slow: `0.0` is a double (float64)", "  1 | total = 0.0"]
    found = Found("unsupported", 1, "this simulator does not know `height / rows`", True)
    assert "//" in lines_of_findings([found], ["for y in range(row * height / rows):"])[-1]


def test_an_index_in_given_code_is_told_once_and_not_to_be_mended_there():
    said = "in blend (field_math.py): image[0, -5, 0] is outside its shape (9, 14, 3): index -5 of "
    said += "axis 1 is negative: it would count from the end; thread 0 of block 0. Keep it inside."
    given = Found("out-of-bounds", 121, said, False)
    lines = lines_of_findings([given, given._replace(line=122)], [])
    assert len(lines) == 1 and "Keep" not in lines[0] and "called with" in lines[0]
    assert lines[0].startswith("field_math.py, line 121: out-of-bounds: in blend: image[0, -5, 0]")
    (line,) = lines_of_findings([given._replace(own=True)], [])
    assert "Keep it inside" in line


@pytest.mark.parametrize("index, told", [(-108882, True), (-7778, True), (-5000, False)])
def test_an_index_made_of_what_nobody_wrote_is_known(index, told):
    said = f"image[0, {index}] is outside its shape (9, 14): index {index} of axis 1 is negative"
    lines = lines_of_findings([Found("out-of-bounds", 1, said, True)], ["x = image[y, x]"])
    assert ("before the kernel writes it" in lines[-1]) == told


def test_an_input_that_was_changed_is_told_by_its_name():
    lines = ["def launch_mask(gradients, activations, launch): pass"]
    gradients, activations = np.zeros((4, 2)), Output((4, 2), np.float32, None)
    told = changed_input(lines, "launch_mask", (gradients, activations), gradients)
    assert "gradients, the array of shape (4, 2)" in told
    assert told.endswith("Results go into activations")
    told = changed_input(lines, "launch_other", (gradients,), gradients)
    assert "argument 1, the array" in told


def test_a_division_counts_only_where_a_whole_number_is_needed():
    assert divides_an_index("x = cells[i / 2]")
    assert not divides_an_index("x = cells[i // 2] / 2")
    line = "x[int(i / 2)] = np.sort(x)[0]"
    other = Found("compile", 1, "`np.sort` is a NumPy call that Numba does not compile", True)
    assert "//" not in "".join(lines_of_findings([other], [line])).replace(line, "")
    name = Found("compile", 1, "the name `grid` is not defined; is it misspelt?", True)
    assert len(lines_of_findings([name], ["x = grid(a.shape)"])) == 2


def test_an_error_of_a_copy_says_what_to_try():
    _, lines = told_error("TypeError", "incompatible dtype: float32 vs. float64", 1, ["copy()"])
    assert "np.float32" in lines[-1]
    _, lines = told_error("TypeError", "something else", 1, ["copy()"])
    assert len(lines) == 2


def test_a_barrier_that_is_not_called_is_named_beside_its_race():
    source = ["tile[i] = x", "cuda.syncthreads  # waits", "y = tile[i + 1]"]
    race = Found("race", 3, "two threads", True)
    assert "is not called in line 2" in "\n".join(lines_of_findings([race], source))
    source[1] = "cuda.syncthreads()"
    assert "is not called" not in "\n".join(lines_of_findings([race], source))


GUARDED = """
def multiply(a, tile, total):
    if x < a.shape[0]:
        tile[y, x] = a[x]
    for i in range(16):
        total += tile[y, i]
"""


def test_a_store_that_a_guard_keeps_from_some_threads_is_named():
    found = Found("uninitialised", 6, "tile[0, 5] is read by thread 0", True)
    assert "line 4 stores into tile" in lines_of_findings([found], GUARDED.splitlines())[-1]
    assert "line 3" in lines_of_findings([found], GUARDED.splitlines())[-1]
    otherwise = GUARDED.replace("    for", "    else:\n        tile[y, x] = 0\n    for")
    before = GUARDED.replace("    if", "    tile[y, x] = 0\n    if")
    for source in (otherwise, before):
        found = Found("uninitialised", 6, "tile[0, 5] is read by thread 0", True)
        assert "stores into" not in "\n".join(lines_of_findings([found], source.splitlines()))


def test_a_whole_shape_in_the_place_of_a_number_is_named():
    assert hands_over_a_shape("x = bin_of(values[i], counts.shape)")
    assert hands_over_a_shape("x = i % counts.shape")
    assert not hands_over_a_shape("height, width = counts.shape")
    assert not hands_over_a_shape("x = bin_of(values[i], counts.shape[0])")


def clues(text, *ran, checked=False):
    return clues_of(text.splitlines(), LESSON, ran, ["other"], checked)


def test_clues_in_the_file():
    text = solution_text(LESSON)
    assert not own_launch(text, LESSON)
    assert not own_launch(text.replace("    launch(", "    # a comment\n    launch("), LESSON)
    assert own_launch(text.replace("blocks_for(width, TILE)", "width // TILE"), LESSON)
    text = "def total(a, i):\n    a[i] += 1\ndef count(a):\n    a += 1\n    more(a)\n"
    more = "def more(a):\n    a[0] += 1\n"
    assert clues(text, "total").racing_sum
    assert not clues(text, "total", checked=True).racing_sum  # a race is a finding there
    assert not clues(text, "count").racing_sum
    assert clues(text + more, "count").racing_sum


def test_a_kernel_asks_for_its_block_itself_or_in_a_helper():
    text = "def one(a):\n    a[place()] = 1\ndef place():\n    return cuda.grid(1)\n"
    assert clues(text, "one").counts_blocks
    within = "def one(a):\n    a[cuda.threadIdx.x] = 1\n" + text[30:]
    assert not clues(within, "one").counts_blocks


def test_a_copy_of_the_solution_gets_a_remark():
    lesson = next(lesson for lesson in lessons() if lesson.name == "05_tiles")
    text = solution_text(lesson)
    renamed = text.replace("total", "summe").replace("# Zeros", "# Nullen")
    assert remarks_on(renamed, lesson) == [
        "the code is that of our solution, but for names and comments"
    ]
    assert remarks_on(text.replace("a.shape[1]", "b.shape[0]"), lesson) == []


# ---------------------------------------------------------------- launches, and counts of them


def plain(a):
    a[0] = 1


@pytest.mark.parametrize("kernel", [plain, None])
def test_what_is_no_kernel_is_refused(kernel):
    with pytest.raises(NoKernel, match="no kernel"):
        require_kernel(kernel, "exercise.py")


def watch(array):
    """(what looks at launches, what the launch function is shown)."""
    own = OwnKernels([array], plain.__code__.co_filename, "launch_it")
    return own, own.shown[0]


def test_a_launch_function_starts_kernels_and_nothing_else():
    class Lookalike:
        targetoptions = {"device": False}  # noqa: RUF012
        py_func = plain

    kernel = cuda.jit(plain)
    array = np.arange(4, dtype=np.float32)
    own, shown = watch(array)
    assert np.isnan(shown).all()  # as on a GPU, the numbers are elsewhere
    for part, same in ((shown[1:], array[1:]), (shown[::-2], array[::-2])):
        *_, (given, number) = own.before_launch(kernel, (1, 1), 1, (part, 3))
        assert number == 3 and (given == same).all()
        given += 1
    assert array.tolist() == [0, 3, 3, 5] and np.isnan(shown).all()
    own.at_the_end()
    refused = [
        (Lookalike, 1, (shown,), r"not what @cuda\.jit makes"),
        (kernel, 1, (shown, shown[0] + 1), "on a GPU they are on the device"),
        (kernel, 1, (np.ones(2),), "an array of its own"),
        (kernel, 1, (array,), "an array of its own"),
        (kernel, 1, (shown, tuple(range(40))), "more than 32 numbers"),
    ]
    for kernel, blocks, arguments, why in refused:
        with pytest.raises(NoKernel, match=why):
            own.before_launch(kernel, blocks, 1, arguments)
    kernel = cuda.jit(plain)
    with pytest.raises(NoKernel, match="started no kernel"):
        watch(array)[0].at_the_end()
    with pytest.raises(NoBlocks, match="rounded up"):
        own.before_launch(kernel, (0, 2), 1, (shown,))
    shown[1] = 5
    with pytest.raises(NoKernel, match="itself has changed"):
        own.before_launch(kernel, 1, 1, (shown,))


def refuse(*_):
    raise AssertionError("was asked")


ASKED = dict.fromkeys(("__iter__", "__len__", "__getitem__", "__index__", "__float__"), refuse)


@pytest.mark.parametrize(
    "value", [3, 2.5, 1j, "name", (1, 2), [4, 5], np.float32(2), np.int64(3), ((1, (2.5,)), 7)]
)
def test_no_method_of_a_students_class_is_asked_in_a_launch(value):
    """Its numbers are taken as they are, and the array with them goes on as the check's own."""
    mine = type("Mine", (type(value),), ASKED)(value)
    own, shown = watch(np.zeros(3, np.float32))
    pair = type("Pair", (collections.namedtuple("Pair", "array, number"),), ASKED)(shown, mine)
    blocks, threads, given = own.before_launch(cuda.jit(plain), mine, (mine, 1), (mine, pair))
    assert blocks == value and threads == (value, 1) and given[0] == value
    assert given[1].array is not shown and given[1].number == value
    for found in (blocks, threads[0], given[0], given[1].number):
        assert type(found).__module__ in ("builtins", "numpy")
    assert not isinstance(given[1], type(pair))


def test_counts_by_array():
    first, second = np.zeros(3), np.zeros(3)
    zeros = dict.fromkeys(SUMS, 0)
    rows = read_rows(
        [
            [0, 7, {**zeros, "reads": 5}],
            [0, 8, {**zeros, "reads": 6, "writes": 1}],
            [1, 8, {**zeros, "reads": 2}],
            [-1, 9, {**zeros, "shared_reads": 4}],
        ]
    )
    counts = Counts([first, second], rows)
    assert (counts.of(first).reads, counts.of(first, second).reads) == (11, 13)
    assert counts.shared().shared_reads == 4
    assert counts.busiest_line("reads", first) == 8
    assert counts.busiest_line("atomics", first) == 0
    assert counts.busiest_line("shared_reads") == 9


def test_what_keeps_a_check_from_its_beginning_is_told_once():
    long = f"this lesson uses what you write elsewhere, and there is missing: {'functions, ' * 12}"
    before = failed(EVERY_PIXEL, long, "needs elsewhere")
    again = not_begun_either(LESSON, "needs elsewhere", long, [before])
    assert again == "as in every_pixel, above: needs elsewhere"
    assert not_begun_either(LESSON, "needs elsewhere", long, []) == long
    short = "not written yet: luminance"
    assert not_begun_either(LESSON, "not written", short, [failed(LUMINANCE, short)]) == short
