"""Checks of lesson 2. No size is a multiple of another, and no picture is square."""

import numpy as np

from lessons import reference
from lessons.grading.case import check

THREADS = ("grid", 2, (16, 16))


@check("between_pixels")
def test_between_pixels(case):
    for size in (7, 4, 1, 50):
        between_pixels_of(case, size)
    weights_of_corners(case)


def between_pixels_of(case, size):
    coordinates = np.concatenate([[0.0, 0.3, 0.5, 0.75, 0.85, 0.999], case.random(4)]).astype(
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
        "rounded": (
            between(coordinates, size, floor=np.rint),
            "round() goes to the nearest centre: math.floor gives the one to the left.",
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
    }
    case.expect(got, right, "neighbours", candidates=candidates)


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
            "The weights are in the opposite order: near the left, the left corners count most.",
        ),
        "all alike": (np.full_like(corners, 0.25), "All corners count the same."),
        "sums, not products": (
            np.stack([1 - x + 1 - y, x + 1 - y, 1 - x + y, x + y], axis=1) / 4,
            "A weight is a product: how near in x, times how near in y.",
        ),
    }
    case.expect(got, corners, "corner_weights", candidates=candidates)


@check("upsample")
def test_upsample(case):
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
            "counted by height": (
                reference.bilinear(small, counted_by_height(height, width)).reshape(expected.shape),
                "The number of a pixel is y * width + x: a row has `width` pixels.",
            ),
            **same_channel(expected),
        }
        case.expect(large, expected, "large", THREADS, candidates=candidates)
        case.require_many_threads(counts, large)


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
            "whole division": (
                np.floor(expected + 1e-9),
                "// drops the part behind the point: float32(end - begin) / float32(cells).",
            ),
            "outer ends": (
                np.array([outer_length(c, cells, t, texels) for c, t in pairs]),
                "What both cover begins at the later beginning, max, and ends at the earlier end, "
                "min.",
            ),
        }
        case.expect(got, expected, "overlap", candidates=candidates)


@check("downsample")
def test_downsample(case):
    for shape, height, width in (((19, 23, 3), 7, 9), ((8, 40, 3), 4, 20), ((33, 20, 3), 18, 17)):
        image, small = case.photo(shape), case.output((height, width, 3))
        counts = case.measure("launch_over_pixels", case.student("downsample"), image, small)
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
            "only rows weighed": (
                weighted_mean(image, width, height, weigh_columns=False),
                "The overlap along x is forgotten: a weight is a product of both overlaps.",
            ),
            "only columns weighed": (
                weighted_mean(image, width, height, weigh_rows=False),
                "The overlap along y is forgotten: a weight is a product of both overlaps.",
            ),
            **same_channel(expected),
        }
        case.expect(small, expected, "small", THREADS, candidates=candidates)
        case.require_many_threads(counts, small)


@check("only_its_cell")
def test_only_its_cell(case):
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
        sentence=f"each number of the image is read {reads:.0f} times: a thread has to look only "
        "at the pixels that its cell touches.",
        line=counts.busiest_line("reads", image),
    )


@check("float32")
def test_float32(case):
    image, small, large = case.photo((9, 8, 3)), case.output((4, 5, 3)), case.output((7, 9, 3))
    case.run("launch_over_pixels", case.student("downsample"), image, small)
    case.expect(small, reference.area_downsample(image, 5, 4), "small", THREADS)
    case.run("launch_over_pixels", case.student("upsample"), image, large)
    case.expect(large, reference.bilinear_upsample(image, 9, 7), "large", THREADS)


@check("baseline")
def test_baseline(case):
    image = case.photo(case.size(native=(137, 203, 3), checked=(33, 41, 3)))
    height, width = case.size(native=(37, 51), checked=(9, 13))
    small, large = case.output((height, width, 3)), case.output(image.shape)
    case.run("launch_over_pixels", case.student("downsample"), image, small, engine="native")
    case.expect(small, reference.area_downsample(image, width, height), "small", THREADS)
    source = small.array.copy()
    case.run("launch_over_pixels", case.student("upsample"), source, large, engine="native")
    expected = reference.bilinear_upsample(source, image.shape[1], image.shape[0])
    case.expect(large, expected, "large", THREADS)


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


def counted_by_height(height, width):
    """The centres of the pixels number y * height + x."""
    y, x = np.divmod(np.arange(height * width), width)
    number = y * height + x
    row = np.minimum(number // width, height - 1)
    return np.stack([(number % width + 0.5) / width, (row + 0.5) / height], axis=1)


def weighted_mean(
    image, width, height, last_row=True, last_column=True, weigh_rows=True, weigh_columns=True
):
    """The mean over each cell, with what can be forgotten."""
    rows = overlaps(height, image.shape[0], last_row, weigh_rows)
    columns = overlaps(width, image.shape[1], last_column, weigh_columns)
    area = image.shape[0] / height * image.shape[1] / width
    return np.einsum("ya,xb,abc->yxc", rows, columns, image.astype(np.float64)) / area


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
