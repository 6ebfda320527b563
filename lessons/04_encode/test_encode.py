"""Checks of lesson 4. The grid is not square, and the batch not a multiple of a block."""

import ast
import itertools
from functools import partial

import numpy as np

from lessons import reference
from lessons.grading.advice.blends import (
    at_another_point,
    other_blends,
    other_pixels_beyond,
    positions_in,
)
from lessons.grading.checks.case import check
from lessons.grading.exchange.output import sentinel_of

THREADS = ("grid", 1, 128)
GRID_SHAPES = (5, 7, 3), (6, 4, 3)
SMALL_BATCH, RAGGED_BATCH = 37, 257  # three blocks have no equal shares of 257
MANY_BLOCKS = 4_200  # where each block does the work of all after it, that is too often
FOURIER, PADDING = slice(5, 13), slice(13, 16)
MOST_RUNS = 3  # of wrong channels, that are told in a sentence
NOT_WRITTEN = sentinel_of(np.dtype(np.float32))


@check("grid")
def test_grid(case):
    for shape in GRID_SHAPES:
        check_grid(case, *encoded(case, SMALL_BATCH, shape))


def check_grid(case, uv, grid, features):
    expected = reference.encode(uv, grid)[:, :3]
    height, width, _ = grid.shape
    candidates = {
        "centres of cells": (
            reference.bilinear(grid, centres_of_cells(len(uv), height, width)),
            "These are the values at the centres of the cells, one after the other: u and v are "
            "uv[sample, 0] and uv[sample, 1].",
        ),
        "axes exchanged": (
            reference.bilinear(grid, uv[:, ::-1]),
            "u and v are exchanged: u goes to the right, v down.",
        ),
        "nearest cell": (
            nearest(grid, uv),
            "Each sample got the value of the nearest cell; it should be a blend of four.",
        ),
        "channels reversed": (expected[:, ::-1], "Red and blue are exchanged."),
        "nothing but red": (expected[:, [0, 0, 0]], "All three channels hold red."),
        "features after another": (
            reference.encode(uv, grid)[:, 1:4],
            "Everything is one channel too early: red belongs into channel 0.",
        ),
        **not_written(expected, "Channels 0 to 2"),
    }
    got = features.array[:, :3]
    known = partial(other_lookups, candidates, got, uv.astype(np.float64), grid)
    case.expect(got, expected, "grid_channels", THREADS, candidates=known)


def other_lookups(known, got, uv, grid):
    """The known candidates, and one that asks the grid at another point, if one fits."""
    positions = positions_in(grid, uv)
    found = (
        other_pixels_beyond(got, grid, next(iter(positions.values())), "cell")
        or at_another_point(got, grid, uv, "grid", "cell")
        or other_blends(got, grid, positions)
    )
    return {**known, **found}


@check("sub_cell")
def test_sub_cell(case):
    for shape in GRID_SHAPES:
        check_sub_cell(case, *encoded(case, SMALL_BATCH, shape))


def check_sub_cell(case, uv, grid, features):
    expected = reference.encode(uv, grid)[:, 3:5]
    sizes = np.array([grid.shape[1], grid.shape[0]], np.float64)
    candidates = {
        "axes exchanged": (
            np.sin(2 * np.pi * (uv * sizes[::-1] - 0.5)),
            "The grid's width and height are exchanged: shape is (height, width, 3).",
        ),
        "half a cell": (
            np.sin(2 * np.pi * uv * sizes),
            opposite_signs(case.submission.lines),
        ),
        "radians": (
            np.sin(np.mod(uv * sizes - 0.5, 1)),
            "The angle was taken in radians: one cell is one whole turn.",
        ),
        "not a sine": (
            np.mod(uv * sizes - 0.5, 1),
            "These are the fractions themselves: the channels want sine_of_turns of them.",
        ),
        "one axis twice": (
            expected[:, [0, 0]],
            "Both channels are made of u: the second belongs to v, and the grid's height.",
        ),
        "v twice": (
            expected[:, [1, 1]],
            "Both channels are made of v: the first belongs to u, and the grid's width.",
        ),
        "exchanged": (expected[:, ::-1], "Channels 3 and 4 are exchanged: u comes first."),
        "u and v exchanged": (
            np.sin(2 * np.pi * (uv[:, ::-1] * sizes - 0.5)),
            "u and v are exchanged: u belongs to the grid's width, v to its height.",
        ),
        "cosine": (
            np.cos(2 * np.pi * (uv * sizes - 0.5)),
            "These are cosines: take sine_of_turns of the fraction itself.",
        ),
        "of the coordinate": (
            np.sin(2 * np.pi * uv.astype(np.float64)),
            "The wave spans the whole picture, not a cell: take the fraction of neighbours.",
        ),
        "height for both": (
            np.sin(2 * np.pi * (uv * sizes[1] - 0.5)),
            "Both sizes are the grid's height, shape[0]: u needs the width, shape[1].",
        ),
        "width for both": (
            np.sin(2 * np.pi * (uv * sizes[0] - 0.5)),
            "Both sizes are the grid's width, shape[1]: v needs the height, shape[0].",
        ),
        "overwritten by the waves": (
            np.stack([expected[:, 0], np.sin(2 * np.pi * uv[:, 0].astype(np.float64))], axis=1),
            "Channel 4 holds the first wave: the waves begin at channel 5.",
        ),
        "two waves too early": (
            waves(uv.astype(np.float64))[:, :2],
            "Channels 3 and 4 hold the first two waves: these begin at channel 5.",
        ),
        "signs lost": (
            np.abs(expected),
            "The sizes are right, and nothing is negative: is it the distance to the nearest "
            "centre, min(fraction, 1 - fraction), in place of the fraction? Or does abs, or a "
            "root, take the sign away? The wave goes through the whole cell, up and down.",
        ),
        **not_written(expected, "Channels 3 and 4"),
        "sine of a whole number": (
            0 * expected,
            "Both channels are 0, as is the sine of a whole number of turns: is it taken of low or "
            "high? neighbours returns (low, high, fraction), and the fraction is the third. Or is "
            "nothing computed for them?",
        ),
    }
    for height, width, _ in GRID_SHAPES:
        if (height, width) != grid.shape[:2]:
            candidates[f"always {width} x {height}"] = (
                np.sin(2 * np.pi * (uv * np.array([width, height], np.float64) - 0.5)),
                f"The size {width} x {height} is written in; this grid has {grid.shape[1]} x "
                f"{grid.shape[0]}: take feature_grid.shape.",
            )
    candidates |= channel_by_channel(
        features.array[:, 3:5], expected, 3, known_cell_waves(uv.astype(np.float64), sizes)
    )
    name = "sub_cell_channels"
    reason = f"{case.check.tolerance_reason}; {place_of_first(name, 3)}"
    case.expect(features.array[:, 3:5], expected, name, THREADS, None, candidates, reason)


def opposite_signs(lines):
    """lines: of the student's file, in which only encode is the student's own."""
    text = "\n".join(lines)
    nodes = list(ast.walk(ast.parse(text)))
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    used |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    edge = (
        "Every value has the opposite sign, as if the wave started at a cell's edge: it should "
        "start at its centre, as the fraction that neighbours returns"
    )
    if "neighbours" in used or "neighbours as" in text:
        return f"{edge}. Or is the fraction, or the sine, subtracted?"
    return f"{edge}; and encode does not call neighbours."


@check("fourier")
def test_fourier(case):
    check_waves(case, *encoded(case, SMALL_BATCH, GRID_SHAPES[0]))  # no octave has 5 or 7 waves


def check_waves(case, uv, grid, features):
    uv = uv.astype(np.float64)
    expected = reference.encode(uv, grid)[:, FOURIER]
    candidates = {
        "cosine is a sine": (
            waves(uv, quarter=0),
            "The cosines are sines: a cosine starts a quarter turn earlier.",
        ),
        "quarter turn late": (
            waves(uv, quarter=-0.25),
            "The cosines have the wrong sign: add a quarter turn, do not subtract it.",
        ),
        "not doubled": (
            waves(uv, factors=(1, 1)),
            "Both octaves are the same wave: double it from one octave to the next.",
        ),
        "tripled": (waves(uv, factors=(1, 3)), "The second octave has three waves, not two."),
        "one octave late": (
            waves(uv, factors=(2, 4)),
            "The octaves have two and four waves, and should have one and two: is the angle "
            "doubled before the first octave is written?",
        ),
        "one octave early": (
            waves(uv, factors=(0, 1)),
            "The first octave has no wave at all, a sine of 0: the octaves have one and two waves.",
        ),
        "octaves exchanged": (waves(uv, factors=(2, 1)), "The octave of two waves comes first."),
        "quarter multiplied": (
            waves(uv, factors=(1, 2), quarters=(0.25, 0.5)),
            "The quarter turn is multiplied by the number of waves: add it after that.",
        ),
        "quarter stays": (
            waves(uv) * ([1, 1, -1, -1] * 2),
            "The quarter turn of the first cosine is still in the angle when that is doubled, so "
            "the second octave is half a turn off: add it for the cosine alone.",
        ),
        "one minus the sine": (
            waves(uv, quarter=0) * ([1, -1] * 4) + [0, 1] * 4,
            "One minus the sine is no cosine: a cosine is the sine of a quarter turn more.",
        ),
        "cosine without a sign": (
            waves(uv) * ([1, 0] * 4) + np.abs(waves(uv)) * ([0, 1] * 4),
            "The cosines, and only they, are never negative: a root, as of 1 - sine * sine, has no "
            "sign, and abs takes it away. A cosine is the sine of a quarter turn more.",
        ),
        "turns are no radians": (
            waves(2 * np.pi * uv),
            "The angle was multiplied by 2 pi, which sine_of_turns does itself.",
        ),
        **moved(waves(uv), features.array[:, FOURIER]),
        **not_written(expected, "Channels 5 to 12"),
        "axes exchanged": (waves(uv[:, ::-1]), "The waves of u and v are exchanged."),
        "one axis": (waves(uv[:, [0, 0]]), "Both halves are waves of u: the second belongs to v."),
        "goes on doubling": (
            np.hstack([waves(uv)[:, :4], waves(uv, factors=(4, 8))[:, 4:]]),
            "For v the doubling went on where u had stopped: begin each axis with one wave.",
        ),
        "one over the other": (
            np.hstack([waves(uv)[:, 4:], np.full((len(uv), 4), NOT_WRITTEN)]),
            "The waves of v are written over those of u, and channels 9 to 12 never: the first "
            "channel of v is four further than that of u.",
        ),
        "one over the other, then ones": (
            np.hstack([waves(uv)[:, 4:], np.ones((len(uv), 4))]),
            "The waves of v are written over those of u, and channels 9 to 12 hold ones: the "
            "channel has to go on from u to v, and must not begin at 5 again.",
        ),
        "channel stays": (
            np.ones_like(expected),
            "All are ones: is each wave written to the same channel, and the ones over the rest? "
            "Or do the ones begin at channel 5, over all waves? They begin at 13.",
        ),
        "sines before cosines": (
            waves(uv)[:, [0, 2, 1, 3, 4, 6, 5, 7]],
            "Of each axis both sines come first, then both cosines: it is sine and cosine of one "
            "wave, then sine and cosine of two.",
        ),
        "all sines first": (
            waves(uv)[:, [0, 2, 4, 6, 1, 3, 5, 7]],
            "All sines come first, then all cosines: each wave has its sine and then its cosine.",
        ),
        "octave by octave": (
            waves(uv)[:, [0, 1, 4, 5, 2, 3, 6, 7]],
            "The octaves are in the outer loop: all of u should come before all of v.",
        ),
        "radians": (
            waves(uv / (2 * np.pi), quarter=0.25),
            "The angle was taken in radians: one wave is one whole turn.",
        ),
        "cosine first": (
            waves(uv)[:, [1, 0, 3, 2, 5, 4, 7, 6]],
            "Sine and cosine are exchanged: the sine comes first.",
        ),
        "half a turn": (
            waves(uv, quarter=0.5),
            "A cosine starts a quarter of a turn earlier, 0.25, not half a turn.",
        ),
        "squared": (
            np.hstack([waves(uv)[:, [0, 1, 4, 5]], waves(uv**2)[:, [0, 1, 4, 5]]])[
                :, [0, 1, 4, 5, 2, 3, 6, 7]
            ],
            "The waves are squared from one octave to the next: double them.",
        ),
        "one channel early": (
            reference.encode(uv, grid)[:, 6:14],
            "Everything is one channel too early: the waves begin at channel 5.",
        ),
        "one after the other": (
            counted_by_one(uv),
            "The channel is counted up by 1 in each octave, and the sine stands where the last "
            "cosine stood: count up by 2.",
        ),
        "last one overwritten": (
            np.hstack([waves(uv)[:, :7], np.ones((len(uv), 1))]),
            "The ones begin at channel 13; here one stands in channel 12.",
        ),
        # Only where no mistake has a name.
        **channel_by_channel(
            features.array[:, FOURIER],
            expected,
            5,
            {**known_waves(uv), **known_cell_waves(uv, grid.shape[1::-1])},
        ),
    }
    name = "wave_channels"
    reason = f"{case.check.tolerance_reason}; {place_of_first(name, 5)}"
    case.expect(features.array[:, FOURIER], expected, name, THREADS, None, candidates, reason)


@check("float32")
def test_float32(case):
    check_features(case, *encoded(case, SMALL_BATCH, GRID_SHAPES[0]))


@check("whole_batch")
def test_whole_batch(case):
    check_features(case, *encoded(case, RAGGED_BATCH, (3, 9, 3)))
    encoded(case, MANY_BLOCKS, (3, 9, 3))
    batch = case.size(large=5003, small=300)
    check_features(case, *encoded(case, batch, (50, 30, 3), engine="large"))


def check_features(case, uv, grid, features):
    """All channels, the last ones first, since no other check looks at them."""
    ones = np.ones((len(uv), 3))
    constant = float(np.median(features.array[:, PADDING]))
    last_wave = waves(uv.astype(np.float64))[:, 7]
    candidates = {
        "last wave too late": (
            np.column_stack([last_wave, ones[:, :2]]),
            "Channel 13 holds the last wave, which belongs into channel 12.",
        ),
        "zeros": (0 * ones, "Channels 13 to 15 are zeros: with ones, their weights act as a bias."),
        **not_written(ones, "Channels 13 to 15, the ones,"),
        "another number": (
            np.full_like(ones, constant),
            f"Channels 13 to 15 hold {constant:.4g}, and should hold 1 (set, not added to).",
        ),
        **other_ones(features.array[:, PADDING], uv),
    }
    case.expect(
        features.array[:, PADDING],
        ones,
        "last_channels",
        THREADS,
        candidates=candidates,
        reason=f"these are ones; {place_of_first('last_channels', 13)}",
    )
    check_grid(case, uv, grid, features)
    check_sub_cell(case, uv, grid, features)
    check_waves(case, uv, grid, features)
    case.expect(features, reference.encode(uv, grid), "features", THREADS)


def place_of_first(name, channel):
    """Which channel a part of the features begins with: numbers in messages count from there."""
    return f"{name}[:, 0] is features[:, {channel}]"


def other_ones(got, uv):
    """A candidate in which some of the last channels hold another number, or u or v, instead."""
    held = [what_is_in(values, uv) for values in got.T]
    if not all(held) or set(held) == {"1"}:
        return {}
    wrong = []
    for what in dict.fromkeys(one for one in held if one != "1"):
        channels = [str(13 + place) for place, one in enumerate(held) if one == what]
        which = f"channel{'s' * (len(channels) > 1)} {' and '.join(channels)}"
        unwritten = what == f"{NOT_WRITTEN:.4g}"
        wrong.append(f"nothing was written to {which}" if unwritten else f"{what} is in {which}")
    sentence = f"Behind the waves, {'; '.join(wrong)}: 13, 14 and 15 should all be ones."
    return {"not all ones": (got.astype(np.float64), sentence)}


def what_is_in(values, uv):
    """The number that a channel holds for all samples, or "u" or "v"; "" if it is neither."""
    if not np.isfinite(values).all():
        return ""
    if (values == values[0]).all():
        return f"{values[0]:.4g}"
    return next((name for name, one in zip("uv", uv.T, strict=True) if (values == one).all()), "")


def centres_of_cells(number, height, width):
    """(number, 2): the centres of the first cells, row by row; of the last row beyond it."""
    row, column = np.divmod(np.arange(number), width)
    return np.stack([(column + 0.5) / width, (np.minimum(row, height - 1) + 0.5) / height], axis=1)


def explained(found):
    """What an index outside the grid, within the given lookup, says of its coordinates."""
    if found.kind == "out-of-bounds" and "in blend" in found.message:
        return "bilinear takes u and v from 0 to 1, and multiplies them with the grid's size itself"
    return ""


def encoded(case, batch, grid_shape, engine=None):
    case.explain = explained
    uv, grid = case.random((batch, 2)), case.random(grid_shape, -1, 1)
    features = case.output((batch, 16))
    if engine:
        case.run("launch_encode", uv, grid, features, engine=engine)
    else:
        counts = case.measure("launch_encode", uv, grid, features)
        case.require_many_threads(counts, features, THREADS)
    return uv, grid, features


def waves(uv, factors=(1, 2), quarter=0.25, quarters=None):
    """The eight Fourier channels; the arguments are what can be got wrong.

    quarters: what is added for a cosine in each octave; None for `quarter` in both.
    """
    columns = [
        np.sin(2 * np.pi * (factor * uv[:, axis] + shift))
        for axis in range(2)
        for factor, own in zip(factors, quarters or (quarter, quarter), strict=True)
        for shift in (0, own)
    ]
    return np.stack(columns, axis=1)


NUMBERS = {0: "no", 0.5: "half a", 1: "one", 2: "two", 3: "three", 4: "four", 8: "eight"}
SHIFTS = {0: "sine", 0.25: "cosine", 0.5: "negative sine", 0.75: "negative cosine"}


def known_waves(uv):
    """Waves of one coordinate, in words -> its values for all samples; those that belong first."""
    shifts = {**SHIFTS, **{n / 24: f"sine, {n}/24 of a turn early," for n in range(24) if n % 6}}
    return {
        f"the {name} of {word} wave{'s' * (number > 1)} of {'uv'[axis]}": np.sin(
            2 * np.pi * (number * uv[:, axis] + shift)
        )
        for number, word in sorted(NUMBERS.items(), key=lambda pair: pair[0] not in (1, 2))
        for shift, name in shifts.items()
        for axis in range(2)
    }


def known_cell_waves(uv, sizes):
    """The same of a position in a grid of which the size may be wrong."""
    found = {}
    lengths = "width", "height"
    for axis in range(2):
        position = uv[:, axis] * sizes[axis] - 0.5
        low = np.clip(np.floor(position), 0, sizes[axis] - 1)
        instead = {
            "low / cells, which is the same in all of a cell": low / sizes[axis],
            "(low + 0.5) / cells, which is the same in all of a cell": (low + 0.5) / sizes[axis],
            "low / (cells - 1), which is the same in all of a cell": low / (sizes[axis] - 1),
            "1 - the fraction": 1 - np.mod(position, 1),
            "the fraction / cells": np.mod(position, 1) / sizes[axis],
        }
        letter, cells = "uv"[axis], lengths[axis]
        given = {
            f"{letter} * {cells}": uv[:, axis] * sizes[axis],
            f"{letter} * {cells} - 0.5": position,
            f"{letter} * ({cells} - 1)": uv[:, axis] * (sizes[axis] - 1),
            f"2 * {letter} - 1": 2 * uv[:, axis] - 1,
        }
        instead |= {
            f"the fraction that neighbours({argument}, {cells}) gives": np.mod(
                coordinate * sizes[axis] - 0.5, 1
            )
            for argument, coordinate in given.items()
        }
        for (shift, name), (what, turns) in itertools.product(SHIFTS.items(), instead.items()):
            found[f"the {name} of {what}, along {'uv'[axis]}"] = np.sin(2 * np.pi * (turns + shift))
    for axis, of_axis, less in itertools.product(range(2), range(2), (0, 1, -1)):
        fraction = np.mod(uv[:, axis] * (sizes[of_axis] - less) - 0.5, 1)
        cells = {0: "", 1: ", in a grid of one cell less", -1: ", in a grid of one cell more"}[less]
        if of_axis != axis:
            cells = f", with the grid's {lengths[of_axis]} in place of its {lengths[axis]}" + cells
        for number, (shift, name) in itertools.product((1, 0.5, 2, 4), SHIFTS.items()):
            what = "the fraction" if number == 1 else f"{number} times the fraction"
            found[f"the {name} of {what} along {'uv'[axis]}{cells}"] = np.sin(
                2 * np.pi * (number * fraction + shift)
            )
    right = [f"the sine of the fraction along {letter}" for letter in "uv"]
    return {name: found[name] for name in right} | found


def channel_by_channel(got, expected, first, known):
    """A candidate in which each wrong channel is a known wave, or ones, or not written."""
    samples = len(got)
    known = {"ones": np.ones(samples), "nothing": np.full(samples, NOT_WRITTEN), **known}
    result, wrong = expected.copy(), []
    for channel in range(expected.shape[1]):
        if np.allclose(got[:, channel], expected[:, channel], rtol=0, atol=1e-4):
            continue
        here = like(got[:, channel], known)
        if here is None:
            return {}
        should = like(expected[:, channel], known)
        wrong.append(f"channel {first + channel} holds {here}, and should hold {should}")
        result[:, channel] = known[here]
    if not wrong:
        return {}
    more = f" (and {len(wrong) - 2} more)" if len(wrong) > 2 else ""
    told = in_runs(got, expected, first, known) or f"{'; '.join(wrong[:2])}{more}"
    return {"other waves": (result, f"{told}.")}


def in_runs(got, expected, first, known):
    """What wrong channels hold, if it is what belongs into others, or nothing but ones.

    "" if it takes many words, or if a channel holds something else.
    """
    plain = {"ones": np.ones(len(got)), "nothing": np.full(len(got), NOT_WRITTEN)}
    places = {channel: expected[:, channel] for channel in range(expected.shape[1])}
    runs = []  # [first channel, last channel, how much further the values belong; or words]
    for channel in places:
        belongs = like(got[:, channel], places)
        if belongs == channel:
            continue
        holds = like(got[:, channel], plain) if belongs is None else belongs - channel
        if holds is None:
            return ""
        if runs and runs[-1][1:] == [channel - 1, holds]:
            runs[-1][1] = channel
        else:
            runs.append([channel, channel, holds])
    several = any(end > begin and holds not in plain for begin, end, holds in runs)
    if not several or len(runs) > MOST_RUNS:
        return ""
    told = [told_run(first + begin, first + end, holds) for begin, end, holds in runs]
    stored = dict(enumerate(got.T))
    lost = [like(wanted, known) for wanted in expected.T if like(wanted, stored) is None]
    if lost:
        more = f" (and {len(lost) - 1} more)" if len(lost) > 1 else ""
        told.append(f"no channel holds {lost[0]}{more}")
    return "; ".join(told)


def told_run(begin, end, holds):
    one = begin == end
    here = f"channel {begin} holds" if one else f"channels {begin} to {end} hold"
    if isinstance(holds, str):
        return f"{here} {holds}"
    there = f"channel {begin + holds}" if one else f"channels {begin + holds} to {end + holds}"
    return f"{here} what belongs into {there}"


def like(values, known):
    """The name of these values; None if they are not known."""
    fits = (np.allclose(values, other, rtol=0, atol=1e-4) for other in known.values())
    return next((name for name, fit in zip(known, fits, strict=True) if fit), None)


def moved(expected, got):
    """The eight channels if they begin one to three places too early or too late."""
    found = {}
    for places in (-3, -2, -1, 1, 2, 3):
        result = got.astype(np.float64)
        if places > 0:
            result[:, places:] = expected[:, :-places]
        else:
            result[:, :places] = expected[:, -places:]
        begin = 5 + places
        found[f"begin at {begin}"] = result, f"The waves begin at channel {begin}, and should at 5."
    return found


def not_written(expected, names):
    return {"not written": (np.full(expected.shape, NOT_WRITTEN), f"{names} are never written.")}


def counted_by_one(uv):
    """The eight channels if each octave begins one further, and ones fill the rest."""
    result = np.ones((len(uv), 8))
    channel = 0
    for axis in range(2):
        for factor in (1, 2):
            for shift in (0, 0.25):
                wave = np.sin(2 * np.pi * (factor * uv[:, axis] + shift))
                result[:, channel + (shift > 0)] = wave
            channel += 1
    result[:, channel] = 1  # the ones begin where the channel stands at last
    return result


def nearest(grid, uv):
    height, width, _ = grid.shape
    rows = np.minimum((uv[:, 1] * height).astype(int), height - 1)
    columns = np.minimum((uv[:, 0] * width).astype(int), width - 1)
    return grid[rows, columns]
