"""Checks of lesson 2. No size is a multiple of another, and no picture is square."""

import numpy as np

from lessons import reference
from lessons.grading.case import check

THREADS = ("grid", 2, (16, 16))


@check("between_pixels")
def test_between_pixels(case):
    size = 7
    coordinates = np.concatenate([[0.0, 0.5, 0.999], case.random(6)]).astype(np.float32)
    got = np.array([case.call("neighbours", u, size) for u in coordinates], np.float64)
    candidates = {
        "half a pixel": (
            between(coordinates, size, half=0.0),
            "Everything is half a pixel off: the centre of pixel 0 is at 0.5 / size, not at 0.",
        ),
        "not the floor": (
            between(coordinates, size, floor=np.trunc),
            "Left of the first centre the position is negative, and int() makes -0.3 a 0: take "
            "math.floor, which makes it -1.",
        ),
        "edges not clamped": (
            between(coordinates, size, clamp=False),
            "Beyond the outermost centres the neighbours have to stay inside: 0 to size - 1.",
        ),
    }
    case.expect(got, between(coordinates, size), "neighbours", candidates=candidates)
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
            "The weights are in the opposite order: near the left, the left corners count most.",
        ),
    }
    case.expect(got, corners, "corner_weights", candidates=candidates)


@check("upsample")
def test_upsample(case):
    for small_shape, height, width in (((5, 7, 3), 20, 33), ((4, 3, 3), 9, 14), ((1, 1, 3), 3, 5)):
        small, large = case.random(small_shape), case.output((height, width, 3))
        case.run("launch_over_pixels", case.student("upsample"), small, large)
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
        }
        case.expect(large, expected, "large", THREADS, candidates=candidates)


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
        }
        case.expect(got, expected, "overlap", candidates=candidates)


@check("downsample")
def test_downsample(case):
    for shape, height, width in (((19, 23, 3), 7, 9), ((8, 40, 3), 4, 20), ((33, 20, 3), 18, 17)):
        image, small = case.random(shape), case.output((height, width, 3))
        case.run("launch_over_pixels", case.student("downsample"), image, small)
        expected = reference.area_downsample(image, width, height)
        candidates = {
            "whole pixels": (
                box_mean(image, width, height, whole=True),
                "Pixels at a cell's edge count as if they lay inside: weigh them by the overlap.",
            ),
            "last pixels missing": (
                box_mean(image, width, height, whole=False),
                "The last row and column of each cell are left out: they belong to it in part.",
            ),
            "not divided": (
                expected * (shape[0] / height) * (shape[1] / width),
                "These are sums: divide by the area of a cell in pixels.",
            ),
            "nearest pixel": (
                image[np.arange(height) * shape[0] // height][
                    :, np.arange(width) * shape[1] // width
                ],
                "Each small pixel is a copy of one large pixel; it should be the mean of its cell.",
            ),
        }
        case.expect(small, expected, "small", THREADS, candidates=candidates)


@check("baseline")
def test_baseline(case):
    image = case.random((137, 203, 3))
    small, large = case.output((37, 51, 3)), case.output(image.shape)
    case.run("launch_over_pixels", case.student("downsample"), image, small, engine="native")
    expected = reference.area_downsample(image, 51, 37)
    case.expect(small, expected, "small", THREADS)
    source = small.array.copy()
    case.run("launch_over_pixels", case.student("upsample"), source, large, engine="native")
    case.expect(large, reference.bilinear_upsample(source, 203, 137), "large", THREADS)


# ---------------------------------------------------------------- right, and wrong in known ways


def between(coordinates, size, half=0.5, clamp=True, floor=np.floor):
    position = coordinates.astype(np.float64) * size - half
    low = whole = floor(position)
    high = low + 1
    if clamp:
        low, high = np.maximum(low, 0), np.minimum(high, size - 1)
    return np.stack([low, high, position - whole], axis=1)


def length(cell, cells, texel, texels):
    begin = max(cell / cells, texel / texels)
    end = min((cell + 1) / cells, (texel + 1) / texels)
    return (end - begin) * texels if end - begin > 1e-9 else 0.0


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
