"""Checks of lesson 2. No size is a multiple of another, and no picture is square."""

import ast
import itertools
import operator
from functools import partial

import numpy as np

from lessons import reference
from lessons.grading.advice.blends import other_blends, other_pixels_beyond
from lessons.grading.checks.case import check

THREADS = ("grid", 2, (16, 16))
MANY = 530  # pixels: 34 blocks
CORNERS = "top left", "top right", "bottom left", "bottom right"


def explained(found):
    """What a refusal within `blend` says of the indices that it is given."""
    if found.kind in ("compile", "unsupported") and "must be a whole number" in found.message:
        return (
            "the indices are low and high, the first and the second number that neighbours "
            "returns: low = int32(math.floor(position)), since math.floor gives a number with a "
            "point in a kernel"
        )
    if found.kind == "race" and "of blend" in found.message:
        return "upsample reads small alone: what picture is bilinear called with?"
    if found.kind == "out-of-bounds" and "in blend" in found.message:
        return (
            "bilinear takes u and v from 0 to 1: u is made of x and the width, v of y and the "
            "height; and neighbours keeps low and high from 0 to size - 1"
        )
    return ""


def explained_means(lines, found):
    """What an index outside the image, within `area_average`, says of what it is given.

    lines: of the student's file.
    """
    if found.kind != "out-of-bounds" or "in area_average" not in found.message:
        return ""
    cells = "how many pixels small has in a row and in a column, and not how large a cell is"
    given = made_of_the_image("\n".join(lines))
    if given:
        return f"area_average gets {given}, made of the size of the image: these should be {cells}"
    return (
        f"columns and rows of area_average are {cells}: is it called with these? Or does it go on "
        "behind the end of its cell?"
    )


def made_of_the_image(text):
    """The numbers of columns and rows for area_average, if both are made of the image; or ""."""
    kernels = [
        node
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef) and node.name == "downsample" and node.args.args
    ]
    calls = [
        node
        for kernel in kernels
        for node in ast.walk(kernel)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "area_average"
    ]
    if len(calls) != 1 or len(calls[0].args) < 5 or len(kernels) != 1:
        return ""
    of_image = {kernels[0].args.args[0].arg}
    given = [node for node in ast.walk(kernels[0]) if isinstance(node, ast.Assign)]
    for node in sorted(given, key=lambda one: one.lineno):
        names = {name for target in node.targets for name in names_of(target)}
        of_image = of_image | names if names_of(node.value) & of_image else of_image - names
    both = calls[0].args[3:5]
    if not all(names_of(one) & of_image for one in both):
        return ""
    return " and ".join(f"`{ast.unparse(one)}`" for one in both)


def names_of(node):
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


@check("between_pixels")
def test_between_pixels(case):
    for size in (7, 4, 1, 50):
        between_pixels_of(case, size)
    weights_of_corners(case)


def between_pixels_of(case, size):
    coordinates = np.concatenate([[0.0, 0.12, 0.3, 0.5, 0.75, 0.85, 0.999], case.random(4)]).astype(
        np.float32
    )
    got = np.array([case.call("neighbours", u, size) for u in coordinates], np.float64)
    right = between(coordinates, size)
    candidates = {
        "half a pixel": (
            between(coordinates, size, half=0.0),
            "Everything is half a pixel off: the centre of pixel 0 is at 0.5 / size, not at 0.",
        ),
        "not the floor": (
            between(coordinates, size, floor=np.trunc),
            "Left of the first centre the fraction is negative: it is counted from an index that "
            "was cut off at 0, by int() or by max(). Take math.floor, from that the fraction, and "
            "clamp afterwards.",
        ),
        "nearest centre": (
            between(coordinates, size, floor=np.rint),
            "low is the pixel with the nearest centre, so that the fraction can be negative: it "
            "should be the one whose centre lies to the left, math.floor of coordinate * size - "
            "0.5.",
        ),
        "edges not clamped": (
            between(coordinates, size, clamp=False),
            "Beyond the outermost centres the neighbours have to stay inside: 0 to size - 1.",
        ),
        "low not clamped": (
            np.column_stack([between(coordinates, size, clamp=False)[:, 0], right[:, 1:]]),
            "Left of the first centre, low is -1: take max(low, 0).",
        ),
        "high not clamped": (
            np.column_stack(
                [right[:, 0], between(coordinates, size, clamp=False)[:, 1], right[:, 2]]
            ),
            "Right of the last centre, high is size: take min(high, size - 1).",
        ),
        "high clamped to size": (
            np.column_stack(
                [
                    right[:, 0],
                    np.minimum(between(coordinates, size, clamp=False)[:, 1], size),
                    right[:, 2],
                ]
            ),
            "The last pixel has the index size - 1: high must not be size.",
        ),
        "fraction after clamping": (
            np.column_stack(
                [
                    right[:, 0],
                    np.minimum(right[:, 0] + 1, size - 1),
                    coordinates.astype(np.float64) * size - 0.5 - right[:, 0],
                ]
            ),
            "The fraction is taken from the clamped index: take it from the floor, before.",
        ),
        "fraction reversed": (
            np.column_stack([right[:, :2], 1 - right[:, 2]]),
            "The fraction is counted from high: it should be 0 at the centre of low.",
        ),
        "low and high exchanged": (
            right[:, [1, 0, 2]],
            "low and high are exchanged: low comes first.",
        ),
        "size minus one": (
            between(coordinates, size - 1, half=0.0, last=size - 1),
            "The position is coordinate * size - 0.5: size - 1 would put the first and the last "
            "centre at the picture's edges.",
        ),
        "half added": (
            between(coordinates, size, half=-0.5),
            "Half a pixel is added: subtract it, since the centre of pixel 0 is at 0.5 / size.",
        ),
        **pushed_inside(coordinates.astype(np.float64), size),
        **beyond_the_edges(coordinates.astype(np.float64), size),
        **other_neighbours(got, coordinates, size),
    }
    case.expect(got, right, "neighbours", candidates=candidates)


def pushed_inside(coordinates, size):
    """Candidates in which low and high stay two pixels beside each other, also at an edge."""
    position = coordinates * size - 0.5
    low = np.clip(np.floor(position), 0, max(size - 2, 0))
    high = np.minimum(low + 1, size - 1)
    both = (
        "At an edge low and high are kept two different pixels, pushed into the picture as a pair: "
        "beyond the first and the last centre both are the same pixel, max(low, 0) and "
        "min(high, size - 1), each by itself."
    )
    fractions = {
        "": (position - np.floor(position), ""),
        ", fraction from there": (
            position - low,
            " And the fraction is counted from the pushed low, below 0 or above 1: the two pixels "
            "are continued as a line. Count it from math.floor.",
        ),
        ", fraction kept from 0 to 1": (
            np.clip(position - low, 0, 1),
            " The fraction is then kept from 0 to 1: it is counted from math.floor, with no limit.",
        ),
    }
    return {
        f"pair pushed inside{how}": (np.column_stack([low, high, fraction]), both + more)
        for how, (fraction, more) in fractions.items()
    }


def beyond_the_edges(coordinates, size):
    """Candidates in which another pixel than the last stands in for one beyond the edge."""
    position = coordinates * size - 0.5
    low = np.floor(position)
    outside = {
        "wrapped around": (
            lambda index: index % size,
            "the pixel of the opposite edge is taken (% wraps around)",
        ),
        "mirrored": (
            lambda index: np.where(index < 0, -index, np.minimum(index, 2 * (size - 1) - index)),
            "the picture is mirrored: the pixel beside the last one is taken",
        ),
    }
    return {
        f"beyond an edge {how}": (
            np.column_stack([index(low), index(low + 1), position - low]),
            f"Beyond an edge {what}: the pixel at the edge itself stands in there, max(low, 0) and "
            "min(high, size - 1).",
        )
        for how, (index, what) in outside.items()
        if size > 1
    }


# What each part of neighbours can be made of, the right one first: words -> how.
POSITIONS = {
    "coordinate * size - 0.5": lambda u, size: u * size - 0.5,
    "coordinate * size": lambda u, size: u * size,
    "coordinate * size + 0.5": lambda u, size: u * size + 0.5,
    "coordinate * (size - 1)": lambda u, size: u * (size - 1),
    "coordinate * size - 1": lambda u, size: u * size - 1,
    "(coordinate - 0.5) * size": lambda u, size: (u - 0.5) * size,
    "coordinate / size - 0.5": lambda u, size: u / size - 0.5,
    "kept between 0 and size - 1": lambda u, size: np.clip(u * size - 0.5, 0, size - 1),
    "kept at 0 or above": lambda u, size: np.maximum(u * size - 0.5, 0),
}
ROUNDED_DOWN = ("math.floor",) * 2
WHOLE = {"math.floor": np.floor, "int()": np.trunc, "round()": np.rint, "math.ceil": np.ceil}
LOWS = {
    "clamped to 0": lambda whole, size: np.maximum(whole, 0),
    "not clamped": lambda whole, size: whole,
    "clamped to 1": lambda whole, size: np.maximum(whole, 1),
    "its absolute value": lambda whole, size: np.abs(whole),
}
HIGHS = {
    "one more than the floor itself, then clamped": lambda whole, low, size: np.minimum(
        whole + 1, size - 1
    ),
    "one more than the floor, not clamped": lambda whole, low, size: whole + 1,
    "clamped to size": lambda whole, low, size: np.minimum(whole + 1, size),
    "one more than the clamped low": lambda whole, low, size: np.minimum(low + 1, size - 1),
    "one more than the clamped low, and not clamped": lambda whole, low, size: low + 1,
    "low itself": lambda whole, low, size: low,
    "the floor itself": lambda whole, low, size: np.minimum(whole, size - 1),
}
FRACTIONS = {
    "position - floor": lambda position, whole, low: position - whole,
    "position - int(position)": lambda position, whole, low: position - np.trunc(position),
    "abs(position - int(position))": lambda position, whole, low: np.abs(
        position - np.trunc(position)
    ),
    "abs(position) - floor(abs(position))": lambda position, whole, low: np.mod(
        np.abs(position), 1
    ),
    "position - the clamped low": lambda position, whole, low: position - low,
    "floor - position": lambda position, whole, low: whole - position,
    "1 - (position - floor)": lambda position, whole, low: 1 - (position - whole),
    "the position": lambda position, whole, low: position,
    "smoothed, f * f * (3 - 2 f)": lambda position, whole, low: (
        (position - whole) ** 2 * (3 - 2 * (position - whole))
    ),
    "its square": lambda position, whole, low: (position - whole) ** 2,
    "rounded to 0 or 1": lambda position, whole, low: np.rint(position - whole),
    "always a half": lambda position, whole, low: 0.5 + 0 * whole,
    "position - floor, at least 0": lambda position, whole, low: np.maximum(position - low, 0),
}


def other_neighbours(got, coordinates, size):
    """A candidate with one or two parts made otherwise, if there is one that fits."""
    parts = {
        "the position": POSITIONS, "the whole number": WHOLE, "low": LOWS, "high": HIGHS,
        "the fraction": FRACTIONS,
    }  # fmt: skip
    right = [next(iter(ways)) for ways in parts.values()]
    names = "low", "high", "fraction"
    best = neighbours_made_of(right, coordinates.astype(np.float64), size)
    for order in itertools.permutations(range(3)):
        if got.shape == best.shape and np.allclose(got, best[:, order], rtol=0, atol=1e-5):
            returned = ", ".join(names[i] for i in order)
            return {"returned in another order": (
                best[:, order], f"It returns ({returned}), and should return (low, high, fraction)."
            )}  # fmt: skip
    choices = itertools.product(*parts.values())
    for chosen in sorted(choices, key=lambda one: sum(map(operator.ne, one, right))):
        wrong = [
            f"{part} is {way}, and should be {best}"
            for part, way, best in zip(parts, chosen, right, strict=True)
            if way != best
        ]
        if not 1 <= len(wrong) <= 2:
            continue
        result = neighbours_made_of(chosen, coordinates.astype(np.float64), size)
        if got.shape == result.shape and np.allclose(got, result, rtol=0, atol=1e-5):
            keeps = chosen[0].startswith("kept")
            more = (
                " What is kept inside are low and high, each by itself; the position, and the "
                "fraction of it, are not."
            )
            return {"made of something else": (result, f"{'; '.join(wrong)}.{more * keeps}")}
    return of_two_positions(got, coordinates, size)


def of_two_positions(got, coordinates, size):
    """A candidate in which the fraction is counted from another place than low and high."""
    rest = [next(iter(ways)) for ways in (LOWS, HIGHS, FRACTIONS)]
    ways_to_round = sorted(itertools.product(WHOLE, repeat=2), key=lambda two: two != ROUNDED_DOWN)
    for rounded, positions in itertools.product(
        ways_to_round, itertools.product(POSITIONS, repeat=2)
    ):
        indices, fraction = zip(positions, rounded, strict=True)
        result = neighbours_made_of((*indices, *rest), coordinates.astype(np.float64), size)
        of_fraction = neighbours_made_of((*fraction, *rest), coordinates.astype(np.float64), size)
        result[:, 2] = of_fraction[:, 2]
        if got.shape == result.shape and np.allclose(got, result, rtol=0, atol=1e-5):
            sentence = (
                f"low and high are made with {indices[1]} of {indices[0]}, the fraction with "
                f"{fraction[1]} of {fraction[0]}: all three belong to math.floor of the same "
                "position, coordinate * size - 0.5."
            )
            return {"of two positions": (result, sentence)}
    return {}


def neighbours_made_of(chosen, coordinates, size):
    position, whole, low, high, fraction = chosen
    at = POSITIONS[position](coordinates, size)
    floor = WHOLE[whole](at)
    first = LOWS[low](floor, size)
    columns = first, HIGHS[high](floor, first, size), FRACTIONS[fraction](at, floor, first)
    return np.stack(columns, axis=1)


def weights_of_corners(case):
    fractions = case.random((5, 2))
    got = np.array([case.call("corner_weights", x, y) for x, y in fractions])
    x, y = fractions.astype(np.float64).T
    corners = np.stack([(1 - x) * (1 - y), x * (1 - y), (1 - x) * y, x * y], axis=1)
    candidates = {
        "axes exchanged": (
            corners[:, [0, 2, 1, 3]],
            "x and y are exchanged: the second weight is that of the corner at the top right.",
        ),
        "weights reversed": (
            corners[:, ::-1],
            "The weights are in the opposite order: near the left, the left corners should count "
            "most.",
        ),
        "all alike": (np.full_like(corners, 0.25), "All corners count the same."),
        "sums, not products": (
            np.stack([1 - x + 1 - y, x + 1 - y, 1 - x + y, x + y], axis=1) / 4,
            "A weight is a product: how near in x, times how near in y.",
        ),
    }
    for order in itertools.permutations(range(4)):
        candidates.setdefault(
            f"order {order}",
            (
                corners[:, order],
                f"The weights are those of {', '.join(CORNERS[i] for i in order)}: they should be "
                f"in the order {', '.join(CORNERS)}.",
            ),
        )
    candidates |= other_weights(got, corners, {"x": x, "1 - x": 1 - x, "y": y, "1 - y": 1 - y})
    candidates |= no_products(got, corners, fractions[0])
    case.expect(got, corners, "corner_weights", candidates=candidates)


def no_products(got, corners, first):
    """What is wrong with four weights that no other candidate knows, if that can be said.

    first: the two fractions of the first four.
    """
    if got.shape != corners.shape or not np.isfinite(got).all():
        return {}
    sums = got.sum(axis=1)
    if not np.allclose(sums, 1, rtol=0, atol=1e-4):
        sentence = (
            f"For fractions of {first[0]:.4g} and {first[1]:.4g} the four weights sum to "
            f"{sums[0]:.4g}: they should always sum to 1.{wrong_corners(got, corners)}"
        )
        return {"sum is not 1": (got.astype(np.float64), sentence)}
    if not np.allclose(got[:, 0] * got[:, 3], got[:, 1] * got[:, 2], rtol=0, atol=1e-5):
        sentence = (
            "The four weights sum to 1, but they are no products: each is how near the corner is "
            "in x, times how near it is in y."
        )
        return {"no products": (got.astype(np.float64), sentence)}
    x, y = got[0, 1] + got[0, 3], got[0, 2] + got[0, 3]
    sentence = (
        f"These are products, but of other fractions: for {first[0]:.4g} and {first[1]:.4g} they "
        f"are the weights of {x:.4g} and {y:.4g}. Take both fractions as they are."
    )
    return {"other fractions": (got.astype(np.float64), sentence)}


def wrong_corners(got, corners):
    """Which weights are to blame, where not all of them are wrong."""
    right = np.isclose(got, corners, rtol=0, atol=1e-5).all(axis=0)
    if not right.any():
        return ""
    wrong = [name for name, one in zip(CORNERS, right, strict=True) if not one]
    if len(wrong) == 1:
        return f" The weight of the corner at the {wrong[0]} is wrong, the other three are right."
    return f" The weights of the corners at the {' and '.join(wrong)} are wrong."


def other_weights(got, corners, factors):
    """A candidate in which each wrong weight is a product or a sum of two other factors."""
    if got.shape != corners.shape:
        return {}
    pairs = list(itertools.combinations_with_replacement(factors, 2))
    known = {f"({one}) * ({other})": factors[one] * factors[other] for one, other in pairs}
    known |= {f"({one}) + ({other})": factors[one] + factors[other] for one, other in pairs}
    known |= factors
    result, wrong = corners.copy(), []
    for number, corner in enumerate(CORNERS):
        if np.allclose(got[:, number], corners[:, number], rtol=0, atol=1e-5):
            continue
        fits = (name for name, values in known.items() if np.allclose(got[:, number], values))
        here = next(fits, None)
        if here is None:
            return {}
        should = next(n for n, values in known.items() if np.allclose(corners[:, number], values))
        result[:, number] = known[here]
        wrong.append(f"the weight of the corner at the {corner} is {here}, and should be {should}")
    return {"other factors": (result, f"{'; '.join(wrong)}.")} if wrong else {}


@check("upsample")
def test_upsample(case):
    case.explain = explained
    for small_shape, height, width in (((5, 7, 3), 20, 33), ((4, 3, 3), 9, 14), ((1, 1, 3), 3, 5)):
        small, large = case.photo(small_shape), case.output((height, width, 3))
        counts = case.measure("launch_over_pixels", case.student("upsample"), small, large)
        expected = reference.bilinear_upsample(small, width, height)
        centres = reference.pixel_centres(width, height)
        candidates = {
            "half a pixel": (
                reference.bilinear(small, centres - [0.5 / width, 0.5 / height]).reshape(
                    expected.shape
                ),
                "The picture is half a pixel off: ask at the centre of a pixel, not at its corner.",
            ),
            "nearest pixel": (
                nearest(small, centres).reshape(expected.shape),
                "Each pixel is a copy of the nearest small one; it should be a blend of four.",
            ),
            "axes exchanged": (
                reference.bilinear(small, centres[:, ::-1]).reshape(expected.shape),
                "u and v are exchanged: u goes to the right, v down.",
            ),
            **{
                f"numbered {name}": (
                    reference.bilinear(small, places).reshape(expected.shape),
                    f"The number of a pixel is y * width + x, and not {name}: a row has `width` "
                    "pixels, and y counts the rows.",
                )
                for name, places in counted_otherwise(height, width).items()
            },
            "centres of the small picture": (
                reference.bilinear(
                    small, places_of(np.arange(height * width), *small.shape[:2])
                ).reshape(expected.shape),
                "pixel_centre gets the size of small: these are pixels of large.",
            ),
            **{
                f"at {name}": (
                    reference.bilinear(small, places).reshape(expected.shape),
                    f"The colour is asked for at u = {name}, and v in the same way: the centre of "
                    "pixel x is at (x + 0.5) / width.",
                )
                for name, places in other_centres(height, width).items()
            },
            **same_channel(expected),
        }
        known = partial(own_lookups, candidates, large.array, small)
        case.expect(large, expected, "large", THREADS, candidates=known)
        case.require_many_threads(counts, large)
    share_thin_pictures(case, "upsample", (2, 3, 3))


def own_lookups(known, got, small):
    """The known candidates, and one of a lookup that the student has written, if one fits."""
    height, width, _ = got.shape
    y, x = np.divmod(np.arange(height * width), width)
    pixel, large, size = (
        np.stack([x, y], 1),
        np.array([width, height]),
        np.array(small.shape[1::-1]),
    )
    positions = {
        "(x + 0.5) * small_width / width - 0.5": (pixel + 0.5) * size / large - 0.5,
        "x * small_width / width": pixel * size / large,
        "(x + 0.5) * small_width / width": (pixel + 0.5) * size / large,
        "x * small_width / width - 0.5": pixel * size / large - 0.5,
        "(x + 0.5) * (small_width - 1) / width": (pixel + 0.5) * (size - 1) / large,
        "x * (small_width - 1) / width": pixel * (size - 1) / large,
        "x * (small_width - 1) / (width - 1)": pixel * (size - 1) / np.maximum(large - 1, 1),
    }
    colours = got.reshape(-1, 3)
    found = other_pixels_beyond(colours, small, next(iter(positions.values())), "pixel")
    found = found or other_blends(colours, small, positions)
    return known | {code: (one.reshape(got.shape), say) for code, (one, say) in found.items()}


@check("overlap")
def test_overlap(case):
    for cells, texels in ((5, 14), (3, 4), (4, 4)):
        pairs = [
            (c, t) for c in range(cells) for t in range(texels) if length(c, cells, t, texels) > 0
        ]
        got = np.array([case.call("overlap", c, cells, t, texels) for c, t in pairs])
        expected = np.array([length(c, cells, t, texels) for c, t in pairs])
        candidates = {
            "other unit": (
                expected * cells,
                "The length is in units of 1 / cells of a pixel: divide by the number of cells.",
            ),
            "whole pixels": (
                np.ones_like(expected),
                "A pixel that the cell covers in part counts as a whole one.",
            ),
            "divided by texels": (
                expected * cells / texels,
                "Divide by cells, not by texels: 1 / cells of a pixel is the unit.",
            ),
            "ends at whole texels": (
                np.array(
                    [
                        min((c + 1) * texels // cells, t + 1) - max(c * texels // cells, t)
                        for c, t in pairs
                    ]
                ),
                "The ends of the cell are rounded down to whole texels: compare them in pieces of "
                "1 / cells of a texel, and divide at the end.",
            ),
            "whole division": (
                np.floor(expected + 1e-9),
                "What is behind the point is dropped, by // or by int: it is "
                "float32(end - begin) / float32(cells). Or does a condition let only those pixels "
                "count that lie in the cell as a whole?",
            ),
            **all_or_nothing(pairs, cells, texels),
            "outer ends": (
                np.array([outer_length(c, cells, t, texels) for c, t in pairs]),
                "What both cover begins at the later beginning, max, and ends at the earlier end, "
                "min.",
            ),
            "the whole cell": (
                np.full_like(expected, texels / cells),
                "This is the length of the whole cell: what it has in common with the texel begins "
                "at the later beginning, and ends at the earlier end.",
            ),
            "begin and end exchanged": (-expected, "The length is negative: it is end - begin."),
            "the rest": (
                np.where(expected < 1, 1 - expected, expected),
                "Where the cell covers a part of the pixel, this is the other part: the one that "
                "sticks out of the cell.",
            ),
            **empty_at_an_edge(pairs, cells, texels, expected),
            **other_parentheses(pairs, cells, texels),
            **cut_elsewhere(pairs, cells, texels),
            "units exchanged": (
                np.array([exchanged_units(c, cells, t, texels) for c, t in pairs]),
                "The units are exchanged: the cell goes from cell * texels, the texel from "
                "texel * cells.",
            ),
        }
        case.expect(got, expected, "overlap", candidates=candidates)


@check("downsample")
def test_downsample(case):
    case.explain = partial(explained_means, case.submission.lines)
    # Of the last two a cell touches 20 pixels in a row, more than a few numbers would be kept for.
    sizes = (
        ((19, 23, 3), 7, 9), ((8, 40, 3), 4, 20), ((33, 20, 3), 18, 17), ((4, 59, 3), 3, 3),
        ((59, 4, 3), 3, 3),
    )  # fmt: skip
    for shape, height, width in sizes:
        image, small = case.photo(shape), case.output((height, width, 3))
        counts = case.measure("launch_over_pixels", case.student("downsample"), image, small)
        expected = reference.area_downsample(image, width, height)
        known = partial(known_means, small.array, image, expected, width, height)
        case.expect(small, expected, "small", THREADS, candidates=known)
        case.require_many_threads(counts, small)
    share_thin_pictures(case, "downsample", (4, 4, 3))


@check("only_its_cell")
def test_only_its_cell(case):
    case.explain = partial(explained_means, case.submission.lines)
    image, small = case.photo((36, 51, 3)), case.output((12, 17, 3))
    counts = case.measure("launch_over_pixels", case.student("downsample"), image, small)
    case.expect(small, reference.area_downsample(image, 17, 12), "small", THREADS)
    reads = counts.of(image).reads / image.size
    case.budget(
        "reads of each number of the image",
        yours=reads,
        ours=1,  # each small pixel covers 3 x 3 large ones, and no other covers these
        allowed=4,
        diagnosis="read again and again",
        sentence=f"each number of the image is read {reads:.0f} times{who_reads(reads, 17, 12)}",
        line=counts.busiest_line("reads", image),
    )


@check("float32")
def test_float32(case):
    case.explain = explained
    image, small, large = case.photo((9, 8, 3)), case.output((4, 5, 3)), case.output((7, 9, 3))
    case.run("launch_over_pixels", case.student("downsample"), image, small)
    case.expect(small, reference.area_downsample(image, 5, 4), "small", THREADS)
    case.run("launch_over_pixels", case.student("upsample"), image, large)
    case.expect(large, reference.bilinear_upsample(image, 9, 7), "large", THREADS)


@check("baseline")
def test_baseline(case):
    image = case.photo(case.size(large=(137, 203, 3), small=(33, 41, 3)))
    height, width = case.size(large=(37, 51), small=(9, 13))
    small, large = case.output((height, width, 3)), case.output(image.shape)
    case.run("launch_over_pixels", case.student("downsample"), image, small, engine="large")
    case.expect(small, reference.area_downsample(image, width, height), "small", THREADS)
    source = small.array.copy()
    case.run("launch_over_pixels", case.student("upsample"), source, large, engine="large")
    expected = reference.bilinear_upsample(source, image.shape[1], image.shape[0])
    case.expect(large, expected, "large", THREADS)


def who_reads(reads, columns, rows):
    """Who reads a number of the image so often, if that tells it, and what should be read."""
    whole = {
        columns * rows: "by each thread of small, so each goes through the whole image",
        rows: "by all threads of a column of small, so each goes through whole columns",
        columns: "by all threads of a row of small, so each goes through whole rows",
    }
    known = next((words for times, words in whole.items() if abs(reads - times) < 0.01), "")
    if known:
        return f", {known}: a thread has to look only at the pixels that its cell touches."
    return (
        ". Does a thread look at pixels that its cell does not touch, or at each of its own again "
        "and again? One thread needs each number of its cell once, and the others need none."
    )


def share_thin_pictures(case, kernel, source):
    """Results of so many blocks that it shows if each does again what the blocks after it do."""
    for shape in ((3, MANY, 3), (MANY, 3, 3)):
        image, result = case.photo(source), case.output(shape)
        counts = case.measure("launch_over_pixels", case.student(kernel), image, result)
        case.require_many_threads(counts, result, THREADS)


# ---------------------------------------------------------------- right, and wrong in known ways


def between(coordinates, size, half=0.5, clamp=True, floor=np.floor, last=None):
    position = coordinates.astype(np.float64) * size - half
    low = whole = floor(position)
    high = low + 1
    if clamp:
        last = size - 1 if last is None else last
        low, high = np.maximum(low, 0), np.minimum(high, last)
    return np.stack([low, high, position - whole], axis=1)


def length(cell, cells, texel, texels):
    begin = max(cell / cells, texel / texels)
    end = min((cell + 1) / cells, (texel + 1) / texels)
    return (end - begin) * texels if end - begin > 1e-9 else 0.0


def outer_length(cell, cells, texel, texels):
    begin = min(cell / cells, texel / texels)
    end = max((cell + 1) / cells, (texel + 1) / texels)
    return (end - begin) * texels


def empty_at_an_edge(pairs, cells, texels, expected):
    """Pixels that the cell covers whole, up to their edge, and that are taken for empty."""
    cell, texel = np.array(pairs).T
    meets = {
        "ends where the cell ends": (cell + 1) * texels == (texel + 1) * cells,
        "begins where the cell begins": cell * texels == texel * cells,
    }
    whole = np.isclose(expected, 1)
    return {
        f"empty where it {where}": (
            np.where(here & whole, 0, expected),
            f"A pixel that {where} counts 0, and should count 1: the remainder % is 0 there, and "
            "the cell covers all of it.",
        )
        for where, here in meets.items()
    }


def all_or_nothing(pairs, cells, texels):
    """Pixels that count 1 or 0, by one point of theirs or by what is more."""
    cell, texel = np.array(pairs).T
    points = {
        "centre": (1, ", that is, if more than half of it does", "is the length rounded"),
        "beginning": (0, "", "are the ends of the cell rounded up"),
    }
    found = {}
    for which, (halves, more, question) in points.items():
        place, begin = (2 * texel + halves) * cells, 2 * cell * texels
        end = begin + 2 * texels
        for edges, inside in (
            ("", (begin <= place) & (place < end)),
            (", edges too", (begin <= place) & (place <= end)),
            (", no edges", (begin < place) & (place < end)),
        ):
            found[f"by its {which}{edges}"] = (
                inside.astype(float),
                f"A pixel counts 1 if its {which} lies in the cell{more}, and else 0: is that what "
                f"a condition asks for, or {question}? It should count by the length that lies in "
                "the cell, from the later beginning to the earlier end.",
            )
    return found


def other_parentheses(pairs, cells, texels):
    """What it means if the parentheses around `+ 1` are forgotten in one end, or in both."""
    found = {}
    for cell_too, texel_too in ((True, False), (False, True), (True, True)):
        lengths = [
            min(
                cell + texels if cell_too else (cell + 1) * texels,
                texel + cells if texel_too else (texel + 1) * cells,
            )
            - max(cell * texels, texel * cells)
            for cell, texel in pairs
        ]
        names = ["(cell + 1) * texels"] * cell_too + ["(texel + 1) * cells"] * texel_too
        found[f"parentheses of {' and '.join(names)}"] = (
            np.array(lengths) / cells,
            f"Parentheses are missing: it is {' and '.join(names)}; * comes before +.",
        )
    return found


def cut_elsewhere(pairs, cells, texels):
    """An end that is that of the cell alone, or of the texel alone; or such ends in both places."""
    cell, texel = np.array(pairs).T
    begins = {"both": None, "cell": cell * texels, "texel": texel * cells}
    ends = {"both": None, "cell": (cell + 1) * texels, "texel": (texel + 1) * cells}
    begins["both"] = np.maximum(begins["cell"], begins["texel"])
    ends["both"] = np.minimum(ends["cell"], ends["texel"])
    found = {}
    for (of_begin, begin), (of_end, end) in itertools.product(begins.items(), ends.items()):
        words = [
            f"it {verb} where the {which} {verb}, {where}"
            for verb, which, where in (
                ("begins", of_begin, "and not at the later beginning of both, max"),
                ("ends", of_end, "and not at the earlier end of both, min"),
            )
            if which != "both"
        ]
        if words:
            found[f"from {of_begin} to {of_end}"] = (
                (end - begin) / cells,
                f"What cell and texel have in common is cut otherwise: {'; '.join(words)}.",
            )
    return found


def exchanged_units(cell, cells, texel, texels):
    begin = max(cell * cells, texel * texels)
    return (min((cell + 1) * cells, (texel + 1) * texels) - begin) / cells


def same_channel(expected):
    """The results of writing one channel to all three."""
    running = {
        "channels summed up": (
            np.cumsum(expected, axis=2),
            "Each channel holds the sum of the channels up to it: begin each one at zero.",
        )
    }
    return running | {
        f"channel {channel} everywhere": (
            np.repeat(expected[:, :, [channel]], 3, axis=2),
            f"All three channels hold channel {channel}.",
        )
        for channel in range(3)
    }


def counted_otherwise(height, width):
    """How else a pixel may be numbered -> the centres that pixel_centre gives for that."""
    y, x = np.divmod(np.arange(height * width), width)
    numbers = {
        "y * height + x": y * height + x,
        "x * height + y": x * height + y,
        "x * width + y": x * width + y,
        "x * y": x * y,
        "x + y": x + y,
    }
    return {name: places_of(number, height, width) for name, number in numbers.items()}


def other_centres(height, width):
    """Where else the centres of pixels may be put: in words, for u -> all of them."""
    y, x = np.divmod(np.arange(height * width), width)
    found = {}
    for added, less in itertools.product((0, 0.5, 1), (-1, 0, 1)):
        if (added, less) == (0.5, 0):
            continue
        above = f"(x + {added})" if added else "x"
        below = {-1: "(width + 1)", 0: "width", 1: "(width - 1)"}[less]
        u, v = (x + added) / max(1, width - less), (y + added) / max(1, height - less)
        found[f"{above} / {below}"] = np.stack([u, v], axis=1)
    return found


def places_of(number, height, width):
    row = np.minimum(number // width, height - 1)
    return np.stack([(number % width + 0.5) / width, (row + 0.5) / height], axis=1)


def known_means(got, image, expected, width, height):
    """The candidates for a picture made smaller."""
    return {
        "whole pixels": (
            box_mean(image, width, height, whole=True),
            "Pixels at a cell's edge count as if they lay inside: weigh them by the overlap.",
        ),
        "last pixels missing": (
            box_mean(image, width, height, whole=False),
            "The last row and column of each cell are left out, and the first count in full: they "
            "belong to it in part, so weigh them by the overlap.",
        ),
        "not divided": (
            expected * (image.shape[0] / height) * (image.shape[1] / width),
            "These are sums: divide by the area of a cell in pixels.",
        ),
        "nearest pixel": (
            image[np.arange(height) * image.shape[0] // height][
                :, np.arange(width) * image.shape[1] // width
            ],
            "Each small pixel is a copy of one large pixel; it should be the mean of its cell.",
        ),
        "divided by the whole picture": (
            expected / (height * width),
            "The sum is divided by the area of the whole picture, not by that of a cell.",
        ),
        "last rows missing": (
            weighted_mean(image, width, height, last_row=False),
            "The last row of each cell is left out: range ends before its second number.",
        ),
        "last columns missing": (
            weighted_mean(image, width, height, last_column=False),
            "The last column of each cell is left out: range ends before its second number.",
        ),
        "last rows and columns missing": (
            weighted_mean(image, width, height, last_row=False, last_column=False),
            "The last row and the last column of each cell are left out: range ends before its "
            "second number.",
        ),
        "only rows weighed": (
            weighted_mean(image, width, height, weigh_columns=False),
            "The overlap along x is forgotten: a weight is a product of both overlaps.",
        ),
        "only columns weighed": (
            weighted_mean(image, width, height, weigh_rows=False),
            "The overlap along y is forgotten: a weight is a product of both overlaps.",
        ),
        **other_divisions(image, width, height),
        **other_means(image, width, height),
        **other_kinds_of_mean(image, width, height),
        **means_along_each_axis(got, image, width, height),
        **other_overlaps(got, image, width, height),
        **same_channel(expected),
    }


def weighted_mean(
    image, width, height, last_row=True, last_column=True, weigh_rows=True, weigh_columns=True
):
    """The mean over each cell, with what can be forgotten."""
    rows = overlaps(height, image.shape[0], last_row, weigh_rows)
    columns = overlaps(width, image.shape[1], last_column, weigh_columns)
    area = image.shape[0] / height * image.shape[1] / width
    return np.einsum("ya,xb,abc->yxc", rows, columns, image.astype(np.float64)) / area


def other_divisions(image, width, height):
    """Means over cells of a picture that is cut into another number of them."""
    found = {}
    whole = (
        image.shape[1] // max(1, image.shape[1] // width),
        image.shape[0] // max(1, image.shape[0] // height),
    )
    for more in (whole, (width + 1, height + 1), (width - 1, height - 1)):
        columns, rows = more
        if columns < width or rows < height or more == (width, height):
            continue
        found[f"{columns} x {rows} cells"] = (
            reference.area_downsample(image, columns, rows)[:height, :width],
            f"The image is cut into {columns} x {rows} cells, and small has {width} x {height} "
            "pixels: it takes as many cells, so a cell need not have a whole number of pixels.",
        )
    across, down = image.shape[1], image.shape[0]
    for columns, rows in ((across, down), (across, height), (width, down)):
        found.setdefault(
            f"{columns} x {rows} cells",
            (
                reference.area_downsample(image, columns, rows)[:height, :width],
                f"The image is cut into {columns} x {rows} cells, and has {across} x {down} pixels "
                f"itself: columns and rows are how many pixels small has, {width} x {height}.",
            ),
        )
    return found


def other_means(image, width, height):
    """Means that weigh, divide or share out otherwise than they should."""
    rows = overlaps(height, image.shape[0], last=True, weigh=True)
    columns = overlaps(width, image.shape[1], last=True, weigh=True)
    area = image.shape[0] / height * image.shape[1] / width
    pixels = image.astype(np.float64)
    touched_rows, touched_columns = (rows > 0).astype(float), (columns > 0).astype(float)
    number = touched_rows.sum(axis=1)[:, None] * touched_columns.sum(axis=1)
    weighed = np.einsum("ya,xb,abc->yxc", rows, columns, pixels)
    added = np.einsum("ya,xb,abc->yxc", rows, touched_columns, pixels)
    added += np.einsum("ya,xb,abc->yxc", touched_rows, columns, pixels)
    weights = rows.sum(axis=1)[:, None] * touched_columns.sum(axis=1)
    weights = weights + touched_rows.sum(axis=1)[:, None] * columns.sum(axis=1)
    added_sentence = "The overlaps are added: a weight is their product, the area that is covered."
    whole_rows = cells_of_whole_pixels(height, image.shape[0])
    whole_columns = cells_of_whole_pixels(width, image.shape[1])
    signed_rows = cells_of_whole_pixels(height, image.shape[0], signed=True)
    signed_columns = cells_of_whole_pixels(width, image.shape[1], signed=True)
    whole_sentence = (
        "All cells have the same whole number of pixels: cell `row` begins in row "
        "row * height // rows, and not at row * (height // rows)."
    )
    return {
        "divided by the number of pixels": (
            weighed / number[..., None],
            "The sum is divided by the number of pixels that the cell touches: divide by its area, "
            "in which a pixel counts as much as is covered of it.",
        ),
        "overlaps added": (added / weights[..., None], added_sentence),
        "overlaps added, divided by the area": (added / area, added_sentence),
        "cells of whole pixels": (
            np.einsum("ya,xb,abc->yxc", whole_rows, whole_columns, pixels),
            whole_sentence,
        ),
        "columns and rows exchanged": (
            reference.area_downsample(image, height, width).swapaxes(0, 1),
            "Columns and rows are exchanged: area_average(image, column, row, columns, rows, "
            "channel), and x counts the columns.",
        ),
        "last rows left out": (
            mean_of(overlaps(height, image.shape[0], last=False, weigh=True), columns, pixels),
            "The last row of each cell is left out: range ends before its second number.",
        ),
        "last columns left out": (
            mean_of(rows, overlaps(width, image.shape[1], last=False, weigh=True), pixels),
            "The last column of each cell is left out: range ends before its second number.",
        ),
        "last rows and columns left out": (
            mean_of(
                overlaps(height, image.shape[0], last=False, weigh=True),
                overlaps(width, image.shape[1], last=False, weigh=True),
                pixels,
            ),
            "The last row and column of each cell are left out: range ends before its second "
            "number.",
        ),
        **{
            f"divided by {number}": (
                weighed / number,
                f"The sum is divided by {number}: divide by the area of the cell, in pixels.",
            )
            for number in range(2, 33)
            if abs(number - area) > 1e-3
        },
        "rows of whole pixels": (mean_of(signed_rows, columns, pixels), whole_sentence),
        "columns of whole pixels": (mean_of(rows, signed_columns, pixels), whole_sentence),
        "cells of whole pixels, weighed": (
            mean_of(signed_rows, signed_columns, pixels),
            whole_sentence,
        ),
    }


def other_kinds_of_mean(image, width, height):
    """Colours of a cell that are no weighted mean of it."""
    pixels = image.astype(np.float64)
    centres = reference.pixel_centres(width, height)
    rows = overlaps(height, image.shape[0], last=True, weigh=True)
    columns = overlaps(width, image.shape[1], last=True, weigh=True)
    return {
        "a blend at the centre": (
            reference.bilinear(image, centres).reshape(height, width, 3),
            "Each small pixel is the blend of four large ones at its centre; it should be the mean "
            "of all that its cell covers.",
        ),
        "root of the mean of squares": (
            np.sqrt(mean_of(rows, columns, pixels**2)),
            "The colours are squared before the mean, and a root is taken of it: take the mean of "
            "the colours themselves.",
        ),
        "largest": (extreme(image, width, height, np.max), "This is the largest of the cell."),
        "smallest": (extreme(image, width, height, np.min), "This is the smallest of the cell."),
    }


OVERLAP_ALONG_Y = "row", "rows", "y", "height"
OVERLAP_ALONG_X = "column", "columns", "x", "width"


def other_overlaps(got, image, width, height):
    """A mean in which an overlap is given one or two arguments of the other, if one fits."""
    touched_by = [
        (row, column, y, x)
        for row in range(height)
        for column in range(width)
        for y in touched(row, height, image.shape[0], whole=True)
        for x in touched(column, width, image.shape[1], whole=True)
    ]
    names = {"rows": height, "columns": width, "height": image.shape[0], "width": image.shape[1]}
    names |= zip(("row", "column", "y", "x"), np.array(touched_by).T, strict=True)
    place = names["row"], names["column"]
    area = image.shape[0] / height * image.shape[1] / width
    for along_y, along_x in pairs_of_overlaps():
        weights = signed_length(along_y, names) * signed_length(along_x, names)
        sums, total = np.zeros((height, width, 3)), np.zeros((height, width, 1))
        np.add.at(sums, place, weights[:, None] * image[names["y"], names["x"]])
        np.add.at(total, (*place, 0), weights)
        for result in (sums / area, sums / np.where(total, total, np.nan)):
            if np.allclose(got, result, rtol=0, atol=1e-4):
                return {"other arguments": (result, of_other_overlaps(along_y, along_x))}
    return {}


def of_other_overlaps(along_y, along_x):
    pairs = (along_y, OVERLAP_ALONG_Y), (along_x, OVERLAP_ALONG_X)
    wrong = [
        f"overlap({', '.join(given)}), which should be overlap({', '.join(right)})"
        for given, right in pairs
        if given != right
    ]
    return f"A pixel is weighed with {', and with '.join(wrong)}."


def pairs_of_overlaps():
    """The arguments of both overlaps, with one or two of the eight exchanged."""
    usual = OVERLAP_ALONG_Y + OVERLAP_ALONG_X
    other = OVERLAP_ALONG_X + OVERLAP_ALONG_Y
    for number in (1, 2):
        for places in itertools.combinations(range(8), number):
            given = tuple(other[i] if i in places else usual[i] for i in range(8))
            yield given[:4], given[4:]


def signed_length(arguments, names):
    """What `overlap` returns for these arguments, also where nothing overlaps."""
    cell, cells, texel, texels = (names[argument] for argument in arguments)
    begin = np.maximum(cell * texels, texel * cells)
    return (np.minimum((cell + 1) * texels, (texel + 1) * cells) - begin) / cells


def means_along_each_axis(got, image, width, height):
    """A mean of which one direction, or both, weighs its pixels in another way, if one fits."""
    pixels = image.astype(np.float64)
    along_y, along_x = ways_to_weigh(height, len(image)), ways_to_weigh(width, image.shape[1])
    for (of_rows, rows), (of_columns, columns) in itertools.product(along_y, along_x):
        result = np.einsum("ya,xb,abc->yxc", rows, columns, pixels)
        if (of_rows or of_columns) and np.allclose(got, result, rtol=0, atol=1e-5):
            wrong = [f"along y, {of_rows}"] * bool(of_rows)
            wrong += [f"along x, {of_columns}"] * bool(of_columns)
            sentence = (
                f"{'; '.join(wrong).capitalize()}: all pixels that the cell touches count, each by "
                "its overlap."
            )
            return {"weighed otherwise": (result, sentence)}
    return {}


def ways_to_weigh(cells, texels):
    """[words, with "" for the right one; (cells, texels): what the mean of each cell is made of]"""
    covered = overlaps(cells, texels, last=True, weigh=True)
    touched_ones = (covered > 0).astype(np.float64)
    first = np.eye(texels)[touched_ones.argmax(axis=1)]
    last = np.eye(texels)[texels - 1 - touched_ones[:, ::-1].argmax(axis=1)]
    ways = {
        "": covered,
        "each pixel that the cell touches counts the same": touched_ones,
        "only the first pixel of the cell counts": first,
        "only the last pixel of the cell counts": last,
        "only the first and the last pixel of the cell count": first + last,
        "only the first and the last pixel of the cell count, each as far as it is covered": (
            covered * (first + last)
        ),
    }
    found = [(name, way / way.sum(axis=1, keepdims=True)) for name, way in ways.items()]
    whole = np.isclose(covered, 1)
    for name, left_out in {
        "the first pixel of the cell is left out": first > 0,
        "the last pixel of the cell is left out": last > 0,
        "the first and the last pixel of the cell are left out": first + last > 0,
        "the last pixel is left out where the cell covers it only in part": (last > 0) & ~whole,
        "the first pixel is left out where the cell covers it only in part": (first > 0) & ~whole,
        "pixels that the cell covers only in part are left out": ~whole,
    }.items():
        way = np.where(left_out, 0, covered)
        totals = np.maximum(way.sum(axis=1, keepdims=True), 1e-9), texels / cells
        found += [(name, way / total) for total in totals]
    return found


def extreme(image, width, height, of):
    rows = [touched(y, height, image.shape[0], whole=True) for y in range(height)]
    columns = [touched(x, width, image.shape[1], whole=True) for x in range(width)]
    return np.array([[of(image[r][:, c], axis=(0, 1)) for c in columns] for r in rows])


def mean_of(rows, columns, pixels):
    sums = rows.sum(axis=1)[:, None] * columns.sum(axis=1)
    return np.einsum("ya,xb,abc->yxc", rows, columns, pixels) / sums[..., None]


def cells_of_whole_pixels(cells, texels, signed=False):
    """(cells, texels): texels // cells pixels for each cell, and the last pixels in none.

    They all count the same; or, signed, as much as `overlap` says, which may be less than nothing.
    """
    result = np.zeros((cells, texels))
    wide = max(texels // cells, 1)
    for cell in range(cells):
        for texel in range(cell * wide, min((cell + 1) * wide, texels)):
            begin = max(cell * texels, texel * cells)
            covered = min((cell + 1) * texels, (texel + 1) * cells) - begin
            result[cell, texel] = covered / cells if signed else 1 / wide
    return result


def overlaps(cells, texels, last, weigh):
    """(cells, texels): how much of each pixel each cell covers."""
    result = np.zeros((cells, texels))
    for cell in range(cells):
        whole = touched(cell, cells, texels, whole=True)
        for texel in whole if last else whole[:-1]:
            result[cell, texel] = length(cell, cells, texel, texels) if weigh else 1
    return result


def nearest(texture, uv):
    height, width, _ = texture.shape
    rows = np.minimum((uv[:, 1] * height).astype(int), height - 1)
    columns = np.minimum((uv[:, 0] * width).astype(int), width - 1)
    return texture[rows, columns]


def box_mean(image, width, height, whole):
    """Means of whole pixels: all that a cell touches, or without the last ones (whole=False)."""
    result = np.empty((height, width, 3))
    for y in range(height):
        for x in range(width):
            rows = touched(y, height, image.shape[0], whole)
            columns = touched(x, width, image.shape[1], whole)
            result[y, x] = image[rows][:, columns].mean(axis=(0, 1))
    return result


def touched(cell, cells, texels, whole):
    begin = cell * texels // cells
    end = ((cell + 1) * texels - 1) // cells + 1 if whole else (cell + 1) * texels // cells
    return np.arange(begin, max(end, begin + 1))
