"""The pictures of a run: what they show, for every shape of image and every kind of curve."""

import errno

import numpy as np
import pytest
from PIL import Image

from kernels.files import atomic as files
from kernels.files import pictures, plot, style
from kernels.files.psnr import psnr_label
from kernels.plumbing.errors import InputError

SHAPES = [(1, 1), (2, 3), (1, 500), (500, 1), (550, 800)]
RED, GREEN, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)


def plain(colour, shape=(55, 80)):
    return np.broadcast_to(np.array(colour, dtype=np.float32) / 255, (*shape, 3))


def count(image, colour, tolerance=0):
    difference = np.abs(np.asarray(image, dtype=np.int64) - colour)
    return int((difference.max(axis=-1) <= tolerance).sum())


def spots(image, colour):
    """(top, bottom, left, right) of the pixels of one colour."""
    rows, columns = np.nonzero((np.asarray(image) == colour).all(axis=-1))
    return rows.min(), rows.max(), columns.min(), columns.max()


# ---------------------------------------------------------------- feature grids


def test_normalise_stretches_all_channels_together():
    grid = np.array([[[-3.0, 1.0, 5.0], [0.0, 0.0, 1.0]]], dtype=np.float32)
    expected = [[[0, 0.5, 1], [0.375, 0.375, 0.5]]]
    normal = pictures.normalise_grid(grid)
    assert normal.dtype == np.float32
    np.testing.assert_allclose(normal, expected, atol=1e-7)


@pytest.mark.parametrize("value", [0.0, -7.5, 1e30])
def test_a_constant_grid_is_mid_gray(value):
    assert (pictures.normalise_grid(np.full((4, 5, 3), value)) == 0.5).all()


def test_normalise_survives_the_widest_range_and_what_is_not_finite():
    largest = np.finfo(np.float32).max
    grid = np.array([[[-largest, 0, largest]]], dtype=np.float32)
    assert pictures.normalise_grid(grid).tolist() == [[[0, 0.5, 1]]]
    broken = np.array([[[0, np.nan, 4], [1, np.inf, -np.inf]]])
    assert pictures.normalise_grid(broken).tolist() == [[[0, 0.5, 1], [0.25, 0.5, 0.5]]]
    assert (pictures.normalise_grid(np.full((2, 2, 3), np.nan)) == 0.5).all()


def test_a_few_huge_values_do_not_turn_the_others_gray():
    usual = np.linspace(-1, 1, 100 * 100 * 3).reshape(100, 100, 3)
    with_outliers = usual.copy()
    with_outliers[40:42, 40:45] = 50
    with_outliers[60:62, 40:45] = -80
    normal, without = map(pictures.normalise_grid, (with_outliers, usual))
    assert np.abs(normal - without)[:40].max() < 0.02
    assert (normal[40:42, 40:45] == 1).all() and (normal[60:62, 40:45] == 0).all()


def test_what_differs_in_a_nearly_constant_grid_is_no_outlier():
    grid = np.zeros((20, 20, 3))
    grid[3, 4] = 2
    normal = pictures.normalise_grid(grid)
    assert (normal[3, 4] == 1).all() and normal.sum() == 3


def test_normalise_leaves_a_normalised_grid_alone():
    grid = pictures.normalise_grid(np.random.default_rng(0).normal(size=(7, 9, 3)))
    np.testing.assert_allclose(pictures.normalise_grid(grid), grid, atol=1e-7)


# ---------------------------------------------------------------- contact sheet


def test_snapshots_stand_above_their_grids_in_step_order():
    grid = np.zeros((137, 200, 3))
    grid[:, :100] = (0, 1, 1)  # left half cyan, right half black
    grid = 0.4 + 0.2 * grid
    sheet = pictures.contact_sheet(
        [1, 10, 40_000], [plain(RED), plain(GREEN), plain(BLUE)], [grid] * 3, [10, 20, 30]
    )
    assert sheet.dtype == np.uint8 and sheet.shape[2] == 3
    boxes = [spots(sheet, colour) for colour in (RED, GREEN, BLUE)]
    assert boxes[0][3] < boxes[1][2] and boxes[1][3] < boxes[2][2]
    for top, bottom, left, right in boxes:
        assert (bottom - top + 1, right - left + 1) == (220, 320)
        below = sheet[bottom + pictures.GAP + 1 :, left : right + 1]
        assert count(below, (0, 255, 255), 8) == pytest.approx(160 * 220, rel=0.05)
        assert count(below, (0, 0, 0), 8) == pytest.approx(160 * 220, rel=0.05)
    assert (sheet[: pictures.MARGIN - 4] == style.PAPER).all()
    assert (sheet[:, -30:] == style.PAPER).all()


def header_ink(steps, psnr):
    sheet = pictures.contact_sheet(steps, [plain(BLUE)], [np.zeros((2, 2, 3))], psnr)
    top = spots(sheet, BLUE)[0]
    return sheet[:top], top


def test_headers_name_the_step_and_the_psnr():
    with_psnr, tall = header_ink([1], [20.0])
    _, low = header_ink([1], None)
    assert tall > low
    other, _ = header_ink([1], [21.0])
    assert not np.array_equal(with_psnr, other)
    other, _ = header_ink([2], [20.0])
    assert not np.array_equal(with_psnr, other)
    assert pictures.step_label(40_000) == "step 40,000"
    assert psnr_label(28.907) == "28.91 dB"
    assert psnr_label(-0.5) == "-0.50 dB"
    assert psnr_label(np.inf) == "exact"
    assert psnr_label(np.nan) == psnr_label(-np.inf) == "diverged"


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("grid_shape", [(1, 1), (137, 200), (300, 2)])
def test_contact_sheet_of_any_shape_keeps_labels_apart(shape, grid_shape):
    image = plain(RED, shape)
    grids = [np.random.default_rng(0).normal(size=(*grid_shape, 3))] * 3
    sheet = pictures.contact_sheet([1, 10_000, 40_000], [image] * 3, grids, [1.0, np.inf, 100.0])
    assert max(sheet.shape) < 1500
    top, bottom, *_ = spots(sheet, RED)
    assert bottom - top + 1 >= pictures.THINNEST
    assert count(sheet, RED) >= 3 * pictures.THINNEST * pictures.THUMBNAIL
    # Between two columns there is a strip of nothing, top to bottom.
    blank = (sheet == style.PAPER).all(axis=(0, 2))
    inner = blank[np.flatnonzero(~blank)[0] : np.flatnonzero(~blank)[-1]].astype(int)
    longest = sorted(map(len, "".join(map(str, inner)).split("0")), reverse=True)
    assert longest[1] >= pictures.GAP - 2


@pytest.mark.parametrize("count", [11, pictures.MOST_ON_A_SHEET])
@pytest.mark.slow
@pytest.mark.parametrize("shape", [(320, 320), (1, 500), (500, 1)])
def test_a_sheet_of_many_snapshots_goes_on_below(count, shape):
    steps = range(10_000_000, 10_000_000 + count)
    image, grid = plain(RED, shape), np.zeros((2, 2, 3))
    sheet = pictures.contact_sheet(
        steps, [image] * count, [grid] * count, [-100.0] * count, "90 of 1,000 snapshots"
    )
    assert max(sheet.shape) <= pictures.MAX_SHEET_SIDE
    assert (sheet[:, -30:] == style.PAPER).all() and (sheet[-12:] == style.PAPER).all()
    small = pictures.fit(image, pictures.THUMBNAIL)
    assert sheet_area(sheet, RED) == count * small.width * small.height


def sheet_area(sheet, colour):
    return int((sheet == np.array(colour, np.uint8)).all(axis=-1).sum())


def test_more_snapshots_than_a_sheet_has_room_for_are_chosen_evenly():
    assert pictures.evenly_chosen([3, 5, 9], 3) == [3, 5, 9]
    chosen = pictures.evenly_chosen(range(1, 1001), 90)
    assert len(set(chosen)) == 90 and (chosen[0], chosen[-1]) == (1, 1000)
    assert set(np.diff(chosen)) <= {11, 12}
    too_many = pictures.MOST_ON_A_SHEET + 1
    with pytest.raises(ValueError, match="has room for"):
        pictures.contact_sheet([1] * too_many, [], [])


def test_contact_sheet_takes_the_pictures_that_were_saved():
    image = np.full((5, 8, 3), 200, dtype=np.uint8)
    assert count(pictures.contact_sheet([1], [image], [image / 255]), (200, 200, 200)) > 10_000


# ---------------------------------------------------------------- animation


def read_gif(path):
    frames, durations = [], []
    with Image.open(path) as gif:
        assert gif.format == "GIF" and gif.info["loop"] == 0
        for i in range(gif.n_frames):
            gif.seek(i)
            frames.append(np.asarray(gif.convert("RGB")))
            durations.append(gif.info["duration"])
    return frames, durations


def test_animation_shows_its_frames_in_order_and_dwells_on_the_last(tmp_path):
    path = tmp_path / "training.gif"
    colours, steps = (RED, GREEN, BLUE), (1, 100, 10_000)
    pictures.training_gif(path, [plain(colour) for colour in colours], steps, [1, 2, 3])
    frames, durations = read_gif(path)
    assert len(frames) == 3 and frames[0].shape == (330 + pictures.CAPTION_HEIGHT, 480, 3)
    for picture, colour in zip(frames, colours, strict=True):
        assert count(picture[:330], colour, 12) > 0.99 * 330 * 480
        bar = picture[330:]
        assert count(bar[:, 200:280], style.PAPER, 4) == bar[:, 200:280].size // 3
        assert count(bar[:, :100], style.INK, 60) > 50
        assert count(bar[:, -100:], style.MUTED, 60) > 50
    ink = [count(picture[330:, :150], style.INK, 60) for picture in frames]
    assert ink[0] < ink[1] < ink[2]
    assert durations[0] == durations[1] and durations[2] >= 4 * durations[0]
    assert not np.array_equal(frames[0][330:, :100], frames[1][330:, :100])
    assert not np.array_equal(frames[0][330:, -100:], frames[1][330:, -100:])
    assert list(tmp_path.iterdir()) == [path]


def test_equal_pictures_of_different_steps_stay_frames_of_their_own(tmp_path):
    pictures.training_gif(tmp_path / "training.gif", [plain(RED)] * 4, [1, 2, 3, 4])
    assert len(read_gif(tmp_path / "training.gif")[0]) == 4


@pytest.mark.parametrize("shape", SHAPES)
def test_animation_of_any_shape(tmp_path, shape):
    image = np.random.default_rng(0).random((*shape, 3))
    path = tmp_path / "training.gif"
    pictures.training_gif(path, [image, image / 2], [1, 40_000], [9.99, np.inf])
    frames, _ = read_gif(path)
    assert len(frames) == 2 and max(frames[0].shape[:2]) <= 480 + pictures.CAPTION_HEIGHT
    assert frames[0].shape[1] >= pictures.CAPTION_WIDTH


def test_longest_captions_do_not_touch():
    texts = pictures.step_label(1_000_000), psnr_label(-100.0)
    caption = np.asarray(pictures.captioned(Image.new("RGB", (12, 12)), *texts))[12:]
    blank = (caption == style.PAPER).all(axis=(0, 2)).astype(int)
    inner = "".join(map(str, blank)).strip("1")
    assert max(map(len, inner.split("0"))) >= 12


@pytest.mark.slow
def test_noise_is_made_smaller_until_the_file_is_small(tmp_path):
    rng = np.random.default_rng(0)
    frames = [pictures.frame(rng.random((200, 300, 3))) for _ in range(24)]
    path = tmp_path / "training.gif"
    pictures.training_gif(path, frames, range(1, 25))
    assert 300_000 < path.stat().st_size <= pictures.MAX_GIF_BYTES


def test_the_caption_stays_white_under_a_picture_that_nearly_is(tmp_path):
    snow = np.random.default_rng(0).integers(235, 256, (300, 400, 3), dtype=np.uint8)
    pictures.training_gif(tmp_path / "training.gif", [snow], [1])
    bar = read_gif(tmp_path / "training.gif")[0][0][-pictures.CAPTION_HEIGHT + 4 :, 150:]
    assert count(bar, style.PAPER, 4) == bar.size // 3


def test_frame_is_small_and_looks_the_same_in_the_animation():
    image = np.random.default_rng(0).random((550, 800, 3)).astype(np.float32)
    small = pictures.frame(image)
    assert small.dtype == np.uint8 and small.shape == (330, 480, 3)
    assert np.array_equal(pictures.frame(small), small)


def test_animation_failing_keeps_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "training.gif"
    path.write_bytes(b"old")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(InputError, match="disk is full"):
        pictures.training_gif(path, [plain(RED)], [1])
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]
    with pytest.raises(ValueError, match="at least one"):
        pictures.training_gif(path, [], [])


# ---------------------------------------------------------------- curves

PANEL = plot.LEFT + plot.PANEL_WIDTH + plot.RIGHT
STEPS = [1, 10, 100, 1_000, 10_000, 40_000]
LOSSES = [0.1, 0.05, 0.02, 0.01, 0.005, 0.002]
PSNRS = [10.0, 13, 17, 20, 23, 27]


def curve(image, colour, left):
    """The middle row of a curve's colour in each column of a panel's plotting area."""
    area = image[plot.TOP : plot.TOP + plot.PANEL_HEIGHT, left : left + plot.PANEL_WIDTH]
    hits = np.abs(area.astype(int) - colour).max(axis=-1) <= 40
    rows = np.arange(len(area))[:, None]
    total = hits.sum(axis=0)
    return np.where(total > 0, (hits * rows).sum(axis=0) / np.maximum(total, 1), np.nan)


def test_loss_falls_psnr_rises_on_the_page():
    image = plot.loss_plot(STEPS, LOSSES, PSNRS, 21.0)
    assert image.dtype == np.uint8 and image.shape[1] == 2 * PANEL
    loss = curve(image, plot.LOSS_COLOUR, plot.LEFT)
    psnr = curve(image, plot.PSNR_COLOUR, PANEL + plot.LEFT)
    loss, psnr = loss[np.isfinite(loss)], psnr[np.isfinite(psnr)]
    assert len(loss) > 0.9 * plot.PANEL_WIDTH and len(psnr) > 0.9 * plot.PANEL_WIDTH
    assert loss[0] < 30 and loss[-1] > plot.PANEL_HEIGHT - 30
    assert psnr[0] > plot.PANEL_HEIGHT - 40 and psnr[-1] < 40
    assert (np.diff(loss[5:-10]) > -1).all() and (np.diff(psnr[5:-10]) < 1).all()


def test_both_axes_of_the_loss_are_logarithmic():
    steps = [1, 10, 100, 1_000, 10_000]
    straight = [0.1, 0.01, 0.001, 1e-4, 1e-5]
    rows = curve(plot.loss_plot(steps, straight, PSNRS[:5], 20.0), plot.LOSS_COLOUR, plot.LEFT)
    columns = np.flatnonzero(np.isfinite(rows))[10:-14]
    slope, offset = np.polyfit(columns, rows[columns], 1)
    assert slope > 0.4 and np.abs(rows[columns] - slope * columns - offset).max() < 1.5


def baseline_rows(image):
    # The column at which the dashes begin, left of the curve's first point.
    area = image[plot.TOP : plot.TOP + plot.PANEL_HEIGHT, PANEL + plot.LEFT + 2]
    return np.flatnonzero(area.max(axis=-1) < 190)


def test_the_baseline_lies_at_its_level_and_is_dashed():
    image = plot.loss_plot(STEPS, LOSSES, PSNRS, 20.0)
    (*_, row) = baseline_rows(image)
    low, high = 10 - 0.06 * 17, 27 + 0.06 * 17
    assert row == pytest.approx(plot.PANEL_HEIGHT * (high - 20) / (high - low), abs=2)
    line = image[plot.TOP + row, PANEL + plot.LEFT : PANEL + plot.LEFT + 100].max(axis=-1) < 190
    assert 40 < line.sum() < 80
    assert len(baseline_rows(plot.loss_plot(STEPS, LOSSES, PSNRS, np.inf))) == 0


def test_the_baseline_is_inside_the_plot_even_if_never_reached():
    for level in (60.0, -5.0):
        assert len(baseline_rows(plot.loss_plot(STEPS, LOSSES, PSNRS, level))) > 0
        assert len(baseline_rows(plot.loss_plot(STEPS, LOSSES, PSNRS, 20.0, level))) > 0


def test_two_baselines_have_labels_that_do_not_touch():
    """However close the two are: one is written above, the other below."""
    image = plot.loss_plot(STEPS, LOSSES, PSNRS, 20.0, 20.01)
    lines = baseline_rows(image)
    top, bottom = plot.TOP + lines.min(), plot.TOP + lines.max()
    left = PANEL + plot.LEFT
    for rows in (slice(top - 22, top - 2), slice(bottom + 3, bottom + 24)):
        assert count(image[rows, left : left + 120], style.INK, 90) > 50


def test_points_that_are_far_apart_are_dots():
    few = plot.loss_plot([1, 10, 100, 1_000], [0.1] * 4, [20.0] * 4, np.nan)
    row, left = plot.TOP + plot.PANEL_HEIGHT // 2, PANEL + plot.LEFT
    widths = [count(few[row - 6 : row + 7, left + x], plot.PSNR_COLOUR, 60) for x in range(500)]
    thick = np.flatnonzero(np.array(widths) > min(widths[20:150]))
    # At 10 and at 100, a third and two thirds of the way; the last point is always a dot.
    assert {round(3 * x / plot.PANEL_WIDTH, 1) for x in thick if x > 20} == {1.0, 2.0}


@pytest.mark.parametrize(
    "steps, losses, psnr, baseline",
    [
        ([1], [0.1], [10.0], 21.0),
        ([1, 10], [0.1, 0.01], [10.0, 20.0], 21.0),
        ([1, 2, 3], [0.1] * 3, [10.0] * 3, 10.0),
        ([1, 5, 9], [1e-3, 0, 0], [30.0, np.inf, np.inf], np.inf),
        ([1, 5, 9], [1e-3, np.nan, 1e-4], [np.nan] * 3, np.nan),
        ([1, 5], [np.nan, np.nan], [np.nan, np.nan], 20.0),
        ([1, 5], [1e-12, 1e-12], [120.0, 120.0], 20.0),
        ([1, 2], [0.1, 0.1000000001], [10.0, 10.00000001], 10.0),
        (range(20_001, 40_001, 500), [0.01] * 40, np.linspace(25, 26, 40), 21.0),
        (range(1, 20_001), np.full(20_000, 0.3), np.linspace(-5, 5, 20_000), 2.0),
        ([], [], [], 21.0),
    ],
)
@pytest.mark.filterwarnings("error")
def test_any_curve_can_be_drawn(steps, losses, psnr, baseline):
    image = plot.loss_plot(steps, losses, psnr, baseline)
    assert image.shape == plot.loss_plot(STEPS, LOSSES, PSNRS, 21.0).shape
    loss, level = image[:, :PANEL], image[:, PANEL:]
    assert (count(loss, plot.LOSS_COLOUR, 40) > 20) == bool(np.isfinite(list(losses)).any())
    assert (count(level, plot.PSNR_COLOUR, 40) > 20) == bool(np.isfinite(list(psnr)).any())
    for border in (image[:20], image[-20:], image[:, -4:]):
        assert (border == style.PAPER).all()


def test_a_single_zero_loss_is_drawn_at_the_floor():
    image = plot.loss_plot([1, 2], [0.1, 0.0], [10.0, np.inf], 20.0)
    rows = curve(image, plot.LOSS_COLOUR, plot.LEFT)
    assert np.nanmax(rows) > plot.PANEL_HEIGHT - 20


def test_only_whole_steps_are_marked():
    assert plot.LogAxis([1, 3]).ticks() == [1, 1.5, 2, 2.5, 3]
    assert plot.StepAxis([1, 3]).ticks() == [1, 2, 3]
    assert plot.StepAxis([1]).ticks() == [1]
    assert plot.StepAxis([1, 40_000]).ticks() == [1, 10, 100, 1_000, 10_000]


def test_unequal_lengths_are_our_own_mistake():
    with pytest.raises(ValueError, match="2 steps"):
        plot.loss_plot([1, 2], [0.1], [10.0], 20.0)


@pytest.mark.parametrize(
    "value, text",
    [(0, "0"), (1.0, "1"), (40_000.0, "40,000"), (0.001, "0.001"), (0.30000000000000004, "0.3"),
     (-5.0, "-5"), (2.5, "2.5"), (1e-5, "1e-5"), (2.5e-7, "2.5e-7"), (0.0001, "0.0001")],
)  # fmt: skip
def test_tick_labels(value, text):
    assert plot.tick_label(value) == text


@pytest.mark.parametrize(
    "low, high", [(1, 40_000), (1e-12, 0.1), (0.009, 0.011), (1, 10**9), (2, 9)]
)
def test_ticks_are_few_ascending_and_inside(low, high):
    for axis in (plot.LogAxis([low, high]), plot.LinearAxis([low, high])):
        ticks = axis.ticks()
        assert 1 <= len(ticks) <= 9 and ticks == sorted(set(ticks))
        assert all(0 <= axis.position(tick) <= 1 for tick in ticks)
