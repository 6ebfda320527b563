"""Say in a sentence what is probably wrong with a result: the pattern first, then its usual cause.

`diagnose` compares what was expected with what came, and tries one known pattern after another,
the most telling first. A pattern counts only if it explains every element, or nearly every one that
is wrong; if none does, the diagnosis is "wrong", which is better than a false one.
"""

from typing import NamedTuple

import numpy as np

ALMOST_ALL = 0.99  # of the elements that a pattern has to explain


class Diagnosis(NamedTuple):
    code: str  # a word or two, such as "transposed"
    sentence: str


def diagnose(
    expected, got, sentinel, tolerance, threads=None, candidates=None, guards_intact=True
):  # fmt: skip
    """The `Diagnosis` of a result that is not as expected.

    expected, got: arrays of the same shape. sentinel: what `got` was filled with beforehand.
    tolerance: absolute. threads: ("grid", 1, 128) if thread i, in block i // 128, owns row i, and
    ("grid", 2, (16, 16)) if thread (x, y) owns element [y, x]; None if it is not so simple.
    candidates: code -> (array, sentence) or array, the results of mistakes that the caller knows.
    guards_intact: False if something was written beside the array.
    """
    case = Comparison(np.asarray(expected), np.asarray(got), sentinel, tolerance, threads)
    known = known_mistake(case, candidates or {})
    if known:
        return known
    for pattern in PATTERNS:
        found = pattern(case)
        if found:
            return found
    if not guards_intact:
        return Diagnosis(
            "written outside",
            "Memory beside the array was changed: an index is too large or negative, so a guard is "
            "missing or off by one.",
        )
    return Diagnosis("wrong", "The values are wrong, in no pattern that is known here.")


class Comparison:
    """The two arrays in float64, and what most patterns ask about them."""

    def __init__(self, expected, got, sentinel, tolerance, threads):
        self.expected = expected.astype(np.float64)
        self.got = got.astype(np.float64)
        self.tolerance = tolerance
        self.threads = threads
        self.sentinel = sentinel
        self.unwritten = self.got == sentinel
        self.wrong = ~self.close(self.got, self.expected)

    def close(self, first, second):
        with np.errstate(invalid="ignore", over="ignore"):
            return np.abs(first - second) <= self.tolerance

    def fits(self, result):
        """Whether `got` is this result, with a tolerance that grows with it as rounding does."""
        largest = np.abs(self.expected).max(initial=0.0)
        growth = np.abs(result).max(initial=0.0) / largest if largest > 0 else 1.0
        with np.errstate(invalid="ignore", over="ignore"):
            return bool((np.abs(result - self.got) <= self.tolerance * max(1.0, growth)).all())

    def explains(self, pattern):
        """Whether a result made by a mistake is (nearly) the one that came."""
        if pattern.shape != self.got.shape or not self.wrong.any():
            return False
        telling = ~self.close(pattern, self.expected)
        if not telling.any():
            return False
        return np.mean(self.close(pattern, self.got)) >= ALMOST_ALL

    @property
    def written(self):
        return ~self.unwritten


def known_mistake(case, candidates):
    for code, candidate in candidates.items():
        result, sentence = candidate if isinstance(candidate, tuple) else (candidate, "")
        result = np.asarray(result, np.float64)
        if result.shape != case.got.shape or not case.fits(result):
            continue
        if not case.close(result, case.expected).all():
            return Diagnosis(code, sentence or f"This is the result one gets by: {code}.")
    return None


# ---------------------------------------------------------------- patterns of what was written


def not_a_number(case):
    bad = np.isnan(case.got) & ~np.isnan(case.expected)
    if not bad.any():
        return None
    return Diagnosis(
        "nan",
        "There are NaNs: something was divided by zero, a root or logarithm was taken of a negative "
        "number, or memory was read that nobody had written.",
    )


def never_written(case):
    if case.got.size == 0 or not case.unwritten.all():
        return None
    return Diagnosis(
        "never written",
        "No element was written: does every thread return early, or write to another array?",
    )


def tail_not_written(case):
    """Only a first part along one or two axes is written, and that part is right."""
    if not case.unwritten.any() or case.got.ndim == 0:
        return None
    extents = []
    for axis in range(case.got.ndim):
        others = tuple(other for other in range(case.got.ndim) if other != axis)
        touched = case.written.any(axis=others)
        extents.append(int(touched.sum()))
        if not touched[: extents[-1]].all():
            return None
    if case.unwritten[tuple(slice(0, extent) for extent in extents)].any():
        return None
    short = [axis for axis, extent in enumerate(extents) if extent < case.got.shape[axis]]
    names = " and ".join(f"axis {axis}: from index {extents[axis]} on" for axis in short)
    return Diagnosis(
        "tail not written",
        f"The end was not written ({names}): there are too few threads in that direction, as when "
        "the grid is rounded down, or when x and y are exchanged.",
    )


def first_block_only(case):
    """Right where block 0 works, and nowhere else."""
    block = block_shape(case)
    if block is None:
        return None
    inside = np.zeros(case.got.shape, bool)
    inside[tuple(slice(0, size) for size in block)] = True
    if inside.all() or case.wrong[inside].any():
        return None
    if not case.unwritten[~inside].all():
        return None
    return Diagnosis(
        "first block only",
        "Only what belongs to block 0 was written: cuda.threadIdx counts within a block; "
        "cuda.grid(1) or cuda.grid(2) counts over all of them.",
    )


def block_shape(case):
    """Size of block 0 along the leading axes, as the array is indexed; None if unknown."""
    if case.threads is None or case.got.ndim < case.threads[1]:
        return None
    _, dimensions, block = case.threads
    if dimensions == 1:
        return (block if isinstance(block, int) else block[0],)
    return tuple(reversed(block[:dimensions]))


def partly_written(case):
    share = np.mean(case.unwritten)
    if share == 0:
        return None
    return Diagnosis(
        "partly written",
        f"{share:.0%} of the elements were never written: does a condition stop threads that have "
        "work, or do several threads write the same element?",
    )


# ---------------------------------------------------------------- patterns of the values


def transposed(case):
    if case.got.ndim < 2:
        return None
    axes = (1, 0, *range(2, case.got.ndim))
    rows, columns = case.got.shape[:2]
    if rows == columns:
        pattern = np.transpose(case.expected, axes)
    else:
        # The same numbers in the same memory, but counted down the columns.
        pattern = np.transpose(case.expected, axes).reshape(case.expected.shape)
    if not case.explains(pattern):
        return None
    return Diagnosis(
        "transposed",
        "Rows and columns are exchanged: the first index of an array is the row, y.",
    )


def flipped(case):
    for axis in range(min(case.got.ndim, 2)):
        if case.explains(np.flip(case.expected, axis)):
            return Diagnosis(
                "flipped",
                f"The order is reversed along axis {axis}: an index runs from the wrong end.",
            )
    return None


def shifted(case):
    for axis in range(case.got.ndim):
        for step in (1, -1):
            if case.got.shape[axis] < 3 or not matches_shifted(case, axis, step):
                continue
            way = "late" if step == 1 else "early"
            return Diagnosis(
                "shifted",
                f"Everything is one place too {way} along axis {axis}: an index is off by one.",
            )
    return None


def matches_shifted(case, axis, step):
    first, second = slice(1, None), slice(None, -1)
    if step == -1:
        first, second = second, first
    got = np.take(case.got, range(case.got.shape[axis])[first], axis)
    expected = np.take(case.expected, range(case.got.shape[axis])[second], axis)
    aligned = np.take(case.expected, range(case.got.shape[axis])[first], axis)
    if case.close(aligned, expected).all():
        return False
    return bool(np.mean(case.close(got, expected)) >= ALMOST_ALL)


def swapped_channels(case):
    if case.got.ndim < 2 or case.got.shape[-1] not in (3, 4):
        return None
    channels = case.got.shape[-1]
    for first in range(channels):
        for second in range(first + 1, channels):
            order = list(range(channels))
            order[first], order[second] = second, first
            if case.explains(case.expected[..., order]):
                return Diagnosis(
                    "swapped channels", f"Channels {first} and {second} are exchanged."
                )
    return None


def up_to_255(case):
    return scaled(
        case,
        255.0,
        "0-255",
        "The values go up to 255; here colours and brightness go from 0 to 1.",
    )


def scaled(case, factor, code, sentence):
    if case.expected.size < 2:
        return None
    room = case.tolerance * max(1.0, abs(factor))
    with np.errstate(invalid="ignore", over="ignore"):
        fits = np.abs(case.got - factor * case.expected) <= room
    return Diagnosis(code, sentence) if np.mean(fits) >= ALMOST_ALL else None


def constant_factor(case):
    use = np.abs(case.expected) > 100 * case.tolerance
    if np.count_nonzero(use) < 4 or not np.isfinite(case.got).all():
        return None
    factor = float(np.median(case.got[use] / case.expected[use]))
    if abs(factor - 1) < 1e-4 or abs(factor) < 1e-6:
        return None
    text = nice_factor(factor)
    return scaled(
        case,
        factor,
        "constant factor",
        f"Every value is {text} times what it should be: is there a factor too many or too few, "
        "such as the number of samples or of channels?",
    )


def nice_factor(factor):
    if factor < 0:
        return f"{factor:.4g}"
    if 0 < factor < 1 and abs(1 / factor - round(1 / factor)) < 1e-3 / factor:
        return f"1/{round(1 / factor)}"
    return f"{factor:.4g}"


def constant_offset(case):
    if case.got.size < 4 or not np.isfinite(case.got).all():
        return None
    difference = case.got - case.expected
    offset = float(np.median(difference))
    if abs(offset) <= case.tolerance or np.ptp(case.expected) <= case.tolerance:
        return None
    if np.mean(np.abs(difference - offset) <= 2 * case.tolerance) < ALMOST_ALL:
        return None
    return Diagnosis(
        "constant offset",
        f"Every value is off by {offset:.4g}: was something added to what was there before?",
    )


def added_to_garbage(case):
    """Expected values on top of the sentinel, up to what float32 can hold there."""
    if not case.wrong.any():
        return None
    room = max(case.tolerance, abs(case.sentinel) * 1e-5)
    with np.errstate(invalid="ignore", over="ignore"):
        fits = np.abs(case.got - case.sentinel - case.expected) <= room
    if case.expected.size == 0 or np.ptp(case.expected) <= room or not fits.all():
        return None
    return Diagnosis(
        "not begun at zero",
        "The right values were added to what the array held before: begin each sum at zero.",
    )


def lost_updates(case):
    """Sums that came out nearer to zero, most of them, and none larger."""
    if case.wrong.sum() < 4 or not np.isfinite(case.got).all():
        return None
    got, expected = case.got[case.wrong], case.expected[case.wrong]
    nearer = (np.sign(got) == np.sign(expected)) | (np.abs(got) <= case.tolerance)
    if not (nearer & (np.abs(got) < np.abs(expected))).all():
        return None
    return Diagnosis(
        "lost updates",
        "Every wrong sum is too small: when several threads add to one element with +=, additions "
        "get lost; cuda.atomic.add does not lose any.",
    )


def all_zero(case):
    if (case.got != 0).any() or not case.wrong.any():
        return None
    return Diagnosis(
        "all zero", "Every value is zero: nothing was added up, or it was cleared after."
    )


PATTERNS = (
    not_a_number, never_written, first_block_only, tail_not_written, transposed, partly_written,
    all_zero, flipped, shifted, swapped_channels, up_to_255, added_to_garbage,
    constant_factor, constant_offset,
    lost_updates,
)  # fmt: skip


# ---------------------------------------------------------------- the first wrong elements


def first_wrong(name, expected, got, tolerance, threads=None, count=3, sentinel=None):
    """Lines such as "gray[3, 5]: expected 0.41, got 0.12 (block (0, 0), thread (5, 3))"."""
    expected, got = np.asarray(expected), np.asarray(got)
    with np.errstate(invalid="ignore", over="ignore"):
        difference = np.abs(got.astype(np.float64) - expected.astype(np.float64))
    places = np.argwhere(~(difference <= tolerance))[:count]
    lines = []
    for place in places:
        index = tuple(int(i) for i in place)
        value = got[index]
        what = "never written" if value == sentinel else f"got {value:.6g}"
        where = f"[{', '.join(map(str, index))}]" if index else ""
        lines.append(
            f"{name}{where}: expected {expected[index]:.6g}, {what}{owner(index, threads)}"
        )
    return lines


def owner(index, threads):
    """The block and thread that own an element, as " (block 0, thread 5)"; "" if unknown."""
    if threads is None or len(index) < threads[1]:
        return ""
    _, dimensions, block = threads
    if dimensions == 1:
        size = block if isinstance(block, int) else block[0]
        return f" (block {index[0] // size}, thread {index[0] % size})"
    position = tuple(reversed(index[:dimensions]))
    blocks = tuple(p // size for p, size in zip(position, block, strict=True))
    inside = tuple(p % size for p, size in zip(position, block, strict=True))
    return f" (block {blocks}, thread {inside})"
