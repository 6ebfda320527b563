"""The pictures of a run: feature grids, the contact sheet, the animation.

Arrays in, images out. Predictions are (H, W, 3), float in [0, 1] or uint8; feature grids
are (grid_height, grid_width, 3) of any finite values.
"""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from kernels.files.atomic import write_atomically
from kernels.files.images import to_uint8
from kernels.files.psnr import psnr_label
from kernels.files.style import INK, MUTED, PAPER, font, paper

THUMBNAIL = 320
MARGIN, GAP = 44, 14
LABEL_SIZE = 26
# A contact sheet goes on below after so many columns, and leaves snapshots out before it has more
# pixels on a side than many programs can show.
COLUMNS = 10
MAX_SHEET_SIDE = 8000

# This share of a feature grid's values, at either end, may be drawn as black or as white.
OUTLIERS = 1.0  # per cent

# The sides tried for the animation until its file is small enough.
FRAME_SIDES = (480, 400, 320, 240, 160)
# Wide enough for the longest caption, since all frames of a GIF share one size.
CAPTION_WIDTH, CAPTION_HEIGHT, CAPTION_SIZE, CAPTION_PADDING = 320, 40, 18, 14
MAX_GIF_BYTES = 3_000_000

# A band of a contact sheet: two lines of text, two rows of pictures, and what is around them.
BAND_HEIGHT = 2 * (MARGIN + round(LABEL_SIZE * 1.4) + THUMBNAIL + GAP)
NOTE_HEIGHT = LABEL_SIZE + MARGIN
MOST_ON_A_SHEET = (MAX_SHEET_SIDE - NOTE_HEIGHT) // BAND_HEIGHT * COLUMNS

Item = TypeVar("Item")
Row = tuple[str, list[Image.Image]]  # of a sheet: its name, an image for each column

# A 500 x 1 picture would otherwise be a hairline.
THINNEST = 12


def save_in_256_colours(picture: Image.Image, path: Path) -> None:
    """Write a PNG of at most 256 colours, as a whole or not at all: for the pictures of pages.

    The colours are those of k-means. Such a file has a third of the bytes of one with all colours.
    """
    small = picture.convert("RGB").quantize(256, kmeans=3, dither=Image.Dither.NONE)
    write_atomically(path, lambda file: small.save(file, "PNG", optimize=True))


def three_channels(grid: np.ndarray) -> np.ndarray:
    """The first three channels of a grid (gh, gw, C); the last one again if it has fewer."""
    last = grid.shape[2] - 1
    return grid[:, :, [min(channel, last) for channel in range(3)]]


def normalise_grid(feature_grid: np.ndarray) -> np.ndarray:
    """Stretch a grid's values, all channels together, over [0, 1]: (gh, gw, 3) float32.

    The lowest and the highest `OUTLIERS` per cent are clipped: late in training a few cells have
    values so large that all others would be the same gray. A constant grid becomes mid gray, and so
    does a value that is not finite.
    """
    # float64, since the span of two finite float32 values can overflow float32.
    grid = three_channels(np.asarray(feature_grid, dtype=np.float64))
    finite = np.isfinite(grid)
    known = grid[finite]
    if known.size == 0:
        return np.full(grid.shape, 0.5, dtype=np.float32)
    low = np.percentile(known, OUTLIERS, method="lower")
    high = np.percentile(known, 100 - OUTLIERS, method="higher")
    if low == high:  # nearly constant: then what is left is no outlier
        low, high = known.min(), known.max()
    if low == high:
        return np.full(grid.shape, 0.5, dtype=np.float32)
    stretched = np.clip((np.where(finite, grid, low) - low) / (high - low), 0, 1)
    return np.where(finite, stretched, 0.5).astype(np.float32)


def frame(prediction: np.ndarray) -> np.ndarray:
    """A small uint8 copy of a prediction for the animation; its longer side is FRAME_SIDES[0]."""
    return np.asarray(fit(prediction, FRAME_SIDES[0]))


def fit(picture: np.ndarray, side: int) -> Image.Image:
    """Resize to a Pillow image whose longer side is `side`, keeping the proportions."""
    height, width = fitted_size(picture, side)
    return resize(picture, (width, height))


def fitted_size(picture: np.ndarray, side: int) -> tuple[int, int]:
    """(height, width) of a picture whose longer side becomes `side`."""
    height, width = picture.shape[:2]
    scale = side / max(width, height)
    return max(THINNEST, round(height * scale)), max(THINNEST, round(width * scale))


def resize(picture: np.ndarray, size: tuple[int, int]) -> Image.Image:
    """Resize to a Pillow image; size: (width, height)."""
    image = Image.fromarray(to_uint8(picture))
    enlargement = min(new / old for new, old in zip(size, image.size, strict=True))
    if enlargement >= 4:
        # Few, large pixels should look like pixels.
        return image.resize(size, Image.Resampling.NEAREST)
    return image.resize(size, Image.Resampling.LANCZOS)


def enlarged(image: np.ndarray, side: int) -> Image.Image:
    """A gray image (H, W) in [0, 1], `side` pixels wide and high: its pixels become squares."""
    gray = Image.fromarray(np.round(np.clip(image, 0, 1) * 255).astype(np.uint8))
    return gray.resize((side, side), Image.Resampling.NEAREST).convert("RGB")


def step_label(step: int) -> str:
    return f"step {step:,}"


def contact_sheet(
    steps: Sequence[int],
    predictions: Sequence[np.ndarray],
    grids: Sequence[np.ndarray],
    psnr: Sequence[float] | None = None,
    note: str = "",
) -> np.ndarray:
    """Lay out snapshots above their feature grids, one labelled column per step.

    steps: ints, at most `MOST_ON_A_SHEET`. predictions, grids: lists of images and of feature
    grids, as many. psnr: dB of each snapshot, or None to leave that line out. note: a line of text
    below. Returns (height, width, 3) uint8, at most `MAX_SHEET_SIDE` pixels wide and high.
    """
    if len(steps) > MOST_ON_A_SHEET:
        raise ValueError(f"{len(steps)} snapshots; a sheet has room for {MOST_ON_A_SHEET}")
    snapshots = [fit(prediction, THUMBNAIL) for prediction in predictions]
    # A grid covers the same ground as the picture above it, so it gets the same shape.
    features = [
        resize(normalise_grid(grid), snapshot.size)
        for grid, snapshot in zip(grids, snapshots, strict=True)
    ]
    lines = [[step_label(step)] for step in steps]
    for column, value in zip(lines, psnr if psnr is not None else (), strict=False):
        column.append(psnr_label(value))
    rows = [("prediction", snapshots), ("feature grid", features)]
    cell = cell_size(lines, rows)
    parts = [slice(first, first + COLUMNS) for first in range(0, len(lines), COLUMNS)]
    bands = [
        lay_out(lines[part], [(name, images[part]) for name, images in rows], cell)
        for part in parts
    ]
    return np.asarray(one_below_the_other(bands, note))


def panels(pictures: Sequence[np.ndarray], titles: Sequence[str], side: int = 400) -> np.ndarray:
    """Pictures side by side, each with a title above it.

    pictures: each (H, W) or (H, W, 3), float in [0, 1] or uint8. titles: a line for each; "\\n"
    begins another. side: the longer side of each, in pixels. Returns (height, width, 3) uint8.
    """
    images = [fit(picture, side).convert("RGB") for picture in pictures]
    lines = [title.split("\n") for title in titles]
    rows = [("", images)]
    return np.asarray(lay_out(lines, rows, cell_size(lines, rows)))


def evenly_chosen(steps: Sequence[Item], most: int) -> list[Item]:
    """At most `most` of the steps, 2 or more, the first and the last among them."""
    if len(steps) <= most:
        return list(steps)
    return [steps[round(i * (len(steps) - 1) / (most - 1))] for i in range(most)]


def one_below_the_other(bands: Sequence[Image.Image], note: str) -> Image.Image:
    height = sum(band.height for band in bands) + (NOTE_HEIGHT if note else 0)
    sheet = Image.new("RGB", (bands[0].width, height), PAPER)
    y = 0
    for band in bands:
        sheet.paste(band, (0, y))
        y += band.height
    ImageDraw.Draw(sheet).text((MARGIN, y), note, MUTED, font(LABEL_SIZE - 6), "la")
    return sheet


def lay_out(
    headers: Sequence[Sequence[str]], rows: Sequence[Row], cell: tuple[int, int]
) -> Image.Image:
    """One band of images. headers: the lines of text above each column. cell: see `cell_size`."""
    label, small = font(LABEL_SIZE), font(LABEL_SIZE - 6)
    line_height = round(LABEL_SIZE * 1.4)
    cell_width, cell_height = cell
    columns = [MARGIN + line_height + i * (cell_width + GAP) for i in range(len(headers) + 1)]
    first_row = MARGIN + line_height * max(map(len, headers)) + 8
    tops = [first_row + i * (cell_height + GAP) for i in range(len(rows) + 1)]

    sheet, draw = paper(columns[-1] - GAP + MARGIN, tops[-1] - GAP + MARGIN)
    for x, lines in zip(columns, headers, strict=False):
        for i, text in enumerate(lines):
            draw.text((x, MARGIN + i * line_height), text, MUTED if i else INK, label, "la")
    for y, (name, images) in zip(tops, rows, strict=False):
        sheet.paste(upward_text(name, small), (MARGIN - 6, y))
        for x, image in zip(columns, images, strict=False):
            sheet.paste(image, (x, y))
    return sheet


def cell_size(headers: Sequence[Sequence[str]], rows: Sequence[Row]) -> tuple[int, int]:
    """Room for the largest picture, and for the texts above a narrow and beside a flat one.

    Returns (width, height).
    """
    label, small = font(LABEL_SIZE), font(LABEL_SIZE - 6)
    images = [image for _, images in rows for image in images]
    header_widths = [label.getlength(line) for lines in headers for line in lines]
    name_lengths = [small.getlength(name) for name, _ in rows]
    width = max([image.width for image in images] + header_widths)
    height = max([image.height for image in images] + name_lengths)
    return round(width), round(height)


def upward_text(text: str, typeface: ImageFont.FreeTypeFont) -> Image.Image:
    strip = Image.new("RGB", (round(typeface.getlength(text)), round(typeface.size * 1.4)), PAPER)
    ImageDraw.Draw(strip).text((0, 0), text, MUTED, typeface, "la")
    return strip.rotate(90, expand=True)


def training_gif(
    path: str | Path,
    frames: Sequence[np.ndarray],
    steps: Sequence[int],
    psnr: Sequence[float | None] | None = None,
    seconds_per_frame: float = 0.45,
    seconds_at_end: float = 3,
) -> None:
    """Write the animation of a training, each frame captioned with its step and PSNR.

    frames: predictions, or their `frame`s, all of one size. steps: ints, as many. psnr: dB
    of each, None where it was not measured. It loops for ever and dwells on the last frame; if it
    would exceed MAX_GIF_BYTES it is made smaller. Raises InputError if it cannot be
    written, ValueError without frames.
    """
    if len(frames) == 0:
        raise ValueError("an animation needs at least one frame")
    measured = [None] * len(frames) if psnr is None else psnr
    right = ["" if value is None else psnr_label(value) for value in measured]
    captions = [(step_label(step), text) for step, text in zip(steps, right, strict=True)]
    durations = [round(1000 * seconds_per_frame)] * len(frames)
    durations[-1] = round(1000 * seconds_at_end)
    for side in FRAME_SIDES:
        images = [
            captioned(fit(picture, side), *text)
            for picture, text in zip(frames, captions, strict=True)
        ]
        encoded = encode_gif(images, durations)
        if len(encoded) <= MAX_GIF_BYTES:
            break
    write_atomically(path, lambda file: file.write(encoded))


def captioned(image: Image.Image, left: str, right: str) -> Image.Image:
    """The image on paper, over a bar with one text at each end."""
    typeface = font(CAPTION_SIZE)
    width = max(image.width, CAPTION_WIDTH)
    canvas = Image.new("RGB", (width, image.height + CAPTION_HEIGHT), PAPER)
    canvas.paste(image, ((width - image.width) // 2, 0))
    draw = ImageDraw.Draw(canvas)
    middle = image.height + CAPTION_HEIGHT // 2
    draw.text((CAPTION_PADDING, middle), left, INK, typeface, "lm")
    draw.text((width - CAPTION_PADDING, middle), right, MUTED, typeface, "rm")
    return canvas


def encode_gif(images: Sequence[Image.Image], durations: Sequence[int]) -> bytes:
    """The bytes of a looping GIF; each image gets its own 256 colours, dithered.

    durations: how long each is shown, in milliseconds.
    """
    content = io.BytesIO()
    first, *others = [dithered(image) for image in images]
    first.save(content, "GIF", save_all=True, append_images=others, duration=durations, loop=0)
    return content.getvalue()


def dithered(image: Image.Image) -> Image.Image:
    # Paper and ink are always among the colours, so that the caption does not flicker.
    octree = image.quantize(254, Image.Quantize.FASTOCTREE)
    found = octree.getpalette()
    assert found is not None, "quantising makes a palette"
    colours = [*found[: 254 * 3], *PAPER, *INK]
    palette = Image.new("P", (1, 1))
    palette.putpalette(colours)
    return image.quantize(palette=palette, dither=Image.Dither.FLOYDSTEINBERG)
