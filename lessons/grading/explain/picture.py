"""Draw why a check failed: what was expected, what came, where they differ, where blocks end."""

from pathlib import Path

import numpy as np

from kernels.files.atomic import write_atomically
from lessons.grading.explain.comparison import Threads
from lessons.grading.explain.picture_panels import CheckDrawing, Panel, Scale
from lessons.lab.simulator.style import drawable

UNWRITTEN = 255, 0, 200  # no picture has much of it
NOT_FINITE = 255, 200, 0
DARK, LIGHT = (0, 0, 0), (255, 255, 255)
RIGHT, SLIGHT, LARGE = (240, 241, 243), (244, 190, 150), (178, 24, 43)
FOLDED_COLUMNS = 64  # an array of one axis is drawn in rows of so many elements


def draw_check(
    name: str,
    expected: np.ndarray,
    got: np.ndarray,
    sentinel: float,
    tolerance: float,
    path: Path,
    title: str,
    threads: Threads | None = None,
) -> None:
    """Write a PNG with three panels: expected, got, error; with indices and a colour scale each.

    expected, got: arrays of one shape and any number of axes; (H, W, 3) is drawn as colours, one
    with more axes as its worst layer. sentinel, tolerance, threads: see `diagnosis.diagnose`.
    Raises `InputError` if the file cannot be written.
    """
    expected, got = np.asarray(expected, np.float64), np.asarray(got, np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(got - expected)
    wrong = f"{np.count_nonzero(~(error <= tolerance)):,} of {error.size:,} wrong"
    elements_per_row = FOLDED_COLUMNS if expected.ndim == 1 else 1
    shape = expected.shape
    expected, got, error, layer = as_matrices(expected, got, error)
    unwritten = (got == sentinel).reshape(*got.shape[:2], -1).any(axis=2)
    low, high = span(expected)
    scale = Scale(f"{low:.3g}", f"{high:.3g}", DARK, LIGHT)
    largest = largest_known(error, tolerance, unwritten)
    drawing = CheckDrawing(got.shape[:2], threads, elements_per_row)
    panels = [
        Panel("expected", "", in_colours(expected, low, high), scale),
        Panel(
            "got", legend(unwritten, got), mark(in_colours(got, low, high), unwritten, got), scale
        ),
        Panel(
            "error",
            f"gray: right; {wrong}",
            error_colours(error, tolerance, largest),
            error_scale(tolerance, largest),
        ),
    ]
    words = f"{name}, shape {shape}"
    if elements_per_row > 1:
        words += f", in rows of {elements_per_row}"
    picture = drawing.paint(panels, drawable(f"{title}{layer}"), drawable(words))
    write_atomically(path, lambda file: picture.save(file, "PNG"))


# ---------------------------------------------------------------- from arrays to matrices


Matrices = tuple[np.ndarray, np.ndarray, np.ndarray, str]


def as_matrices(expected: np.ndarray, got: np.ndarray, error: np.ndarray) -> Matrices:
    """The arrays as (rows, columns) or (rows, columns, 3), and the words that name the layer."""
    if expected.size == 0:
        empty = np.zeros((1, 1))
        return empty, empty, empty, " (empty)"
    if expected.ndim == 0:
        return expected.reshape(1, 1), got.reshape(1, 1), error.reshape(1, 1), ""
    if expected.ndim == 1:
        return folded(expected), folded(got), folded(error), ""
    words = ""
    while expected.ndim > 3 or (expected.ndim == 3 and expected.shape[2] != 3):
        sums = np.nan_to_num(error, nan=np.inf).reshape(len(error), -1).sum(axis=1)
        worst = int(sums.argmax())
        words += f" [{worst}]"
        expected, got, error = expected[worst], got[worst], error[worst]
    return expected, got, error, words


def folded(array: np.ndarray) -> np.ndarray:
    """A row as a matrix of up to 64 columns; the last row is filled up with the last element."""
    columns = min(array.size, FOLDED_COLUMNS)
    rows = -(-array.size // columns)
    return np.pad(array, (0, rows * columns - array.size), mode="edge").reshape(rows, columns)


def span(expected: np.ndarray) -> tuple[float, float]:
    """(lowest, highest) value to draw."""
    finite = expected[np.isfinite(expected)]
    if finite.size == 0:
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    if expected.ndim == 3 and low >= 0 and high <= 1:
        return 0.0, 1.0
    return (low, high) if high > low else (low - 0.5, low + 0.5)


# ---------------------------------------------------------------- colours


def in_colours(matrix: np.ndarray, low: float, high: float) -> np.ndarray:
    with np.errstate(invalid="ignore", over="ignore"):
        shade = np.nan_to_num(np.clip((matrix - low) / (high - low), 0, 1))
    if shade.ndim == 2:
        shade = np.repeat(shade[:, :, np.newaxis], 3, axis=2)
    return np.round(shade * 255).astype(np.uint8)


def mark(colours: np.ndarray, unwritten: np.ndarray, got: np.ndarray) -> np.ndarray:
    colours = colours.copy()
    finite = np.isfinite(got).reshape(*got.shape[:2], -1).all(axis=2)
    colours[~finite] = NOT_FINITE
    colours[unwritten] = UNWRITTEN
    return colours


def legend(unwritten: np.ndarray, got: np.ndarray) -> str:
    words = []
    if unwritten.any():
        words.append("pink: never written")
    if not np.isfinite(got).all():
        words.append("yellow: NaN or infinite")
    return "; ".join(words)


def largest_known(error: np.ndarray, tolerance: float, unwritten: np.ndarray) -> float:
    """The largest error of elements that were written, and are finite; at least `tolerance`."""
    size = error.reshape(*error.shape[:2], -1)[~unwritten]
    return max(float(size[np.isfinite(size)].max(initial=tolerance)), tolerance)


def error_scale(tolerance: float, largest: float) -> Scale:
    if largest > tolerance:
        return Scale(f"{tolerance:.2g}", f"{largest:.3g}", SLIGHT, LARGE)
    return Scale("", "never written, NaN or infinite", LARGE, LARGE)


def error_colours(error: np.ndarray, tolerance: float, largest: float) -> np.ndarray:
    """Gray where right; orange to red where wrong, red at the largest error and beyond."""
    size = np.nan_to_num(error, nan=np.inf)
    size = size.reshape(*size.shape[:2], -1).max(axis=2)
    room = largest - tolerance
    share = np.clip((size - tolerance) / room, 0, 1) if room > 0 else np.ones(size.shape)
    share = share[:, :, np.newaxis]
    colours = np.array(SLIGHT) * (1 - share) + np.array(LARGE) * share
    colours[size <= tolerance] = RIGHT
    return np.round(colours).astype(np.uint8)
