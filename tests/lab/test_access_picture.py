"""The picture of a kernel's memory accesses: each mark in its colour, at its place, and no more."""

import numpy as np
import pytest
from PIL import Image

from kernels.files.style import INK, PAPER, font
from lessons.lab.errors import InputError
from lessons.lab.simulator import picture
from lessons.lab.simulator.events import AccessEvent
from lessons.lab.simulator.picture import (
    ARRAY_LEFT,
    HEADER_HEIGHT,
    MARGIN,
    Instruction,
    draw_accesses,
    wrapped,
)
from lessons.lab.simulator.picture_array import BLOCK_COLOURS, CELL, GAP, UNTOUCHED, ArrayDrawing


def event(touches, shape, array="data", space="global", kind="write", phase=0, order=0, line=7):
    """touches: (block, thread, element) triples."""
    block, thread, element = np.array(list(touches), dtype=np.int64).reshape(-1, 3).T
    return AccessEvent(
        phase, order, line, f"{array}[i] = i", array, space, kind, shape, block, thread, element
    )


def pixels(folder, events, grid=2, block=4, title="A kernel"):
    path = folder / "accesses.png"
    draw_accesses(events, path, title, grid, block)
    with Image.open(path) as image:
        assert image.format == "PNG" and image.mode == "RGB"
        return np.asarray(image)


def body(sheet):
    """What is right of the source lines and below the legend."""
    return sheet[HEADER_HEIGHT:, ARRAY_LEFT:]


def cells(sheet):
    """{(y, x): colour} of all cells below the legend, measured in a corner that no label covers."""
    found = {}
    area = body(sheet)
    colours = [UNTOUCHED, *BLOCK_COLOURS]
    is_cell = np.any([(area == colour).all(axis=-1) for colour in colours], axis=0)
    for y, x in np.argwhere(is_cell):
        # The first row of a cell: nothing like it above or to the left.
        starts = not is_cell[y - 1, x] and not is_cell[y, x - 1]
        if starts and is_cell[y, x : x + CELL - GAP].all():
            found[int(y), int(x)] = tuple(int(channel) for channel in area[y, x])
    return found


def colours_in_order(sheet):
    """The cells' colours, row by row."""
    return [colour for _, colour in sorted(cells(sheet).items())]


def pixels_of(area, colour):
    return int((area == colour).all(axis=-1).sum())


def difference(one, other):
    return int((one != other).any(axis=-1).sum())


# ---------------------------------------------------------------- what is where


def test_a_touched_cell_has_the_colour_of_its_block_and_the_others_are_pale(tmp_path):
    sheet = pixels(tmp_path, [event([(0, 0, 1), (1, 0, 4), (1, 1, 5)], (7,))])
    blue, orange = BLOCK_COLOURS[:2]
    expected = [UNTOUCHED, blue, UNTOUCHED, UNTOUCHED, orange, orange, UNTOUCHED]
    assert colours_in_order(sheet) == expected
    lefts = sorted(x for _, x in cells(sheet))
    assert lefts == [i * CELL for i in range(7)]


def test_a_matrix_is_drawn_in_rows_and_columns(tmp_path):
    sheet = pixels(tmp_path, [event([(1, 3, 5)], (2, 3))])
    tops = sorted({y for y, _ in cells(sheet)})
    assert len(cells(sheet)) == 6 and tops[1] - tops[0] == CELL
    assert colours_in_order(sheet)[5] == BLOCK_COLOURS[1]
    assert colours_in_order(sheet)[:5] == [UNTOUCHED] * 5


def test_shared_memory_has_a_panel_for_each_block(tmp_path):
    sheet = pixels(tmp_path, [event([(0, 0, 0), (1, 0, 2)], (3,), space="shared")])
    blue, orange = BLOCK_COLOURS[:2]
    expected = [blue, UNTOUCHED, UNTOUCHED, UNTOUCHED, UNTOUCHED, orange]
    assert colours_in_order(sheet) == expected


def test_local_memory_has_a_row_for_each_thread(tmp_path):
    touches = [(0, thread, thread % 2) for thread in range(4)]
    sheet = pixels(tmp_path, [event(touches, (2,), space="local")], grid=1)
    blue = BLOCK_COLOURS[0]
    assert colours_in_order(sheet) == [blue, UNTOUCHED, UNTOUCHED, blue] * 2


def test_a_pile_of_matrices_has_a_panel_for_each_slice_that_is_touched(tmp_path):
    sheet = pixels(tmp_path, [event([(0, 0, 0), (0, 1, 5 * 6 + 3)], (9, 2, 3))])
    blue = BLOCK_COLOURS[0]
    top, bottom = colours_in_order(sheet)[:6], colours_in_order(sheet)[6:]
    assert top == [blue] + [UNTOUCHED] * 5
    assert bottom == [UNTOUCHED] * 3 + [blue] + [UNTOUCHED] * 2


def test_a_cell_that_several_blocks_touch_shows_all_their_colours(tmp_path):
    sheet = body(pixels(tmp_path, [event([(0, 0, 0), (1, 0, 0), (2, 0, 0)], (1,))], grid=3))
    assert all(pixels_of(sheet, colour) > 50 for colour in BLOCK_COLOURS[:3])


def test_the_label_is_the_thread_number(tmp_path):
    first, second, again = (
        pixels(tmp_path, [event([(0, thread, 0)], (1,))], block=64) for thread in (7, 45, 7)
    )
    assert difference(first, again) == 0
    assert 0 < difference(first, second) < CELL * CELL


def test_read_write_and_atomic_differ_without_colour(tmp_path):
    grey = {}
    for kind in ("read", "write", "atomic"):
        sheet = body(pixels(tmp_path, [event([(0, 0, 0)], (1,), kind=kind)]))
        grey[kind] = np.asarray(Image.fromarray(sheet).convert("L"), dtype=int)
    one_cell = (CELL - GAP) ** 2
    for one, other in (("read", "write"), ("write", "atomic"), ("atomic", "read")):
        clearly = np.abs(grey[one] - grey[other]) > 60
        assert clearly.sum() > one_cell / 10


def test_rows_stand_in_time_order_whatever_the_order_of_the_list(tmp_path):
    early = event([(0, 0, 0)], (1,), order=1)
    late = event([(1, 0, 0)], (1,), order=2)
    after_barrier = event([(2, 0, 0)], (1,), phase=1, order=0)
    sheet = pixels(tmp_path, [after_barrier, late, early], grid=3)
    assert colours_in_order(sheet) == list(BLOCK_COLOURS[:3])


def test_a_barrier_is_a_bar_across_the_sheet(tmp_path):
    def bars(*phases):
        events = [event([(0, 0, 0)], (1,), phase=phase) for phase in phases]
        left_edge = (pixels(tmp_path, events)[:, MARGIN] == INK).all(axis=-1)
        return int((np.diff(left_edge.astype(int)) == 1).sum())

    bars_of_one_phase = bars(0, 0)
    assert bars(0, 1) == bars_of_one_phase + 1
    assert bars(0, 1, 2) == bars_of_one_phase + 2
    # Nothing is touched between the barriers: one bar, which says "3 barriers".
    assert bars(0, 3) == bars_of_one_phase + 1


# ---------------------------------------------------------------- what is left out


def notes(events, blocks=2, threads=4):
    return [item.text for item in picture.plan(events, blocks, threads) if hasattr(item, "text")]


def test_of_a_loop_the_first_rounds_are_drawn_and_the_others_counted():
    rounds = [event([(0, 0, i)], (16,), order=i) for i in range(16)]
    after = event([(0, 0, 0)], (16,), order=99, line=9)
    items = picture.plan([*rounds, after], 1, 1)
    rows = [item for item in items if isinstance(item, Instruction)]
    assert len(rows) == picture.MOST_ROUNDS + 1
    assert notes([*rounds, after]) == ["... 12 more rows like these, of line 7"]


def test_a_large_array_is_cropped_to_what_is_touched_and_says_so(tmp_path):
    touches = [(0, 0, 700 * 128 + 5), (0, 1, 702 * 128 + 5)]
    events = [event(touches, (1000, 128))]
    drawing = ArrayDrawing(events, threads=4)
    assert drawing.notes == ["only rows 700 to 702 of 1,000", "only columns 5 to 5 of 128"]
    assert drawing.hidden(events[0]) == 0
    blue = BLOCK_COLOURS[0]
    assert colours_in_order(pixels(tmp_path, events)) == [blue, UNTOUCHED, blue]


@pytest.mark.parametrize("element", [-1, 5, 400])
def test_an_access_outside_the_array_is_counted_not_drawn(tmp_path, element):
    events = [event([(0, 0, element), (0, 1, 0)], (5,))]
    drawing = ArrayDrawing(events, threads=4)
    assert drawing.hidden(events[0]) == 1
    assert colours_in_order(pixels(tmp_path, events)) == [BLOCK_COLOURS[0]] + [UNTOUCHED] * 4
    missing = pixels(tmp_path, [event([(0, 0, element)], (5,))])
    assert colours_in_order(missing) == [UNTOUCHED] * 5


@pytest.mark.slow
def test_the_largest_picture_stays_within_its_bounds(tmp_path):
    touches = [(i // 256, i % 256, i * 3 % 4096) for i in range(8 * 256)]
    spaces = ("global", "shared", "local")
    events = [
        event(touches, (4, 16, 64), f"array_{i % 5}", spaces[i % 3], "read", i // 10, i, i % 9)
        for i in range(300)
    ]
    sheet = pixels(tmp_path, events, grid=8, block=256, title="A long title " * 50)
    height, width = sheet.shape[:2]
    assert width <= picture.MAX_WIDTH and height <= picture.MAX_HEIGHT
    # Nothing is cut off: the margins are empty.
    assert (sheet[:, -MARGIN // 2 :] == PAPER).all()
    assert (sheet[-MARGIN // 2 :] == PAPER).all()
    assert notes(events, 8, 256)[-1].startswith("The picture ends here:")


@pytest.mark.parametrize("rows", range(1, 17))
def test_rows_of_every_height_stay_within_the_bounds(rows):
    events = [event([(0, 0, 0)], (rows, 2), order=i, line=i) for i in range(80)]
    heights = [item.height for item in picture.plan(events, 1, 1)]
    assert HEADER_HEIGHT + sum(heights) + MARGIN <= picture.MAX_HEIGHT


def test_many_short_rows_end_with_the_number_of_those_left_out():
    events = [event([(0, 0, 0)], (1,), order=i, line=i) for i in range(100)]
    items = picture.plan(events, 1, 1)
    drawn = sum(isinstance(item, Instruction) for item in items)
    assert 20 < drawn < 60
    assert notes(events) == [f"The picture ends here: {100 - drawn} more rows left out."]


def test_the_picture_does_not_end_with_a_barrier():
    events = [event([(0, 0, 0)], (1,), phase=i) for i in range(100)]
    *kept, last = picture.plan(events, 1, 1)
    assert isinstance(kept[-1], Instruction)
    assert last.text.endswith("more barriers among them.")


@pytest.mark.parametrize("shape, element", [((), 0), ((0,), 0), ((1, 1, 1, 1), 0), ((3, 0), 0)])
@pytest.mark.parametrize("space", ["global", "shared", "local"])
def test_odd_shapes_can_be_drawn(tmp_path, shape, element, space):
    pixels(tmp_path, [event([(0, 0, element)], shape, space=space)])


# ---------------------------------------------------------------- the file


def test_no_events_give_a_picture_that_says_so(tmp_path):
    assert notes([]) == ["No array was touched: there is nothing to draw."]
    sheet = pixels(tmp_path, [], grid=(2, 2, 2), block=(8, 8))
    below_legend = sheet[HEADER_HEIGHT:]
    assert (below_legend != PAPER).any()
    assert sheet.shape[1] == picture.MIN_WIDTH


def test_legend_fits_for_every_launch(tmp_path):
    for grid, block in [(1, 1), (4, 64), ((40, 40, 40), (16, 8, 8)), (100_000, 1024)]:
        sheet = pixels(tmp_path, [], grid, block)
        assert (sheet[:, -MARGIN // 2 :] == PAPER).all()


def test_long_source_lines_stay_beside_the_array():
    wide = "accumulator_with_a_long_name" * 20
    typeface = font(16)
    lines = wrapped(f"x = {wide}", typeface, 300, most=4)
    assert len(lines) == 4 and lines[-1].endswith("...")
    assert all(typeface.getlength(line) <= 300 for line in lines)
    assert wrapped("a = b", typeface, 300) == ["a = b"]


def test_a_folder_that_cannot_be_written_is_one_clear_line(tmp_path):
    (tmp_path / "file").write_text("in the way")
    for folder in ("file", "missing"):
        with pytest.raises(InputError, match="cannot write") as caught:
            draw_accesses([], tmp_path / folder / "accesses.png", "A kernel", 1, 1)
        assert "\n" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_of_a_large_array_only_what_is_around_a_problem_is_drawn(tmp_path):
    every = [(0, thread, 300 * row + thread) for row in range(40) for thread in range(128)]
    wrong = event(every, (40, 300), order=500)._replace(problem="a race", marked=(128 * 30 + 90,))
    others = [event(every, (40, 300), order=number, line=9) for number in range(60)]
    events = [*others, wrong, *(wrong._replace(order=501 + number) for number in range(60))]
    sheet = pixels(tmp_path, events, block=128)
    assert sheet.shape[0] < 2500 and sheet.shape[1] <= 1100
    assert (body(sheet) == picture.WRONG).all(axis=-1).any()
    drawing = ArrayDrawing([wrong], 128, near=True)
    assert drawing.rows.holds(np.array(30)) and drawing.columns.holds(np.array(90))
